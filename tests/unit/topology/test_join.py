"""The join of members and resources (R004): each refusal, and which one comes first."""

import pytest

from anvil_trio.config.parse import parse_config
from anvil_trio.topology.document import parse_topology
from anvil_trio.topology.join import check_join
from tests.unit.config.toml import DIRECT, MEMBER_A, MEMBER_B, config, inline, replica
from tests.unit.topology.toml import HOST, RESOURCE_A, RESOURCE_B, ROUTER, RUNTIME, topology

TWO_ROUTES = '{ one = "primary", two = "second" }'


def joined(router=ROUTER, **arrays):
    """The code that the join of a router and a topology ends with, or None."""
    found = check_join(parse_config(router), parse_topology(topology(**arrays)))
    return None if found is None else found.value


def at(url):
    """A topology whose first resource is at `url`."""
    return {"resources": ({**RESOURCE_A, "endpoint": url and f'"{url}"'}, RESOURCE_B)}


def second_tier(**member):
    """A router whose second tier has members with the same ids as the first one's."""
    other = {"host_id": '"host-one"', **member}
    a = {**MEMBER_A, "resource_id": '"resource-c"', "base_url": '"http://127.0.0.1:8003"', **other}
    b = {**MEMBER_B, "resource_id": '"resource-d"', "base_url": '"http://127.0.0.1:8004"'}
    return config(replica(), replica(a, b, id='"second"'), routes=TWO_ROUTES).encode()


C = {**RESOURCE_A, "id": '"resource-c"', "role": '"c"', "endpoint": '"http://127.0.0.1:8003/"'}
D = {**RESOURCE_A, "id": '"resource-d"', "role": '"d"', "endpoint": '"http://127.0.0.1:8004/"'}
FOUR = (RESOURCE_A, RESOURCE_B, C, D)


def test_two_members_and_their_resources_join():
    """T006: each resource is declared on the host and at the endpoint that its member names."""
    assert joined() is None


def test_two_tiers_with_the_same_member_ids_join():
    """What counts is the resource."""
    assert joined(second_tier(), resources=FOUR) is None


def test_a_direct_tier_has_nothing_to_join():
    """It needs no resource."""
    assert joined(config().encode(), resources=()) is None


def test_a_resource_that_is_not_declared():
    """T006: `replica_resource_missing`."""
    assert joined(resources=(RESOURCE_A,)) == "replica_resource_missing"


def test_a_resource_of_two_tiers():
    """T006: `replica_resource_reused`, although each tier by itself is right."""
    router = second_tier(resource_id='"resource-a"', base_url='"http://127.0.0.1:8001/v1"')
    assert joined(router, resources=FOUR) == "replica_resource_reused"


def test_a_resource_of_another_host():
    """T006: `replica_host_mismatch`."""
    elsewhere = {**RESOURCE_B, "host": '"host-two"', "runtime": '"r"'}
    arrays = {
        "hosts": (HOST, {**HOST, "id": '"host-two"'}),
        "runtimes": (RUNTIME, {**RUNTIME, "id": '"r"', "host": '"host-two"'}),
        "resources": (RESOURCE_A, elsewhere),
    }
    assert joined(**arrays) == "replica_host_mismatch"


def test_a_resource_without_an_endpoint():
    """T006: `replica_endpoint_missing`."""
    assert joined(**at(None)) == "replica_endpoint_missing"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8009/v1",
        "https://127.0.0.1:8001/v1",
        "http://127.0.0.2:8001/v1",
        "http://127.0.0.1:8001",
        "http://127.0.0.1:8001/V1",
        "http://127.0.0.1:8001//v1",
        "http://127.0.0.1:8001/v1?",
        "http://127.0.0.1:8001/v1#",
        "http://127.0.0.1:8001/v1?x=1",
    ],
)
def test_a_resource_at_another_endpoint(url):
    """T006: `replica_endpoint_mismatch`, also for a URL that has no normal form."""
    assert joined(**at(url)) == "replica_endpoint_mismatch"


@pytest.mark.parametrize("url", ["HTTP://127.0.0.1:8001/v1", "http://127.0.0.1:8001/v1//"])
def test_endpoints_are_compared_in_their_normal_form(url):
    """Case of the scheme and slashes at the end make no other endpoint."""
    assert joined(**at(url)) is None


def test_members_on_two_hosts():
    """T006: `replica_host_split`, for a configuration that was not read from a file."""
    parsed = parse_config(ROUTER)
    (tier,) = parsed.tiers
    moved = tier.replicas[1].model_copy(update={"host_id": "host-two"})
    split = parsed.model_copy(
        update={"tiers": (tier.model_copy(update={"replicas": (tier.replicas[0], moved)}),)}
    )
    declared = parse_topology(
        topology(
            hosts=(HOST, {**HOST, "id": '"host-two"'}),
            runtimes=(RUNTIME, {**RUNTIME, "id": '"r"', "host": '"host-two"'}),
            resources=(RESOURCE_A, {**RESOURCE_B, "host": '"host-two"', "runtime": '"r"'}),
        )
    )
    found = check_join(split, declared)
    assert found is not None
    assert found.value == "replica_host_split"


def test_the_first_member_of_the_file_decides():
    """Tiers and then members in their order, not in that of their names."""
    no_endpoint = {**RESOURCE_B, "endpoint": None}
    assert joined(resources=(no_endpoint,)) == "replica_resource_missing"
    swapped = config(replica(MEMBER_B, MEMBER_A)).encode()
    assert joined(swapped, resources=(no_endpoint,)) == "replica_endpoint_missing"
    first_direct = config(
        inline({**DIRECT, "id": '"second"'}), replica(), routes=TWO_ROUTES
    ).encode()
    assert joined(first_direct, resources=(RESOURCE_B,)) == "replica_resource_missing"
    assert joined(second_tier(), resources=(RESOURCE_A, RESOURCE_B)) == "replica_resource_missing"


def test_the_checks_of_a_member_have_an_order():
    """Reuse comes before all else, the host before the endpoint."""
    elsewhere = {**RESOURCE_A, "host": '"host-two"', "runtime": '"r"', "endpoint": None}
    arrays = {
        "hosts": (HOST, {**HOST, "id": '"host-two"'}),
        "runtimes": (RUNTIME, {**RUNTIME, "id": '"r"', "host": '"host-two"'}),
        "resources": (elsewhere, RESOURCE_B, D),
    }
    assert joined(**arrays) == "replica_host_mismatch"
    router = second_tier(resource_id='"resource-b"', base_url='"http://127.0.0.1:9999"')
    assert joined(router, resources=(RESOURCE_A, RESOURCE_B, D)) == "replica_resource_reused"
