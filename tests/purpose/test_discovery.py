"""Services are named where clients look for models."""

import pytest
from structlog.testing import capture_logs

from anvil_trio.config.model import RouterConfig
from anvil_trio.config.secrets import Secrets
from anvil_trio.purpose.opening import open_services
from anvil_trio.purpose.reading import KINDS
from anvil_trio.views.fingerprint import public_sha256
from anvil_trio.web.router import ROUTES
from tests.purpose.stage import open_stage, service_config
from tests.support.asgi import BEARER, request
from tests.support.fake_upstream import FakeUpstream
from tests.support.small_house import embedding_model


async def test_services_are_listed_after_the_aliases(autojump_clock):
    """Each with its kind; a name that is an alias as well is listed once, and as that."""
    config = service_config()
    twin = embedding_model("llm.primary")
    config = config.model_copy(update={"purpose_models": (twin, *config.purpose_models)})
    async with open_stage(config) as stage:
        listing = (await request(stage.app, "GET", "/v1/models")).json
        assert [(entry["id"], entry.get("kind")) for entry in listing["data"]] == [
            ("llm.primary", None),
            ("embed.main", "embedding"),
            ("rank.main", "rerank"),
            ("stt.main", "stt"),
            ("tts.main.one", "tts"),
        ]
        assert listing["data"][0].keys() - {"kind"} == listing["data"][1].keys() - {"kind"}
        one = (await request(stage.app, "GET", "/v1/models", query=b"model=llm.primary")).json
        assert [entry["id"] for entry in one["data"]] == ["llm.primary"]


async def test_a_service_has_an_entry_of_its_own(autojump_clock):
    """By its exact name; for Anthropic's clients, who cannot use it, it is not there."""
    async with open_stage() as stage:
        found = await request(stage.app, "GET", "/v1/models/embed.main")
        assert found.json["kind"] == "embedding"
        assert (await request(stage.app, "GET", "/v1/models/EMBED.main")).status == 404
        theirs = [BEARER, (b"anthropic-version", b"2023-06-01")]
        for path in ("/v1/models/embed.main", "/v1/models"):
            answer = await request(stage.app, "GET", path, headers=theirs)
            assert b"embed.main" not in answer.body


async def test_the_capabilities_page_says_where_services_are_asked(autojump_clock):
    """One row for each, with paths that are there; none where one alias is asked about."""
    async with open_stage() as stage:
        page = (await request(stage.app, "GET", "/v1/models/capabilities")).json
        assert [(row["id"], row["kind"], row["name"]) for row in page["services"]] == [
            ("embed.main", "embedding", "embed.main"),
            ("rank.main", "rerank", "rank.main"),
            ("stt.main", "stt", "stt.main"),
            ("tts.main.one", "tts", "tts.main.one"),
        ]
        assert [row["sample_rate_hz"] for row in page["services"]] == [None, None, None, 24_000]
        for row in page["services"]:
            assert all(("POST", path) in ROUTES for path in row["paths"])
        assert sum(len(row["paths"]) for row in page["services"]) == len(KINDS)
        query = b"model=llm.primary"
        one = (await request(stage.app, "GET", "/v1/models/capabilities", query=query)).json
        assert "services" not in one
        assert "realtime" not in one["data"][0]


def opened(config: RouterConfig, keys: dict[str, str]):
    """The services of a configuration, how many ways were made, and what was said."""
    with capture_logs() as lines:
        services, transports = open_services(
            config, Secrets(keys), lambda base_url, keepalive_s: FakeUpstream()
        )
    return services, transports, lines


def test_a_service_without_its_key_is_left_out():
    """An event says which; one that names no key needs none."""
    config = service_config()
    free = embedding_model("free", auth_env=None)
    config = config.model_copy(update={"purpose_models": (*config.purpose_models, free)})
    services, transports, lines = opened(config, {})
    assert [each.id for each in services.facts] == ["free"]
    assert len(transports) == 1
    assert [line["service"] for line in lines] == [
        *("embed.main", "rank.main", "stt.main", "tts.main.one")
    ]
    services, transports, lines = opened(config, {"UPSTREAM_KEY": "k"})
    assert len(services.facts) == len(transports) == 5
    assert not lines


@pytest.mark.parametrize("more", [{"kind": "rerank"}, {"model": "other"}, {"id": "other"}])
def test_the_public_digest_covers_services(more):
    """What is promised of them, and never where they are."""
    config = service_config()
    same = config.model_copy(
        update={"purpose_models": (embedding_model(base_url="http://other.test"),)}
    )
    one = config.model_copy(update={"purpose_models": (embedding_model(),)})
    other = config.model_copy(update={"purpose_models": (embedding_model(**more),)})
    assert public_sha256(one) == public_sha256(same) != public_sha256(other)
