import msgspec
import pytest

from anvil_trio.facts import Verdict
from anvil_trio.views.capacity import project_capacity
from anvil_trio.views.fingerprint import project_config
from anvil_trio.views.models import project_models
from anvil_trio.views.signals import unwatched
from anvil_trio.views.status import project_status
from tests.unit.views.samples import (
    CANARY,
    DIRECT,
    REPLICA,
    canary,
    config,
    direct_snapshot,
    direct_tier,
    replica_snapshot,
    replica_tier,
    verdicts,
)

SPILLING = Verdict(is_ready=False, reason=canary("reason"), observed_model=canary("observed"))
CLAIMING = Verdict(is_ready=True, reason=canary("reason"), observed_model=canary("observed"))


def pages(verdict_of, snapshots):
    """Every page, and what the status page's digest is made of."""
    planted = config()
    return {
        "models": project_models(planted, verdict_of),
        "capacity": project_capacity(planted, verdict_of, snapshots, unwatched),
        "status": project_status(
            planted, snapshots, package_version="0.1.0", started_unix=0, now_unix=1
        ),
        "public configuration": project_config(planted),
    }


def test_the_canaries_are_in_place():
    """The plant is real: every private string of the configuration carries a canary."""
    server = config().server
    private = [server.auth_env, server.decision_log_path, server.tls_keyfile, server.tls_certfile]
    private += [str(config().source), direct_tier().base_url]
    private += [tier.auth_env for tier in config().tiers]
    private += [replica_tier().health_path, str(replica_tier().extra_body)]
    private += [str(replica_tier().extra_body_defaults), str(replica_tier().params)]
    for member in replica_tier().replicas:
        private += [member.base_url, member.host_id, member.resource_id]
    assert all(CANARY in str(text).lower() for text in private)


@pytest.mark.parametrize("verdict", [SPILLING, CLAIMING])
@pytest.mark.parametrize(
    "snapshots",
    [
        {},
        {REPLICA: replica_snapshot(1), DIRECT: direct_snapshot()},
        {REPLICA: canary("forged"), DIRECT: replica_snapshot(tier_id=canary("tier"))},
        {REPLICA: replica_snapshot(active=canary("count"), phase=canary("phase"))},
    ],
)
def test_no_page_shows_a_private_string(verdict, snapshots):
    """R012: no URL, host, resource, path, key's name, parameter, odd reason or odd model shows."""
    verdict_of, _ = verdicts(a=verdict, b=verdict, direct=verdict)
    for name, page in pages(verdict_of, snapshots).items():
        assert CANARY not in msgspec.json.encode(page).decode().lower(), name
