"""Which member took a request, as the router's decision log says."""

import msgspec
import trio

__all__ = ["find_member"]

_GLANCE_S = 0.02
_PATIENCE_S = 2.0


class _Record(msgspec.Struct):
    gateway_request_id: str | None = None
    replica_member_id: str | None = None


async def find_member(log_path: trio.Path, request_id: str) -> str | None:
    """The member named in the record of `request_id`; None if it names none.

    A record is written when its exchange ends, which may be a moment after the caller has the last
    byte: waits for it up to two seconds.
    """
    with trio.move_on_after(_PATIENCE_S):
        while True:
            whole_lines = (await log_path.read_bytes()).rpartition(b"\n")[0]
            for line in whole_lines.splitlines():
                record = msgspec.json.decode(line, type=_Record)
                if record.gateway_request_id == request_id:
                    return record.replica_member_id
            await trio.sleep(_GLANCE_S)
    return None
