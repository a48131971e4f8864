"""What the comparison of peers makes of what was asked and measured."""

import dataclasses

import pytest

from benchmarks.compare import Peer, base_url, main, measure_of, peers_of, rows_of, summary
from benchmarks.load import Load, Outcome

LOAD = Load("http://a:1", "m", callers=2, requests=4, tokens=8)
OUTCOME = Outcome(
    elapsed_s=2.0,
    latencies=(0.010, 0.020, 0.030, 0.040),
    failures=0,
    firsts=(0.001, 0.002, 0.003, 0.004),
    tokens=32,
)
BASE = measure_of(Peer("http://a:1", 7), LOAD, OUTCOME, 0.004)


def test_a_url_may_end_as_an_sdk_wants_it():
    """With `/v1` or without, with a last stroke or without, it is the same peer."""
    for url in ("http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/"):
        assert base_url(url) == "http://h:1"
    assert base_url("https://h/x/v1") == "https://h/x"


def test_pids_belong_to_urls_by_their_order():
    """A stroke stands for none, and so does what is not given."""
    urls = ["http://a:1/v1", "http://b:2", "https://c"]
    assert peers_of(urls, ["-", "12"]) == [
        Peer("http://a:1", None),
        Peer("http://b:2", 12),
        Peer("https://c", None),
    ]


@pytest.mark.parametrize(
    ("urls", "pids"),
    [
        (["http://a:1"], ["1", "2"]),
        (["http://a:1"], ["x"]),
        (["http://a:1"], [""]),
        (["a:1"], []),
        (["ftp://a:1"], []),
        (["http://"], []),
    ],
)
def test_what_cannot_be_asked_is_refused(urls: list[str], pids: list[str]):
    """A pid without a URL, one that is no number, and a URL of no web server."""
    with pytest.raises(ValueError, match="--"):
        peers_of(urls, pids)


def test_a_measure_has_latencies_in_ms_and_cpu_per_request():
    """Percentiles of both times, requests a second, CPU by the requests and by the events."""
    assert BASE.kind == "unary"
    assert BASE.requests_per_second == 2
    assert (BASE.p50_ms, BASE.p95_ms, BASE.p99_ms) == (20, 40, 40)
    assert (BASE.first_p50_ms, BASE.first_p99_ms) == (2, 4)
    assert BASE.cpu_us == pytest.approx(1000)
    assert BASE.event_us == pytest.approx(125)


def test_without_a_process_or_events_there_is_no_cpu_of_them():
    """None, not zero."""
    elsewhere = measure_of(Peer("http://a:1", None), LOAD, OUTCOME, None)
    assert (elsewhere.cpu_us, elsewhere.event_us) == (None, None)
    streams = dataclasses.replace(LOAD, is_stream=True)
    plain = measure_of(Peer("http://a:1", 7), streams, dataclasses.replace(OUTCOME, tokens=0), 1.0)
    assert (plain.kind, plain.event_us) == ("streams", None)


def test_a_summary_is_the_median_of_each_figure():
    """Rounds are summed up figure by figure; failures add up, and None is left out."""
    rounds = [
        dataclasses.replace(BASE, p50_ms=1.0, cpu_us=9.0, failures=1),
        dataclasses.replace(BASE, p50_ms=3.0, cpu_us=None, failures=2),
        dataclasses.replace(BASE, p50_ms=2.0, cpu_us=11.0, failures=0),
    ]
    one = summary(rounds)
    assert (one.p50_ms, one.cpu_us, one.failures) == (2, 10, 3)
    assert dataclasses.replace(one, p50_ms=20, cpu_us=BASE.cpu_us, failures=0) == BASE
    assert summary([dataclasses.replace(BASE, cpu_us=None)]).cpu_us is None


def test_rows_are_ratios_to_the_first():
    """The first is 1; what cannot be seen is empty, and so is a ratio to it."""
    other = dataclasses.replace(BASE, url="http://b:2", p50_ms=30.0, cpu_us=500.0, failures=3)
    elsewhere = dataclasses.replace(BASE, url="http://c:3", cpu_us=None, event_us=None)
    rows = rows_of([BASE, other, elsewhere])
    assert rows[0] == [
        *("http://a:1", "2.0", "2.00", "4.00", "20.00", "40.00", "40.00", "1.00"),
        *("1000", "125.0", "1.00", "0"),
    ]
    assert rows[1][7:] == ["1.50", "500", "125.0", "0.50", "3"]
    assert rows[2][8:11] == ["", "", ""]
    assert rows_of([elsewhere, other])[1][10] == ""


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--key-env", "NO_SUCH_VARIABLE_HERE"], "not set"),
        (["--pid", "x"], "--pid is a number"),
        (["--pid", "999999999"], "no process 999999999"),
    ],
)
def test_a_wrong_option_is_said_before_anything_is_asked(
    more: list[str], words: str, capsys: pytest.CaptureFixture[str]
):
    """The command ends with 2 and one sentence."""
    with pytest.raises(SystemExit) as ended:
        main(["--url", "http://127.0.0.1:9", "--model", "m", "--requests", "0", *more])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err
