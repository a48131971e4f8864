"""What is opened once, what is opened per configuration, and that both close."""

import json

import pytest
import trio
from structlog.testing import capture_logs

from anvil_trio.actors.messages import RefusalReason, Refused
from anvil_trio.admission.permit import Permit
from anvil_trio.assembly import open_generation, open_house
from anvil_trio.config.model import ServerSettings
from anvil_trio.config.policy import ClientCredential, ClientScope
from anvil_trio.config.problems import ConfigError
from anvil_trio.config.secrets import Secrets
from anvil_trio.decisions.events import ReadinessChanged
from anvil_trio.errors import UpstreamFailed
from anvil_trio.generations import open_app
from anvil_trio.names import LEGACY_CLIENT, Alias, ClientId, MemberId
from anvil_trio.tiers.lease import Lease
from anvil_trio.tiers.state import TierState
from anvil_trio.upstream.client import open_stream
from anvil_trio.web.auth import Principal
from tests.support.fake_upstream import REFUSED, FakeUpstream
from tests.support.small_house import TIER, config_of, direct_tier, replica_tier

SECRETS = Secrets({"UPSTREAM_KEY": "engine-key"})


class Engines:
    """Makes a fake engine per base URL and keeps it."""

    def __init__(self) -> None:
        self.by_url: dict[str, FakeUpstream] = {}

    def __call__(self, base_url: str, *, keepalive_s: float) -> FakeUpstream:
        assert keepalive_s == 4
        self.by_url[base_url] = FakeUpstream()
        return self.by_url[base_url]


async def test_a_generation_probes_its_members_and_tells_the_tiers(autojump_clock):
    """R007: probes with the tier's own key make members ready, and the actors and the bus hear."""
    config, engines = config_of(), Engines()
    with capture_logs() as lines:
        async with open_house(config) as house:
            with house.bus.subscribe(8) as feed:
                async with open_generation(house, config, SECRETS, engines) as generation:
                    got = await house.tiers[TIER].acquire(LEGACY_CLIENT)
                    assert isinstance(got, Lease)
                    with got as lease:
                        assert lease.member_id in {"a", "b"}  # whichever answered first
                    changes = [await feed.receive(), await feed.receive()]
                    verdict = generation.verdict_of(TIER, MemberId("a"))
                    assert (verdict.is_ready, verdict.reason) == (True, "identity_passed")
    assert {change.member_id for change in changes if isinstance(change, ReadinessChanged)} == {
        "a",
        "b",
    }
    probe = engines.by_url["http://primary-a.test/v1"].probes[0]
    assert probe.request.headers["authorization"] == "Bearer engine-key"
    assert {line["event"] for line in lines} == {"readiness_changed"}
    assert "test" not in json.dumps(lines, default=str).replace("latest", "")


async def test_a_generation_routes_every_alias(autojump_clock):
    """R001: each alias has one route, to one tier, with a way to each member and no other."""
    config, engines = config_of(replica_tier(), direct_tier("second")), Engines()
    async with (
        open_house(config) as house,
        open_generation(house, config, SECRETS, engines) as generation,
    ):
        first, second = generation.resolve(" LLM.Primary"), generation.resolve("llm.second")
        assert generation.resolve("llm.third") is None
        assert first is not None
        assert second is not None
        assert set(first.upstreams) == {"a", "b"}
        assert set(second.upstreams) == {""}
        upstream = first.upstreams[MemberId("b")]
        assert str(upstream.url) == "http://primary-b.test/v1/chat/completions"
        assert upstream.key == "engine-key"
        assert generation.routes[Alias("llm.primary")].handle is house.tiers[TIER]


async def test_probes_end_with_their_generation(autojump_clock):
    """Leaving the block stops the probes; the house's actors live on."""
    config, engines = config_of(), Engines()
    async with open_house(config) as house:
        async with open_generation(house, config, SECRETS, engines):
            await trio.sleep(12)
        count = [len(engine.calls) for engine in engines.by_url.values()]
        await trio.sleep(60)
        assert [len(engine.calls) for engine in engines.by_url.values()] == count
        assert (await house.tiers[TIER].inspect()).active == 0


async def test_a_tier_without_a_key_is_asked_without_one(autojump_clock):
    """An unset `auth_env` of a tier means no upstream authentication."""
    config, engines = config_of(), Engines()
    async with (
        open_house(config) as house,
        open_generation(house, config, Secrets({}), engines),
    ):
        await trio.sleep(1)
    assert (
        "authorization" not in engines.by_url["http://primary-a.test/v1"].probes[0].request.headers
    )


async def test_an_unwritable_decision_log_is_refused_at_start(tmp_path):
    """A decision log that cannot be opened stops the start, by its key and never its path."""
    server = ServerSettings(decision_log_path=str(tmp_path / "canary" / "log.jsonl"))
    with pytest.raises(ConfigError) as caught:
        async with open_house(config_of(server=server)):
            raise AssertionError("it must not open")
    assert "server.decision_log_path" in str(caught.value)
    assert "canary" not in str(caught.value)


async def test_the_decision_log_is_written(tmp_path, autojump_clock):
    """`decision_log_path` gets one line per request."""
    path = tmp_path / "log.jsonl"
    server = ServerSettings(decision_log_path=str(path))
    async with open_house(config_of(server=server)):
        pass
    assert path.read_bytes() == b""


async def test_a_crashed_tier_is_said_by_name_and_fenced(autojump_clock, monkeypatch):
    """A tier whose state raised is one event without words of the exception."""

    def broken(*_):
        raise RuntimeError("canary")

    monkeypatch.setattr(TierState, "handle", broken)
    with capture_logs() as lines:
        async with open_house(config_of()) as house:
            got = await house.tiers[TIER].acquire(LEGACY_CLIENT)
    assert got == Refused(RefusalReason.TIER_FAILED)
    [line] = lines
    assert (line["event"], line["actor"], line["kind"]) == (
        "actor_failed",
        "primary",
        "RuntimeError",
    )
    assert "canary" not in str(line)


async def test_an_application_asks_for_the_named_token(autojump_clock):
    """`open_app` authenticates with the secret behind `auth_env`; without a name, not at all."""
    config = config_of(direct_tier(), server=ServerSettings(auth_env="ROUTER_TOKEN"))
    async with open_app(config, Secrets({"ROUTER_TOKEN": "t"})) as app:
        assert app.authenticator.is_on
        assert app.current().config is config
    async with open_app(config_of(direct_tier()), Secrets({})) as app:
        assert not app.authenticator.is_on


async def test_the_clients_of_the_policy_may_call(autojump_clock):
    """`open_app` knows the clients whose credentials were found, and bounds those with a limit."""
    limits = {"desktop": 1, "_legacy": 9, "nobody": 2, "also-nobody": 1}
    server = ServerSettings(auth_env="ROUTER_TOKEN", client_limits=limits)
    client = ClientCredential(
        ClientId("desktop"), frozenset({ClientScope.INFERENCE_USE}), "desktop-key-0123456789"
    )
    with capture_logs() as lines:
        async with open_app(
            config_of(direct_tier(), server=server), Secrets({"ROUTER_TOKEN": "t"}, (client,))
        ) as app:
            who = app.authenticator.identify([(b"x-api-key", b"desktop-key-0123456789")])
            assert isinstance(who, Principal)
            assert who.client_id == "desktop"
            permit = await app.house.admission.enter(who.client_id)
            assert isinstance(permit, Permit)
            with permit:
                again = await app.house.admission.enter(who.client_id)
                assert again == Refused(RefusalReason.CLIENT_BUSY)
    idle = [line["setting"] for line in lines if line["event"] == "client_limit_idle"]
    assert idle == ["server.client_limits.also-nobody", "server.client_limits.nobody"]


async def test_a_named_token_is_never_missing():
    """A configuration whose token was not resolved can never run open to all."""
    config = config_of(direct_tier(), server=ServerSettings(auth_env="ROUTER_TOKEN"))
    with pytest.raises(AssertionError, match="resolved at start"):
        async with open_app(config, Secrets({})):
            pass


async def test_a_member_that_refuses_is_never_ready(autojump_clock):
    """R007: one refused probe makes a member unready; the other is ready alone."""
    config, engines = config_of(), Engines()
    async with open_house(config) as house:
        async with open_generation(house, config, SECRETS, engines) as generation:
            engines.by_url["http://primary-b.test/v1"].health = REFUSED
            await trio.sleep(20)
            verdict = generation.verdict_of(TIER, MemberId("b"))
            assert (verdict.is_ready, verdict.reason) == (False, "health_transport")
            members = (await house.tiers[TIER].inspect()).members
            assert [member.is_eligible for member in members] == [True, False]


async def test_a_generation_is_counted_from_its_first_probe(autojump_clock):
    """A new alias has its numbers before anybody asks for it, and probes are counted by member."""
    first, engines = config_of(), Engines()
    more = {**first.routes, "llm.more": TIER}
    second = first.model_copy(update={"routes": more})
    async with open_house(first) as house:
        assert ("llm.more", TIER) not in house.meters.routes
        async with open_generation(house, second, SECRETS, engines):
            assert ("llm.more", TIER) in house.meters.routes
            engines.by_url["http://primary-b.test/v1"].health = REFUSED
            await trio.sleep(12)
            failures = {
                str(member_id): meters.probe_failures.value
                for (_, member_id), meters in house.meters.members.items()
            }
    assert failures["a"] == 0
    assert failures["b"] > 0


async def test_a_refused_request_has_its_member_asked_at_once(autojump_clock):
    """Whoever could not connect wakes the prober: the next request knows; nothing was retried."""
    config, engines = config_of(), Engines()
    with capture_logs():
        async with (
            open_house(config) as house,
            open_generation(house, config, SECRETS, engines) as generation,
        ):
            await trio.sleep(0.1)
            route = generation.resolve("llm.primary")
            assert route is not None
            engine = engines.by_url["http://primary-b.test/v1"]
            engine.health, engine.chat = REFUSED, [REFUSED]
            with pytest.raises(UpstreamFailed):
                async with open_stream(route.upstreams[MemberId("b")], b"{}", []):
                    raise AssertionError
            before = trio.current_time()
            while generation.verdict_of(TIER, MemberId("b")).is_ready:
                await trio.sleep(0.001)
            assert trio.current_time() - before < 0.1
            assert len(engine.chats) == 0
