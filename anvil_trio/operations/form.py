"""The form in which a file is sent to a backend. Pure."""

import hashlib
from collections.abc import Callable

__all__ = ["render_file"]


def render_file(data: bytes, extension: str, token: Callable[[int], str]) -> tuple[bytes, bytes]:
    """Content type and body of a form with one file, named by the digest of its bytes."""
    boundary = token(16)
    name = f"anvil-{hashlib.sha256(data).hexdigest()[:32]}.{extension}"
    head = (
        f"--{boundary}\r\n"
        'Content-Disposition: form-data; name="overwrite"\r\n\r\ntrue\r\n'
        f"--{boundary}\r\n"
        f'Content-Disposition: form-data; name="image"; filename="{name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    body = head.encode() + data + f"\r\n--{boundary}--\r\n".encode()
    return f"multipart/form-data; boundary={boundary}".encode(), body
