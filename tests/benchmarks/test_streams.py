"""What the benchmark of held streams makes of what it sees."""

import resource
from array import array

import pytest

from benchmarks import descriptors
from benchmarks.flow import Flow
from benchmarks.streams import main, rows_of, too_many
from benchmarks.streams_held import Look, Streams, held_of
from benchmarks.streams_long import Long, Mark, long_of

FLOW = Flow(10, 0.5, are_timed=True)


def seen(*, failures: int = 0, events: int = 20) -> Streams:
    """Two streams whose events came after 1 to 100 ms while both were open, else after 1 s."""
    streams = Streams("http://h:1", b"", FLOW, 2)
    streams.events = events
    streams.faults.update({"late": failures} if failures else {})
    streams.held_lags_s = array("d", [n / 1000 for n in range(100, 0, -1)])
    streams.other_lags_s = array("d", [1.0] * 100)
    return streams


LOOKS = [
    Look(at_s=0, open=0, events=0, rss_kib=1000, cpu_s=1.0),
    Look(at_s=1, open=1, events=2, rss_kib=9000, cpu_s=2.0),
    Look(at_s=2, open=2, events=4, rss_kib=1060, cpu_s=2.5),
    Look(at_s=3, open=2, events=8, rss_kib=1080, cpu_s=2.7),
    Look(at_s=4, open=2, events=14, rss_kib=1070, cpu_s=3.0),
    Look(at_s=5, open=1, events=18, rss_kib=9000, cpu_s=9.0),
]


def test_memory_and_cpu_are_those_of_the_time_when_all_were_open():
    """The most memory of that time over what was before, its CPU by its events, its lags."""
    held = held_of(2, FLOW, 1000, LOOKS, seen())
    assert held.kib_a_stream == 40
    assert held.cpu_us_an_event == pytest.approx(50_000)
    assert (held.lag_p50_ms, held.lag_p99_ms) == (50, 99)
    assert (held.any_lag_p50_ms, held.any_lag_p99_ms) == (100, 1000)
    assert (held.most_open, held.events, held.expected_events) == (2, 20, 20)
    assert held.is_whole


def test_if_never_all_are_open_nothing_is_said_of_that_time():
    """Memory is then that for each of those that were open; there is no held lag and no CPU."""
    held = held_of(2, FLOW, 1000, LOOKS[:2], seen())
    assert (held.most_open, held.kib_a_stream) == (1, 8000)
    assert (held.lag_p50_ms, held.lag_p99_ms, held.cpu_us_an_event) == (None, None, None)


def test_if_none_opens_all_figures_are_nothing():
    """No division by zero."""
    empty = Streams("http://h:1", b"", FLOW, 2)
    held = held_of(2, FLOW, 1000, LOOKS[:1], empty)
    assert (held.most_open, held.kib_a_stream, held.any_lag_p99_ms) == (0, 0, 0)
    assert not held.is_whole


def test_without_events_between_looks_there_is_no_cost_of_one():
    """One look with all open is not enough for a cost."""
    assert held_of(2, FLOW, 1000, LOOKS[2:3], seen()).cpu_us_an_event is None


@pytest.mark.parametrize(("failures", "events"), [(1, 20), (0, 19), (0, 21)])
def test_a_failure_or_a_missing_event_is_told(failures: int, events: int):
    """Every stream and every event is counted."""
    assert not held_of(2, FLOW, 0, LOOKS, seen(failures=failures, events=events)).is_whole


def test_a_row_shows_the_router_only_where_there_is_one():
    """Directly there is neither memory nor CPU; what is None is left empty."""
    held = held_of(2, FLOW, 1000, LOOKS, seen())
    assert rows_of("routed", held) == [
        *("2 routed", "40.0", "50000", "50.00", "99.00", "100.00", "1000.00", "20 of 20", "0"),
    ]
    assert rows_of("directly", held)[1:3] == ["", ""]
    unheld = held_of(2, FLOW, 1000, LOOKS[:2], seen())
    assert rows_of("routed", unheld)[2:5] == ["", "", ""]


def test_tenths_are_differences_of_marks():
    """CPU for each event between two marks, memory at the second one."""
    marks = [Mark(0, 1.0, 100), Mark(10, 1.2, 110), Mark(30, 1.5, 130)]
    long = long_of(marks, 30, 0)
    assert long.cpu_us == pytest.approx((20_000, 15_000))
    assert long.rss_kib == (110, 130)
    assert long.last_to_first == pytest.approx(0.75)
    assert long.growth_kib == 20


def test_without_events_there_are_no_tenths():
    """All is zero, and nothing breaks."""
    long = long_of([Mark(0, 1.0, 100)], 0, 1)
    assert (long.cpu_us, long.last_to_first, long.growth_kib) == ((), 0, 0)
    assert Long(1, 0, (0.0, 1.0), (1, 1)).last_to_first == 0


def test_streams_beyond_the_descriptors_are_named():
    """A limit that suffices says nothing; one less says what is needed and what there is."""
    enough = descriptors.needed(5000)
    assert enough > 10_000
    assert too_many(5000, enough) is None
    words = too_many(5000, enough - 1)
    assert words is not None
    assert f"need {enough} descriptors" in words
    assert f"allows {enough - 1}" in words


class Limits:
    """The system's limits, for a process that may raise the hard one or may not."""

    def __init__(self, soft: int, hard: int, *, is_privileged: bool) -> None:
        self.now = (soft, hard)
        self._is_privileged = is_privileged

    def get(self, _what: int) -> tuple[int, int]:
        return self.now

    def set(self, _what: int, limits: tuple[int, int]) -> None:
        soft, hard = limits
        if hard != self.now[1] and not self._is_privileged:
            raise ValueError("not allowed to raise maximum limit")
        assert soft <= hard or hard == resource.RLIM_INFINITY
        self.now = limits


@pytest.mark.parametrize(
    ("limits", "allowed", "then"),
    [
        (Limits(500, 500, is_privileged=False), 100, (500, 500)),
        (Limits(100, 500, is_privileged=False), 300, (300, 500)),
        (Limits(100, 200, is_privileged=False), 200, (200, 200)),
        (Limits(100, 200, is_privileged=True), 300, (300, 300)),
        (Limits(100, resource.RLIM_INFINITY, is_privileged=False), 300, (300, -1)),
        (
            Limits(resource.RLIM_INFINITY, resource.RLIM_INFINITY, is_privileged=False),
            300,
            (-1, -1),
        ),
    ],
)
def test_descriptors_are_raised_as_far_as_allowed(
    monkeypatch: pytest.MonkeyPatch, limits: Limits, allowed: int, then: tuple[int, int]
):
    """The soft limit up to what is wanted, the hard one where it may be; never lowered."""
    monkeypatch.setattr(resource, "getrlimit", limits.get)
    monkeypatch.setattr(resource, "setrlimit", limits.set)
    wanted = 100 if allowed == 100 else 300
    assert descriptors.allowed(wanted) == allowed
    assert limits.now == then


def test_where_nothing_may_be_set_the_soft_limit_stays(monkeypatch: pytest.MonkeyPatch):
    """What may be open is what was allowed before."""

    def refuse(_what: int, _limits: tuple[int, int]) -> None:
        raise OSError

    monkeypatch.setattr(resource, "getrlimit", lambda _what: (100, 200))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert descriptors.allowed(300) == 100


def test_a_count_that_cannot_be_held_is_left_out_and_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path
):
    """Nothing is started for it, the reason is printed and written, and the run has failed."""
    monkeypatch.setattr("benchmarks.streams.allowed", lambda _wanted: 1024)
    files = ["--json", str(tmp_path / "f.json"), "--svg", str(tmp_path / "p.svg")]
    assert main(["--streams", "5000", *files]) == 1
    assert "5000 streams are left out" in capsys.readouterr().out
    assert "5000 streams are left out" in (tmp_path / "f.json").read_text(encoding="utf-8")
