"""T012: what a lifecycle operation is refused for, before it does anything."""

import pytest

from anvil_trio.config.parse import parse_config
from anvil_trio.lifecycle.guard import MAX_AFFECTED_TIERS, LifecycleRefusal, check_lifecycle
from anvil_trio.names import TierId
from tests.unit.config.toml import config, direct, replica

ONE, MANY = TierId("one"), TierId("many")
ROUTES = '{ a = "one", b = "many" }'
BOTH = parse_config(config(direct(id='"one"'), replica(id='"many"'), routes=ROUTES).encode())
DIRECT = parse_config(
    config(
        direct(id='"one"'), direct(id='"many"', base_url='"http://127.0.0.1:1"'), routes=ROUTES
    ).encode()
)
SUPPORTED = None
UNSUPPORTED = "replica_lifecycle_unsupported"
UNAVAILABLE = "replica_lifecycle_configuration_unavailable"


@pytest.mark.parametrize(
    ("affected", "configs", "refusal"),
    [
        ((ONE,), (DIRECT,), SUPPORTED),
        ((ONE, MANY), (DIRECT,), SUPPORTED),
        ((ONE,), (BOTH,), SUPPORTED),
        ((ONE,), (BOTH, DIRECT), SUPPORTED),
        ((MANY,), (BOTH,), UNSUPPORTED),
        ((ONE, MANY), (BOTH,), UNSUPPORTED),
        ((MANY,), (DIRECT, BOTH), UNSUPPORTED),
        ((MANY,), (BOTH, DIRECT), UNSUPPORTED),
        ((ONE,), (), UNAVAILABLE),
        ((ONE,), (None,), UNAVAILABLE),
        ((ONE,), (DIRECT, None), UNAVAILABLE),
        ((TierId("none"),), (DIRECT,), UNAVAILABLE),
        ((ONE, TierId("none")), (DIRECT,), UNAVAILABLE),
        ((MANY, TierId("none")), (BOTH,), UNAVAILABLE),
        ((MANY,), (BOTH, None), UNAVAILABLE),
        ((), (), SUPPORTED),
        ((), (None,), SUPPORTED),
        ((), (BOTH,), SUPPORTED),
    ],
)
def test_only_tiers_that_are_known_to_be_direct_may_be_operated_on(affected, configs, refusal):
    """T012: in each of the configurations; without an affected tier none is needed."""
    found = check_lifecycle(affected, *configs)
    assert (found and found.value) == refusal


def test_an_operation_has_a_bounded_number_of_tiers():
    """T012: what names more than 200 is not one that anybody looked over."""
    ids = [TierId(f"t{number}") for number in range(MAX_AFFECTED_TIERS + 1)]
    routes = "{ " + ", ".join(f'{name} = "{name}"' for name in ids) + " }"
    tiers = [
        direct(id=f'"{name}"', base_url=f'"http://127.0.0.1:{1000 + number}"')
        for number, name in enumerate(ids)
    ]
    known = parse_config(config(*tiers, routes=routes).encode())
    assert MAX_AFFECTED_TIERS == 200
    assert check_lifecycle(ids[1:], known) is None
    assert check_lifecycle(ids, known) is LifecycleRefusal.CONFIGURATION_UNAVAILABLE


def test_the_message_of_a_refusal_is_its_code():
    """T012: nothing else is ever said."""
    assert [str(refusal) for refusal in LifecycleRefusal] == [UNSUPPORTED, UNAVAILABLE]
