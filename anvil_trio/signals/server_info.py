"""How many requests an engine runs at a time, as its own pages say it. Pure."""

from collections.abc import Sequence

import msgspec

__all__ = ["PAGES", "parse_places"]

PAGES = ("/server_info", "/get_server_info", "/props")
"""Where it is said, in the order of asking: SGLang's page, its deprecated path, llama.cpp's."""

_MOST = 100_000


class _Scheduler(msgspec.Struct):
    effective_max_running_requests_per_dp: int | None = None


class _Info(msgspec.Struct):
    max_running_requests: int | None = None
    max_num_seqs: int | None = None
    total_slots: int | None = None
    internal_states: Sequence[_Scheduler] = ()


def parse_places(body: bytes) -> int | None:
    """The number, at most 100,000; None if the page does not say one that can be believed.

    What the operator asked for comes first, then what SGLang's schedulers made of it, together.
    """
    try:
        info = msgspec.json.decode(body, type=_Info)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    made = [one.effective_max_running_requests_per_dp for one in info.internal_states]
    whole = [number for number in made if number is not None]
    effective = sum(whole) if whole and len(whole) == len(made) else None
    for number in (info.max_running_requests, info.max_num_seqs, effective, info.total_slots):
        if number is not None:
            return min(number, _MOST) if number > 0 else None
    return None
