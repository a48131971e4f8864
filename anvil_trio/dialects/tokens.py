"""An estimate of how many tokens a text is, for when no engine has been asked."""

from collections.abc import Iterable

__all__ = ["estimate_tokens"]

_BLANKS = b" \t\n\r\x0b\x0c"
_BYTES_PER_TOKEN = 4


def estimate_tokens(texts: Iterable[str]) -> int:
    """max(words, utf8 bytes / 4) over all texts together; words are parted by ASCII blanks.

    Words alone would count a page of Chinese as one. Splitting is the dear part, and is left out
    where the blanks show that there cannot be more words than quarters of bytes.
    """
    text = "\n".join(texts).encode()
    quarters = len(text) // _BYTES_PER_TOKEN
    blanks = len(text) - len(text.translate(None, _BLANKS))
    return quarters if blanks < quarters else max(quarters, len(text.split()))
