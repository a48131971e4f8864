"""The newest decision records summed up, in pieces of work that are short enough between requests.

Nothing is kept from one scrape to the next: a request pays for no sum, and a scrape pays in pieces.
Pure; whoever does the work decides what happens between the pieces.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from anvil_trio.decisions.record import UNKNOWN_MODEL_ROUTE, UNPARSED_ROUTE, DecisionRecord
from anvil_trio.decisions.words import WorkloadOutcome
from anvil_trio.meters.buffer_metrics import BUFFER_SPANS

__all__ = ["ALL_MODELS", "Buffer", "Summary", "Totals"]

ALL_MODELS = ""
"""The row of all records, whatever their model."""

_PIECE = 200  # records in one piece of work
_MERGED = 4  # sorted runs that become one in one piece of work


@dataclass(frozen=True, slots=True)
class Summary:
    """Of one duration: how many records know it, and in whole milliseconds what it was.

    Percentiles are by nearest rank. Without samples the others are None: not known, not 0.
    """

    samples: int = 0
    average: float | None = None
    p50: int | None = None
    p95: int | None = None


@dataclass(slots=True)
class _Values:
    """The values of one duration, in sorted runs, which are merged a few at a time."""

    runs: list[list[int]] = field(default_factory=list)
    unsorted: list[int] = field(default_factory=list)

    def settle(self) -> None:
        if self.unsorted:
            self.runs.append(sorted(self.unsorted))
            self.unsorted.clear()

    def merge(self) -> Iterator[None]:
        """Make one run of them all, in pieces."""
        while len(self.runs) > 1:
            longer: list[list[int]] = []
            for at in range(0, len(self.runs), _MERGED):
                longer.append(sorted(chain.from_iterable(self.runs[at : at + _MERGED])))
                yield
            self.runs = longer

    def summary(self) -> Summary:
        """Of all values, once they are one run."""
        values = self.runs[0] if self.runs else []
        count = len(values)
        if not count:
            return Summary()
        return Summary(
            samples=count,
            average=sum(values) / count,
            p50=values[_nearest_rank(count, 50)],
            p95=values[_nearest_rank(count, 95)],
        )


@dataclass(slots=True)
class Totals:
    """The sums of one model's records; `spans` by field of the record, once all is summed up."""

    succeeded: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    spans: Mapping[str, Summary] = field(default_factory=dict)
    _values: dict[str, _Values] = field(
        default_factory=lambda: {name: _Values() for name in BUFFER_SPANS}
    )

    def add(self, record: DecisionRecord) -> None:
        """One more record."""
        if record.workload_outcome is WorkloadOutcome.SUCCESS:
            self.succeeded += 1
        else:
            self.failed += 1
        self.prompt_tokens += record.total_prompt_tokens or 0
        self.completion_tokens += record.total_completion_tokens or 0
        self.request_bytes += record.request_bytes
        self.response_bytes += record.response_bytes
        for name, values in self._values.items():
            value: int | None = getattr(record, name)
            if value is not None:
                values.unsorted.append(value)

    def settle(self) -> None:
        """After each piece: keep what came as sorted runs."""
        for values in self._values.values():
            values.settle()

    def finish(self) -> Iterator[None]:
        """Sum up the durations, each in a few pieces."""
        spans = {}
        for name, values in self._values.items():
            yield from values.merge()
            spans[name] = values.summary()
            yield
        self.spans = spans


class Buffer:
    """The records of `newest`, newest first, by model; `models` are the configured aliases.

    With `only` just that alias has a row; otherwise each alias, both fixed words for what had
    none, and `ALL_MODELS`. At most `limit` records count, the newest of those that are asked for.
    """

    def __init__(
        self,
        newest: Sequence[DecisionRecord],
        models: Iterable[str],
        *,
        limit: int,
        only: str | None = None,
    ) -> None:
        self._newest, self._limit, self._only = newest, limit, only
        rows = [only] if only is not None else [*models, UNKNOWN_MODEL_ROUTE, UNPARSED_ROUTE]
        self.by_model: Mapping[str, Totals] = {model: Totals() for model in rows}
        self._all = Totals()

    @property
    def rows(self) -> Mapping[str, Totals]:
        """What is shown, by the `model` of its row; whole once `work` has ended."""
        return self.by_model if self._only is not None else {ALL_MODELS: self._all, **self.by_model}

    def work(self) -> Iterator[None]:
        """Do all of it; between two pieces, each well below a millisecond, it yields."""
        wanted = iter(self._newest)
        left = self._limit
        while left > 0 and (piece := list(islice(wanted, _PIECE))):
            left -= self._sum_up(piece, left)
            yield
        for totals in self.rows.values():
            yield from totals.finish()

    def _sum_up(self, piece: Sequence[DecisionRecord], left: int) -> int:
        """Add what counts of a piece, at most `left` records; how many that were."""
        counted = 0
        for record in piece:
            if counted == left:
                break
            if self._only is not None and record.route != self._only:
                continue
            counted += 1
            totals = self.by_model.get(record.route)
            if totals is not None:
                totals.add(record)
            if self._only is None:
                self._all.add(record)
        for totals in self.rows.values():
            totals.settle()
        return counted


def _nearest_rank(count: int, percent: int) -> int:
    """The index, in sorted values, of the smallest that is not below `percent` of them."""
    return -(-count * percent // 100) - 1
