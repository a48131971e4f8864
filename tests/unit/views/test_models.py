from anvil_trio.names import Alias
from anvil_trio.views.models import project_models
from tests.unit.views.samples import DIRECT, DOWN, config, direct_tier, read, verdicts

PROJECTION_KEYS = {
    "logical_tier",
    "members",
    "replica_identity",
    "deployment_identity_source",
    "runtime_deployment_identity_verified",
}


def entries(**found):
    """The listed entries by alias."""
    verdict_of, _ = verdicts(**found)
    return {entry["id"]: entry for entry in read(project_models(config(), verdict_of))["data"]}


def test_a_direct_entry_has_exactly_its_documented_keys():
    """A direct tier's entry shows the alias and its limits and no member fields."""
    assert entries()["chat"] == {
        "id": "chat",
        "object": "model",
        "name": "chat",
        "description": "Configured serving capability",
        "owned_by": "anvil-serving",
        "created": 1_700_000_000,
        "context_window": 4096,
        "max_output_tokens": None,
    }


def test_a_replica_entry_adds_exactly_five_keys():
    """T010: the logical tier and the shared projection, and a limit only where it is declared."""
    entry = entries()["llm.primary"]
    assert set(entry) - set(entries()["chat"]) == PROJECTION_KEYS | {"images_per_request"}
    assert entry["logical_tier"] == "replicas"
    assert entry["images_per_request"] == 2
    assert [member["id"] for member in entry["members"]] == ["member-a", "member-b"]


def test_entries_stand_in_the_order_of_the_file():
    """The order is the configuration's, not the alphabet's, and the list is OpenAI's shape."""
    verdict_of, _ = verdicts()
    listing = read(project_models(config(), verdict_of))
    assert listing["object"] == "list"
    assert [entry["id"] for entry in listing["data"]] == ["llm.primary", "chat", "llm.again"]


def test_no_entry_is_added_for_a_tier_or_a_member():
    """T010: aliases are what is listed, and limits are not multiplied by the members."""
    found = entries()
    assert len(found) == 3
    assert found["llm.primary"]["context_window"] == 8192
    assert found["llm.primary"]["max_output_tokens"] == 1024


def test_an_unavailable_alias_stays_in_the_list():
    """T010: a tier that is down is listed with its reasons."""
    members = entries(a=DOWN, b=DOWN)["llm.primary"]["members"]
    assert [member["readiness"]["reason"] for member in members] == ["health_transport"] * 2


def test_aliases_of_one_tier_share_one_projection():
    """T010: a payload asks once per member, so that its entries agree."""
    verdict_of, asked = verdicts()
    listing = read(project_models(config(), verdict_of))["data"]
    assert len(asked) == len(set(asked)) == 2
    assert listing[0]["members"] == listing[2]["members"]


def test_one_alias_can_be_asked_for():
    """A filter leaves the one entry as it is in the whole list."""
    verdict_of, asked = verdicts()
    listing = read(project_models(config(), verdict_of, only=Alias("chat")))
    assert listing["data"] == [entries()["chat"]]
    assert asked == []


def test_a_tier_that_declares_nothing_has_no_limits_of_its_own():
    """Without declared capabilities an entry has the plain keys."""
    verdict_of, _ = verdicts()
    bare = direct_tier().model_copy(update={"params": {}})
    planted = config().model_copy(update={"tiers": (bare,), "routes": {"chat": DIRECT}})
    assert read(project_models(planted, verdict_of))["data"] == [entries()["chat"]]


def test_only_a_count_declares_a_limit():
    """A declared limit that is no natural number is not a limit."""
    assert {"images_per_request", "video_per_request"}.isdisjoint(entries()["chat"])
