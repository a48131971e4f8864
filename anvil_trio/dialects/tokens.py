"""An estimate of how many tokens a text is, for when no engine has been asked."""

from collections.abc import Iterable
from functools import partial

import msgspec

from anvil_trio.dialects.chat_messages import MESSAGES, Message, texts_of
from anvil_trio.dialects.ir import ChatRequest, Prompt

__all__ = ["estimate_request", "estimate_tokens", "prompt_of"]

_BLANKS = b" \t\n\r\x0b\x0c"
_SHAPES = bytes(ord(" ") if byte in _BLANKS else ord("x") for byte in range(256))
_BYTES_PER_TOKEN = 4


def estimate_tokens(texts: Iterable[str]) -> int:
    """max(words, utf8 bytes / 4) over all texts together; words are parted by ASCII blanks.

    Words alone would count a page of Chinese as one.
    """
    text = "\n".join(texts).encode()
    quarters = len(text) // _BYTES_PER_TOKEN
    blanks = len(text) - len(text.translate(None, _BLANKS))
    # With so few blanks there cannot be more words than quarters; most text ends here.
    return quarters if blanks < quarters else max(quarters, _count_words(text))


def prompt_of(raw: msgspec.Raw, messages: Iterable[Message], *, is_stream: bool) -> Prompt:
    """The prompt in `raw`, which was read as `messages`.

    A stream lets go of its request when it begins, and must know by then. Any other request holds
    no more for it than what came: `raw` is read again, should anybody ask.
    """
    if is_stream:
        return Prompt(estimate_tokens(texts_of(messages)))
    # JSON is longer than the text it holds, and a word is a byte and a blank.
    return Prompt(most=len(raw) // 2 + 1, count=partial(_estimate_raw, raw))


def estimate_request(request: ChatRequest) -> int:
    """The whole input of a request: its prompt, and the tools that its model is told of."""
    tools = request.fields.get("tools", b"")
    return max(1, request.prompt_tokens + len(bytes(tools)) // _BYTES_PER_TOKEN)


def _estimate_raw(raw: msgspec.Raw) -> int:
    try:
        return estimate_tokens(texts_of(MESSAGES.decode(raw)))
    except RecursionError:  # it was read with more room on the stack than there is here
        return len(raw) // _BYTES_PER_TOKEN


def _count_words(text: bytes) -> int:
    """How many words there are, found without making any: a body may be all short words."""
    shape = text.translate(_SHAPES)
    return shape.count(b" x") + shape.startswith(b"x")
