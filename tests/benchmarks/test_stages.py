"""Which stage a sample is counted for, and what is made of the counts."""

import pytest

from benchmarks.stage_rules import Stage, stage_of
from benchmarks.stages import Split

PARSED = ["anvil_trio.dialects.raw_json", "anvil_trio.dialects.chat_request"]


@pytest.mark.parametrize(
    ("modules", "stage"),
    [
        ([], Stage.LOOP),
        (["trio._core._run", "anvil_trio.cli.running", "__main__"], Stage.LOOP),
        (["trio._channel", "anvil_trio.actors.mailbox", "anvil_trio.exchange.run"], Stage.ACTOR),
        (["anvil_trio.net.sockets", "anvil_trio.upstream.connection"], Stage.UPSTREAM),
        (["anvil_trio.net.sockets", "anvil_trio.server.channel"], Stage.SERVER),
        (["hypercorn.config", "anvil_trio.web.asgi"], Stage.SERVER),
        (["anvil_trio.web.respond", "anvil_trio.exchange.delivery"], Stage.RELAY),
        (["anvil_trio.exchange.watch", "anvil_trio.exchange.relay"], Stage.EXCHANGE),
        (["anvil_trio.exchange.relay_of_nothing"], Stage.EXCHANGE),
        (["anvil_trio.exchange.metering", "anvil_trio.exchange.frame"], Stage.RECORD),
    ],
)
def test_the_innermost_call_that_is_a_stages_own_decides(modules: list[str], stage: Stage):
    """What others do for a stage is its part; a module is not the one whose name it begins with."""
    assert stage_of(modules) is stage


@pytest.mark.parametrize(
    ("asked_by", "stage"),
    [
        ("anvil_trio.exchange.prepare", Stage.DOOR),
        ("anvil_trio.exchange.run", Stage.RELAY),
        ("anvil_trio.exchange.stream_relay", Stage.RELAY),
    ],
)
def test_a_dialect_works_for_whoever_asked_it(asked_by: str, stage: Stage):
    """Reading a request is parsing, writing a reply is relaying, in the same modules."""
    assert stage_of([*PARSED, asked_by, "anvil_trio.exchange.frame"]) is stage


def test_a_share_is_of_all_samples_of_its_load():
    """A stage without a sample has no share, and a load without any divides by no zero."""
    split = Split(100.0, {Stage.SERVER.value: 3, Stage.LOOP.value: 1})
    assert [split.share(one) for one in (Stage.SERVER, Stage.LOOP, Stage.ACTOR)] == [0.75, 0.25, 0]
    assert Split(100.0, {}).share(Stage.SERVER) == 0
