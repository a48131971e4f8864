"""What a trace collector's answer says of the spans it was sent. Pure."""

from http import HTTPStatus

import msgspec

from anvil_trio.facts import Answer, Silence

__all__ = ["refused_spans"]


class _Partial(msgspec.Struct):
    rejectedSpans: int | str = 0  # noqa: N815 - OTLP's name


class _Answer(msgspec.Struct):
    partialSuccess: _Partial | None = None  # noqa: N815 - OTLP's name


_DECODER = msgspec.json.Decoder(_Answer)


def refused_spans(said: Answer | Silence, sent: int) -> int | None:
    """How many of the spans that were sent the collector took note of and refused; None for all.

    Any 2xx takes them; its body may say how many not, and one that cannot be read says nothing.
    """
    if isinstance(said, Silence) or not HTTPStatus.OK <= said.status < HTTPStatus.MULTIPLE_CHOICES:
        return None
    try:
        partial = _DECODER.decode(said.body or b"{}").partialSuccess
        refused = 0 if partial is None else int(partial.rejectedSpans)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return 0
    return min(max(refused, 0), sent)
