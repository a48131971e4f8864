"""One configuration after the other over one house."""

import json
import os

import pytest
import trio
from structlog.testing import capture_logs

from anvil_trio.names import TierId
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from tests.support.activated import PATH, one_each, open_world, series, toml
from tests.support.asgi import TOKEN, Side, request
from tests.support.chunks import good_reply, good_stream
from tests.support.fake_upstream import REFUSED, STALLED_CONNECT, FakeUpstream

CHAT = "/v1/chat/completions"
ONE, TWO, THREE = (f"http://127.0.0.1:{port}/v1" for port in (8101, 8102, 8103))
__all__ = ["open_world"]


async def test_a_member_that_is_added_gets_its_turn_at_once(open_world, autojump_clock):
    """After an activation the new member is probed already, and takes the next request but one."""
    async with open_world(toml(chat=(ONE, TWO))) as world:
        digest = world.write(toml(chat=(ONE, TWO, THREE)))
        answer = await world.activate(digest)
        assert (answer.status, answer.json["applied"]) == (200, True)
        for _ in range(3):
            assert (await world.chat("chat")).status == 200
        assert [len(world.engine(url).chats) for url in (ONE, TWO, THREE)] == [1, 1, 1]
        assert (await world.status())["installed_config_sha256"] == digest


async def test_a_dry_run_changes_nothing(open_world, autojump_clock):
    """Without `confirm` it is only said what would be: nothing is built, probed or swapped."""
    async with open_world(toml(chat=(ONE, TWO))) as world:
        before = (await world.status())["installed_config_sha256"]
        digest = world.write(toml(chat=(ONE, TWO), more=(THREE,)))
        answer = await world.activate(digest, confirm=False)
        assert answer.json == {
            "applied": False,
            "dry_run": True,
            "installed_config_sha256": before,
            "config_sha256": digest,
            "current_tiers": ["chat"],
            "desired_tiers": ["chat", "more"],
        }
        assert THREE not in world.made
        assert (await world.status())["installed_config_sha256"] == before


async def test_a_stream_of_the_old_configuration_goes_on_to_its_end(open_world, autojump_clock):
    """No stream is cut: its lease counts on, its connection stays, though its member has gone."""
    async with open_world(toml(chat=(ONE, TWO))) as world:
        for url in (ONE, TWO):
            world.engine(url).chat_default = good_stream("a", "b", "c", gap_s=10.0)
        answers = []

        async def stream():
            answers.append(await world.chat("chat", stream=True))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(stream)
            nursery.start_soon(stream)
            await trio.sleep(5)
            await world.activate(world.write(toml(chat=(TWO, THREE))))
            counts = await world.house.tiers[TierId("chat")].inspect()
            assert (counts.active, sum(member.active for member in counts.members)) == (2, 2)
        assert [b"[DONE]" in answer.body for answer in answers] == [True, True]
        counts = await world.house.tiers[TierId("chat")].inspect()
        assert (counts.active, len(counts.members)) == (0, 2)


async def test_whoever_waits_may_be_given_a_member_that_came_later(open_world, autojump_clock):
    """A request in line under the old configuration is served by the member that was added."""
    text, more = one_each(ONE, TWO), one_each(ONE, TWO, THREE)
    async with open_world(text) as world:
        for url in (ONE, TWO):
            world.engine(url).chat_default = good_stream("a", "b", gap_s=10.0)
        answers = []

        async def ask(*, stream):
            answers.append((await world.chat("chat", stream=stream)).status)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: ask(stream=True))
            nursery.start_soon(lambda: ask(stream=True))
            await trio.sleep(1)
            nursery.start_soon(lambda: ask(stream=False))
            await trio.sleep(1)
            assert world.engine(THREE).chats == []
            await world.activate(world.write(more))
            await trio.sleep(1)
            assert len(world.engine(THREE).chats) == 1
        assert answers == [200, 200, 200]


async def test_nobody_in_line_is_refused_when_all_members_are_replaced(open_world, autojump_clock):
    """New members come with their readiness: between old and new there is no moment without."""
    four = "http://127.0.0.1:8104/v1"
    new = one_each(THREE, four).replace('id = "a"', 'id = "c"').replace('id = "b"', 'id = "d"')
    async with open_world(one_each(ONE, TWO)) as world:
        for url in (ONE, TWO):
            world.engine(url).chat_default = good_stream("a", "b", gap_s=1.5)
        statuses = []

        async def ask(*, stream):
            statuses.append((await world.chat("chat", stream=stream)).status)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: ask(stream=True))
            nursery.start_soon(lambda: ask(stream=True))
            await trio.sleep(1)
            nursery.start_soon(lambda: ask(stream=False))
            await trio.sleep(1)
            answer = await world.activate(world.write(new))
            assert answer.status == 200
        assert statuses == [200, 200, 200]
        assert len(world.engine(THREE).chats) + len(world.engine(four).chats) == 1


async def test_an_alias_that_is_pointed_elsewhere_goes_there_from_then_on(
    open_world, autojump_clock
):
    """R001: before the step an alias means one tier, after it another, at no time both."""
    text = toml(chat=(ONE,), other=(TWO,))
    async with open_world(text) as world:
        assert (await world.chat("chat")).status == 200
        turned = text.replace('"chat" = "chat"', '"chat" = "other"')
        turned = turned.replace('"other" = "other"', '"other" = "chat"')
        assert (await world.activate(world.write(turned))).status == 200
        assert (await world.chat("chat")).status == 200
        assert (len(world.engine(ONE).chats), len(world.engine(TWO).chats)) == (1, 1)


async def test_a_tier_that_is_left_out_ends_with_its_last_request(open_world, autojump_clock):
    """Its alias is gone at once, its actor and connections when nobody uses them any more."""
    async with open_world(toml(chat=(ONE,), other=(TWO,))) as world:
        world.engine(TWO).chat_default = good_stream("a", "b", gap_s=10.0)
        answers = []

        async def stream():
            answers.append(await world.chat("other", stream=True))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(stream)
            await trio.sleep(5)
            await world.activate(world.write(toml(chat=(ONE,))))
            assert (await world.chat("other")).status == 404
            assert TierId("other") in world.house.tiers
        assert b"[DONE]" in answers[0].body
        await trio.sleep(1)
        assert set(world.house.tiers) == set(world.house.ways) == {"chat"}


async def test_a_tier_that_comes_back_while_it_is_still_used_keeps_its_counts(
    open_world, autojump_clock
):
    """Left out and put back under a running request, it is the same actor with the same lease."""
    both = toml(chat=(ONE,), other=(TWO,))
    async with open_world(both) as world:
        world.engine(TWO).chat_default = good_stream("a", "b", gap_s=30.0)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: world.chat("other", stream=True))
            await trio.sleep(5)
            await world.activate(world.write(toml(chat=(ONE,))))
            await world.activate(world.write(both))
            assert (await world.house.tiers[TierId("other")].inspect()).active == 1
        await trio.sleep(1)
        counts = await world.house.tiers[TierId("other")].inspect()
        assert (counts.active, counts.phase) == (0, "admitting")
        world.engine(TWO).chat_default = good_reply()
        assert (await world.chat("other")).status == 200


async def test_what_was_quiesced_stays_so(open_world, autojump_clock):
    """R011: an activation readmits nobody: not the tier, not a member, not one that comes back."""
    async with open_world(toml(chat=(ONE, TWO))) as world:
        order = {"action": "quiesce", "tier_id": "chat", "member_id": "b", "confirm": True}
        body = json.dumps({**order, "dry_run": False}).encode()
        path = "/v1/admin/transition"
        assert (await request(world.app, "POST", path, parts=[body], side=Side())).status == 200
        await world.activate(world.write(toml(chat=(ONE, TWO, THREE))))
        members = (await world.house.tiers[TierId("chat")].inspect()).members
        assert [member.is_quiesced for member in members] == [False, True, False]
        for _ in range(4):
            assert (await world.chat("chat")).status == 200
        assert [len(world.engine(url).chats) for url in (ONE, TWO, THREE)] == [2, 0, 2]


async def test_what_a_retired_configuration_has_open_is_closed_at_once(
    open_world, autojump_clock, monkeypatch
):
    """However long its last stream runs, it keeps no idle connection, and its stream goes on."""
    closed = []

    async def aclose(engine):
        closed.append((engine, trio.current_time()))

    monkeypatch.setattr(FakeUpstream, "aclose", aclose)
    async with open_world(toml(chat=(ONE, TWO))) as world:
        world.engine(ONE).chat_default = good_stream("a", "b", gap_s=10.0)
        answers = []

        async def stream():
            answers.append(await world.chat("chat", stream=True))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(stream)
            await trio.sleep(1)
            await world.activate(world.write(toml(chat=(ONE, TWO, THREE))))
            activated_at = trio.current_time()
            await trio.sleep(1)
            assert {engine for engine, _ in closed} == {world.engine(ONE), world.engine(TWO)}
            assert max(at for _, at in closed) == activated_at
            assert answers == []
        assert b"[DONE]" in answers[0].body


async def test_the_old_probes_stop(open_world, autojump_clock):
    """After the step only the new generation asks: an engine that was left out is left alone."""
    async with open_world(toml(chat=(ONE, TWO))) as world:
        await world.activate(world.write(toml(chat=(TWO, THREE))))
        await trio.sleep(0.1)
        asked = len(world.engine(ONE).probes)
        kept = len(world.engine(TWO).probes)
        await trio.sleep(30)
        assert len(world.engine(ONE).probes) == asked
        rounds = (len(world.engine(TWO).probes) - kept) / 2
        assert rounds == pytest.approx(30 / 5, abs=1)


@pytest.mark.parametrize("how", [REFUSED, STALLED_CONNECT])
async def test_a_new_member_that_does_not_answer_delays_nobody(how, open_world, autojump_clock):
    """It is waited for within the bound of its probes, then takes over as not ready."""
    async with open_world(toml(chat=(ONE, TWO))) as world:
        world.engines[THREE] = FakeUpstream(health=how, models=how)
        answer = await world.activate(world.write(toml(chat=(ONE, TWO, THREE))))
        assert answer.json["applied"] is True
        for _ in range(4):
            assert (await world.chat("chat")).status == 200
        assert world.engine(THREE).chats == []


async def test_the_wrong_digest_is_refused(open_world, autojump_clock):
    """A file that is not the one that was validated does not take over."""
    async with open_world(toml(chat=(ONE, TWO))) as world:
        world.write(toml(chat=(ONE,)))
        answer = await world.activate("0" * 64)
        assert (answer.status, answer.code) == (409, "activation_digest_mismatch")
        assert (await world.status())["tiers"][0]["state"] == "admitting"


@pytest.mark.parametrize("text", ["", "[router]\n", "canary = {", "\x00"])
async def test_a_file_that_is_not_valid_is_refused(text, open_world, autojump_clock):
    """Even with the right digest; nothing of what the file holds is said."""
    async with open_world(toml(chat=(ONE, TWO))) as world:
        answer = await world.activate(world.write(text))
        assert (answer.status, answer.code) == (409, "activation_config_invalid")
        assert b"canary" not in answer.body
        assert (await world.chat("chat")).status == 200


async def test_a_file_that_is_gone_is_refused(open_world, autojump_clock):
    """No file is as good as one that is not valid."""
    async with open_world(toml(chat=(ONE, TWO))) as world:
        world.path.unlink()
        assert (await world.activate("0" * 64)).code == "activation_config_invalid"


async def test_a_pipe_in_the_files_place_is_refused_at_once(open_world, autojump_clock):
    """Whoever would write into it is not waited for, so that other orders and a stop are not."""
    async with open_world(toml(chat=(ONE, TWO))) as world:
        digest = world.write(toml(chat=(TWO, THREE)))
        world.path.unlink()
        os.mkfifo(world.path)
        answer = await world.activate(digest)
        assert (answer.status, answer.code) == (409, "activation_config_invalid")


async def test_a_disk_that_hangs_is_waited_for_only_so_long(
    open_world, autojump_clock, monkeypatch
):
    """After ten seconds the thread is left behind, and other orders may be given again."""

    async def hang(*_, abandon_on_cancel, limiter):
        assert abandon_on_cancel
        async with limiter:
            await trio.sleep_forever()

    async with open_world(toml(chat=(ONE, TWO))) as world:
        digest = world.write(toml(chat=(TWO, THREE)))
        with monkeypatch.context() as hanging:
            hanging.setattr("trio.to_thread.run_sync", hang)
            before = trio.current_time()
            answer = await world.activate(digest)
            assert (answer.status, answer.code) == (409, "activation_config_invalid")
            assert trio.current_time() - before == pytest.approx(10)
        assert (await world.activate(digest)).status == 200


async def test_a_change_of_the_server_asks_for_a_restart(open_world, autojump_clock):
    """What the process was started with cannot change while it runs."""
    async with open_world(toml(chat=(ONE, TWO))) as world:
        text = toml(chat=(ONE, TWO)).replace("[server]\n", "[server]\nidle_timeout_s = 7\n")
        answer = await world.activate(world.write(text))
        assert (answer.status, answer.code) == (409, "activation_requires_restart")


async def test_a_bug_while_building_leaves_the_old_one_serving(open_world, autojump_clock):
    """Whatever is raised, the caller is told, a line says where, and nothing has changed."""
    async with open_world(toml(chat=(ONE, TWO))) as world:

        def broken(base_url, *, keepalive_s):
            raise RuntimeError("canary")

        world.generations._make_transport = broken
        before = (await world.status())["installed_config_sha256"]
        with capture_logs() as lines:
            answer = await world.activate(world.write(toml(chat=(ONE, TWO), more=(THREE,))))
        assert (answer.status, answer.code) == (503, "activation_failed")
        assert [line["event"] for line in lines] == ["activation_failed"]
        assert "canary" not in str(lines)
        assert (await world.status())["installed_config_sha256"] == before
        assert (await world.chat("chat")).status == 200
        assert set(world.house.tiers) == {"chat"}
        assert "more" not in await series(world)


async def test_a_caller_that_leaves_before_the_step_has_changed_nothing(open_world, autojump_clock):
    """What was built for it is taken down again, tiers and probes included."""
    async with open_world(toml(chat=(ONE, TWO))) as world:
        world.engines[THREE] = FakeUpstream(health=STALLED_CONNECT)
        digest = world.write(toml(chat=(ONE, TWO), more=(THREE,)))
        side, before = Side(), (await world.status())["installed_config_sha256"]
        body = json.dumps({"sha256": digest, "confirm": True}).encode()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: request(world.app, "POST", PATH, parts=[body], side=side))
            await trio.sleep(1)
            side.leave()
        await trio.sleep(1)
        assert (await world.status())["installed_config_sha256"] == before
        assert set(world.house.tiers) == {"chat"}
        assert (await world.chat("more")).status == 404
        assert "more" not in await series(world)


async def test_one_activation_at_a_time(open_world, autojump_clock):
    """A second one is refused while the first is being built."""
    async with open_world(toml(chat=(ONE, TWO))) as world:
        world.engines[THREE] = FakeUpstream(health=STALLED_CONNECT)
        digest = world.write(toml(chat=(ONE, TWO, THREE)))
        answers = []

        async def activate():
            answers.append(await world.activate(digest))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(activate)
            await trio.sleep(1)
            nursery.start_soon(activate)
        assert sorted(answer.status for answer in answers) == [200, 503]


async def test_a_router_without_a_file_asks_for_a_restart(open_world, autojump_clock):
    """Where the configuration came from no file there is none to read."""
    async with open_world(toml(chat=(ONE, TWO))) as world:
        world.generations._source = None
        assert (await world.activate("0" * 64)).code == "activation_requires_restart"
        world.app = App(world.house, world.generations.current, Authenticator(TOKEN))
        assert (await world.activate("0" * 64)).code == "activation_requires_restart"


async def test_without_a_token_there_is_no_such_path(open_world, autojump_clock):
    """Where everybody is the operator nobody may exchange the configuration."""
    async with open_world(toml(chat=(ONE, TWO))) as world:
        world.app = App(world.house, world.generations.current, Authenticator(None))
        assert (await world.activate("0" * 64)).status == 404
