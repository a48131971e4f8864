"""What one seed draws for a world: its settings, its tier, and what its engines answer."""

from random import Random

from anvil_trio.config.model import RouterConfig, ServerSettings, TierDialect
from tests.support.engine_words import EngineWords
from tests.support.fake_upstream import (
    BROKEN_WRITE,
    END,
    REFUSED,
    SSE,
    STALLED_CONNECT,
    STALLED_WRITE,
    Fault,
    Head,
    Reply,
    Step,
    reply,
)
from tests.support.small_house import config_of, direct_tier, replica_tier

__all__ = ["PATIENT", "SERVER", "TACITURN", "draw_config", "draw_reply", "longest_ms"]

SERVER = ServerSettings(
    admission_timeout_s=10,
    startup_timeout_s=50,
    idle_timeout_s=20,
    total_timeout_s=200,
    heartbeat_interval_s=15,
    client_stall_timeout_s=30,
    max_concurrency=4,
    client_limits={"one": 1, "two": 2},
)
PATIENT = SERVER.model_copy(
    update={
        "admission_timeout_s": 40,
        "startup_timeout_s": 12,
        "idle_timeout_s": 60,
        "total_timeout_s": 70,
        "heartbeat_interval_s": 5,
        "client_stall_timeout_s": 8,
        "client_limits": {"one": 3, "_legacy": 1},
    }
)
"""Where the other deadlines are the nearer ones: total before idle, startup before a heartbeat."""

TACITURN = SERVER.model_copy(update={"heartbeat_interval_s": 40})
"""Where a heartbeat is due long after the engine's silence counts."""

GAPS = (0.0, 0.0, 0.01, 1.0, 8.0, 15.0, 19.0, 25.0)


def longest_ms(server: ServerSettings) -> float:
    """A body, a wait, the total deadline, a caller that reads its last bytes at leisure."""
    total_s, stall_s = server.total_timeout_s, server.client_stall_timeout_s
    return 1000 * (3 + server.admission_timeout_s + total_s + stall_s + 1)


def draw_config(rng: Random) -> RouterConfig:
    """One tier, direct or of two or three members, whose engines speak either dialect."""
    server = rng.choice((SERVER, TACITURN, PATIENT))
    dialect = rng.choice((TierDialect.OPENAI, TierDialect.OPENAI, TierDialect.ANTHROPIC))
    if rng.random() < 0.25:
        return config_of(direct_tier(dialect=dialect), server=server)
    members = "abc"[: rng.choice((2, 2, 3))]
    strategy = rng.choice(("round_robin", "capacity"))
    tier = replica_tier(members=members, dialect=dialect, replica_strategy=strategy)
    return config_of(tier, server=server)


def draw_reply(rng: Random, words: EngineWords, number: int) -> Reply:
    """A good answer, or one of the ways in which an engine fails."""
    pieces: list[Step] = []
    said = map(words.text, (f"<{number}:", "1,", "2,", "3,", "4>"))
    for piece in (words.begin, *said):
        pieces += [rng.choice(GAPS), piece]
    good: list[Step] = [Head(200, SSE), *pieces, words.finish, words.done, END]
    fault: Step = rng.choice((*Fault, b"data: {oops\n\n", b": comment\n\n", END))
    cut = rng.randrange(1, len(good))
    late: Step = rng.choice((*Fault, b"data: {oops\n\n"))
    endless: list[Step] = [8.0, words.text("...")] * 60
    whole = words.text(f"<{number}:1,2,3,4>")
    return rng.choice((
        *[Reply(tuple(good))] * 5,
        *[Reply((*good[:cut], fault, *good[cut:]))] * 4,
        reply(words.unary(f"<{number}:1,2,3,4>")),
        rng.choice((REFUSED, STALLED_CONNECT, STALLED_WRITE, BROKEN_WRITE)),
        reply(b"{}", status=rng.choice((400, 401, 429, 500, 503))),
        # the end comes in its own good time
        Reply((Head(200, SSE), *pieces, words.finish, rng.choice(GAPS), words.done, Fault.STALL)),
        Reply((*good[:cut], 15.0, b": comment\n\n", 15.0, *good[cut:])),
        Reply((Head(200, SSE), words.begin, *endless)),
        Reply((Fault.STALL,)),
        Reply((Head(200, SSE), words.begin, whole, words.finish, late)),
    ))
