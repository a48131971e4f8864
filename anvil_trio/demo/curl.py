"""What a person may paste into a shell to use a router."""

import json
import shlex

__all__ = ["curl_lines"]

_QUESTION = [{"role": "user", "content": "Who keeps the light burning?"}]


def curl_lines(url: str, key: str, alias: str) -> tuple[str, ...]:
    """One line each for a chat, a streamed chat, and the router's status; all carry the key."""
    chat: dict[str, object] = {"model": alias, "messages": _QUESTION}
    credential = f"-H {shlex.quote(f'Authorization: Bearer {key}')}"
    post = f"{url}/v1/chat/completions {credential} -H 'Content-Type: application/json' -d"
    return (
        f"curl -s {post} {_quoted(chat)}",
        f"curl -sN {post} {_quoted({**chat, 'stream': True})}",
        f"curl -s {url}/v1/router/status {credential}",
    )


def _quoted(body: dict[str, object]) -> str:
    return shlex.quote(json.dumps(body))
