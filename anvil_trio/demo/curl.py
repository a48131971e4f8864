"""What a person may paste into a shell to use a router."""

import json
import shlex

__all__ = ["curl_lines"]

_QUESTION = [{"role": "user", "content": "Who keeps the light burning?"}]


_MESSAGE = {
    "message": {
        "messageId": "1",
        "role": "ROLE_USER",
        "parts": [
            {
                "data": {
                    "workflowId": "picture.discs",
                    "version": "1",
                    "parameters": {"prompt": "A light on a cliff"},
                    "idempotencyKey": "demo-1",
                }
            }
        ],
    }
}


def curl_lines(url: str, key: str, alias: str) -> tuple[str, ...]:
    """One line each for a chat, a streamed chat, the router's status, and a picture to be drawn.

    All carry the key.
    """
    chat: dict[str, object] = {"model": alias, "messages": _QUESTION}
    task = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": _MESSAGE}
    credential = f"-H {shlex.quote(f'Authorization: Bearer {key}')}"
    post = f"{url}/v1/chat/completions {credential} -H 'Content-Type: application/json' -d"
    return (
        f"curl -s {post} {_quoted(chat)}",
        f"curl -sN {post} {_quoted({**chat, 'stream': True})}",
        f"curl -s {url}/v1/router/status {credential}",
        f"curl -s {url}/a2a {credential} -H 'A2A-Version: 1.0' -d {_quoted(task)}",
    )


def _quoted(body: dict[str, object]) -> str:
    return shlex.quote(json.dumps(body))
