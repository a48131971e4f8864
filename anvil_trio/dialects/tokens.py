"""An estimate of how many tokens a text is, for when no engine has been asked."""

from collections.abc import Iterable

from anvil_trio.dialects.ir import ChatRequest

__all__ = ["estimate_request", "estimate_tokens"]

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


def estimate_request(request: ChatRequest) -> int:
    """The whole input of a request: its prompt, and the tools that its model is told of."""
    tools = request.fields.get("tools", b"")
    return max(1, request.prompt_tokens + len(bytes(tools)) // _BYTES_PER_TOKEN)


def _count_words(text: bytes) -> int:
    """How many words there are, found without making any: a body may be all short words."""
    shape = text.translate(_SHAPES)
    return shape.count(b" x") + shape.startswith(b"x")
