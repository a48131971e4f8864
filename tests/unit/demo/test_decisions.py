"""Reading the router's decision log."""

import json

import trio

from anvil_trio.demo.decisions import find_member


def line(request_id, member_id=None):
    """One record, as short as a record can be."""
    return json.dumps({"gateway_request_id": request_id, "replica_member_id": member_id}) + "\n"


async def test_the_member_is_the_one_in_the_requests_own_record(tmp_path):
    """Other records do not matter, nor does a line that is not whole yet."""
    log = trio.Path(tmp_path / "log")
    await log.write_text(line("r1", "a") + line("r2", "b") + '{"gateway_req')
    assert await find_member(log, "r2") == "b"


async def test_a_record_without_a_member_names_none(tmp_path):
    """A direct tier's record has no member."""
    log = trio.Path(tmp_path / "log")
    await log.write_text(line("r1"))
    assert await find_member(log, "r1") is None
