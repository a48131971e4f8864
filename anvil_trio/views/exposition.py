"""Metrics as text, piece by piece, in the words of prometheus_client's own writers."""

from collections.abc import Iterable, Iterator
from enum import Enum

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric as Family
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector

__all__ = ["TextFormat", "format_for", "render"]

_OPENMETRICS = "application/openmetrics-text"
_EOF = b"# EOF"


class TextFormat(Enum):
    """The two formats, by their content type."""

    PLAIN = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class _One(Collector):
    """A single piece, as the writers want it."""

    def __init__(self, family: Family) -> None:
        self._family = family

    def collect(self) -> Iterable[Family]:
        return (self._family,)


def format_for(accept: str) -> TextFormat:
    """OpenMetrics where it is asked for by name, else text 0.0.4; what was asked is not echoed."""
    kinds = (kind.partition(";")[0].strip().lower() for kind in accept.split(","))
    return TextFormat.OPENMETRICS if _OPENMETRICS in kinds else TextFormat.PLAIN


def render(registry: CollectorRegistry, wanted: TextFormat) -> Iterator[bytes]:
    """The text in as many pieces as the registry's collectors give; each family is headed once."""
    headed: str | None = None
    for family in registry.collect():
        yield _rendered(family, wanted, is_headed=family.name == headed)
        headed = family.name
    if wanted is TextFormat.OPENMETRICS:
        yield _EOF + b"\n"


def _rendered(family: Family, wanted: TextFormat, *, is_headed: bool) -> bytes:
    text: bytes
    if wanted is TextFormat.OPENMETRICS:
        text = generate_openmetrics(_One(family))  # type: ignore[no-untyped-call]
        text = text.removesuffix(_EOF + b"\n")
    else:
        text = generate_latest(_One(family))
    if not is_headed:
        return text
    # A label's value has no bare line feed, so a line that begins with `#` is one of the head.
    return b"\n".join(line for line in text.split(b"\n") if not line.startswith(b"#"))
