import pytest

from anvil_trio.decisions.builder import CallerIds, RecordBuilder
from anvil_trio.decisions.record import render_line
from anvil_trio.exchange.outcome import ENDINGS
from anvil_trio.names import DIRECT_MEMBER, Alias, MemberId, RequestId
from tests.unit.views.samples import CANARY, canary, direct_tier, replica_tier

STRANGE = CallerIds(
    *(f"{canary(place)} with a blank" for place in ("id", "session", "run", "task"))
)


def begun() -> RecordBuilder:
    """A request whose caller put private text wherever a caller can."""
    made = RecordBuilder(
        gateway_request_id=RequestId("req_" + "0" * 32),
        started_at=0.0,
        created_unix=0.0,
        caller=STRANGE,
    )
    made.dropped_fields = (f"{canary('field')}.nested", canary("long" * 20))
    return made


def line_of(made: RecordBuilder, ending) -> str:
    """The record's line in lower case."""
    return render_line(made.finish(ending, now=1.0, unix_ts=1.0)).decode().lower()


@pytest.mark.parametrize("ending", ENDINGS.values())
@pytest.mark.parametrize(
    ("tier", "member_id"),
    [
        (replica_tier(), MemberId("member-a")),
        (replica_tier(), MemberId(f"http://{canary('member')}/")),
        (direct_tier(), DIRECT_MEMBER),
    ],
)
def test_a_dispatched_request_leaves_no_private_text(tier, member_id, ending):
    """R012: no URL, host, resource, credential, parameter or unsafe text of a caller shows."""
    made = begun()
    made.routed(Alias("llm.primary"), tier)
    made.asked_at = 0.0
    made.selected(member_id, 0.5)
    assert CANARY not in line_of(made, ending)


@pytest.mark.parametrize("ending", ENDINGS.values())
def test_a_refused_request_leaves_no_private_text(ending):
    """R012: a request for an unknown model keeps nothing of what its caller wrote."""
    made = begun()
    made.unknown_model()
    assert CANARY not in line_of(made, ending)
