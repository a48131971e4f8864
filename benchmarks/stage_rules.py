"""Which stage of a request a sample belongs to, told from the calls that were under way. Pure."""

from collections.abc import Iterable
from enum import StrEnum

__all__ = ["Stage", "stage_of"]


class Stage(StrEnum):
    """What the router does with a request, in the order in which it does it."""

    SERVER = "server: connection, HTTP/1.1, task"
    DOOR = "auth and parse"
    ACTOR = "actor: front door, tier"
    EXCHANGE = "exchange: scope, deadlines"
    UPSTREAM = "upstream"
    RELAY = "relay, translation"
    RECORD = "record, metrics"
    LOOP = "trio's loop"


# The longest prefix that fits counts. What is left out, as `net`, is its caller's.
_PREFIXES = {
    "hypercorn": Stage.SERVER,
    "anvil_trio.server": Stage.SERVER,
    "anvil_trio.web": Stage.DOOR,
    "anvil_trio.web.respond": Stage.RELAY,
    "anvil_trio.admission": Stage.ACTOR,
    "anvil_trio.tiers": Stage.ACTOR,
    "anvil_trio.actors": Stage.ACTOR,
    "anvil_trio.exchange": Stage.EXCHANGE,
    "anvil_trio.exchange.prepare": Stage.DOOR,
    "anvil_trio.exchange.relay": Stage.RELAY,
    "anvil_trio.exchange.stream_relay": Stage.RELAY,
    "anvil_trio.exchange.delivery": Stage.RELAY,
    "anvil_trio.exchange.metering": Stage.RECORD,
    "anvil_trio.upstream": Stage.UPSTREAM,
    "anvil_trio.decisions": Stage.RECORD,
    "anvil_trio.meters": Stage.RECORD,
}
_DIALECTS = "anvil_trio.dialects"
_PARSING = "anvil_trio.exchange.prepare"


def stage_of(modules: Iterable[str]) -> Stage:
    """The stage of one sample; `modules` are those of its calls, the innermost first.

    The innermost call that is any stage's own decides, so that what trio, a library or the kernel
    does for a stage is part of it. Dialects read requests and write replies: whose part that is
    tells whoever asked them.
    """
    is_dialects = False
    for module in modules:
        if module.startswith(_DIALECTS):
            is_dialects = True
        elif is_dialects and module.startswith("anvil_trio."):
            return Stage.DOOR if module == _PARSING else Stage.RELAY
        elif (stage := _own_stage(module)) is not None:
            return stage
    return Stage.LOOP


def _own_stage(module: str) -> Stage | None:
    while module:
        if module in _PREFIXES:
            return _PREFIXES[module]
        module = module.rpartition(".")[0]
    return None
