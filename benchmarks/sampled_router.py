"""`anvil-serving` that looks at itself: a sample of its calls for every few milliseconds of CPU.

SIGUSR1 begins anew. SIGUSR2 ends, and writes how many samples each stage has, as JSON, into the
file that `SAMPLES_FILE` names. Nothing else differs from the command.
"""

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from anvil_trio.cli.main import main
from benchmarks.stage_rules import Stage, stage_of

__all__ = ["SAMPLES_FILE"]

SAMPLES_FILE = "ANVIL_SAMPLES_FILE"
_EVERY_S = 0.002


class _Sampler:
    """Counts by stage what the process's one busy thread is doing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._samples: Counter[Stage] = Counter()

    def begin(self, *_: object) -> None:
        self._samples.clear()
        signal.setitimer(signal.ITIMER_PROF, _EVERY_S, _EVERY_S)

    def look(self, _: int, frame: FrameType | None) -> None:
        self._samples[stage_of(_modules(frame))] += 1

    def end(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        written = self._path.with_suffix(".new")
        written.write_text(json.dumps(self._samples), encoding="utf-8")
        written.rename(self._path)


def _modules(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        yield frame.f_globals.get("__name__", "")
        frame = frame.f_back


def _serve_sampled() -> None:
    sampler = _Sampler(Path(os.environ[SAMPLES_FILE]))
    signal.signal(signal.SIGPROF, sampler.look)
    signal.signal(signal.SIGUSR1, sampler.begin)
    signal.signal(signal.SIGUSR2, sampler.end)
    main()


if __name__ == "__main__":
    _serve_sampled()
