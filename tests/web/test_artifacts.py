"""`GET /artifacts/{id}` through the whole application, in virtual time."""

import pytest
import trio

from anvil_trio.media.ranges import MAX_RANGE_BYTES
from anvil_trio.operations.model import Refusal, RefusalCode
from tests.support.asgi import BEARER, Answer, Side, request
from tests.support.media_house import open_media_house

BYTES = bytes(range(256)) * 4


@pytest.fixture
async def media():
    """A house with a media service of all scopes."""
    async with open_media_house() as media:
        yield media


async def test_an_artifact_is_downloaded(media, autojump_clock):
    """Its own type, its length, for its owner's eyes and no cache's, and no guessing at types."""
    artifact = media.service.keep(BYTES)
    answer = await media.get(f"/artifacts/{artifact.id}")
    assert (answer.status, answer.body) == (200, BYTES)
    assert answer.headers[b"content-type"] == b"image/png"
    assert answer.headers[b"content-length"] == b"1024"
    assert answer.headers[b"cache-control"] == b"private, no-store"
    assert answer.headers[b"x-content-type-options"] == b"nosniff"
    assert answer.headers[b"accept-ranges"] == b"bytes"
    assert b"content-range" not in answer.headers
    [record] = media.small.records
    assert (record.kind, record.workload_outcome, record.response_bytes) == (
        "artifact",
        "success",
        1024,
    )


async def test_a_range_is_downloaded(media, autojump_clock):
    """206, and which bytes of how many."""
    artifact = media.service.keep(BYTES)
    answer = await media.get(f"/artifacts/{artifact.id}", range="bytes=10-19")
    assert (answer.status, answer.body) == (206, BYTES[10:20])
    assert answer.headers[b"content-range"] == b"bytes 10-19/1024"
    assert answer.headers[b"content-length"] == b"10"
    assert answer.headers[b"cache-control"] == b"private, no-store"


@pytest.mark.parametrize("asked", ["bytes=-5", "bytes=1024-", "bytes=0-1,5-6", "items=0-1"])
async def test_a_range_that_cannot_be(asked, media, autojump_clock):
    """416 says how long the artifact is."""
    artifact = media.service.keep(BYTES)
    answer = await media.get(f"/artifacts/{artifact.id}", range=asked)
    assert (answer.status, answer.code) == (416, "artifact_range_invalid")
    assert answer.headers[b"content-range"] == b"bytes */1024"
    assert answer.headers[b"cache-control"] == b"no-store"


async def test_two_range_headers_are_a_list(media, autojump_clock):
    """Which is not served."""
    artifact = media.service.keep(BYTES)
    headers = [BEARER, (b"range", b"bytes=0-1"), (b"range", b"bytes=3-4")]
    path = f"/artifacts/{artifact.id}"
    answer = await request(media.app, "GET", path, headers=headers, side=Side())
    assert answer.status == 416


async def test_a_range_with_a_condition_is_left_out(media, autojump_clock):
    """It is about a version that cannot be named here, so all is sent."""
    artifact = media.service.keep(BYTES)
    path = f"/artifacts/{artifact.id}"
    answer = await media.get(path, range="bytes=0-1", if_range='"x"')
    assert (answer.status, answer.body) == (200, BYTES)


async def test_a_head_reads_nothing(media, autojump_clock):
    """The head of the whole artifact, whatever range is asked for."""
    artifact = media.service.keep(BYTES)
    answer = await media.get(f"/artifacts/{artifact.id}", "HEAD", range="bytes=0-1")
    assert (answer.status, answer.body, answer.headers[b"content-length"]) == (200, b"", b"1024")
    assert not media.service.reads


@pytest.mark.parametrize(
    "name",
    ["art_" + "0" * 32, "art_x", "", "x", "art_" + "0" * 31 + "/", "..%2fx", "art_" + "é" * 32],
)
async def test_what_is_not_there(name, media, autojump_clock):
    """404, in the same words for whatever is asked for."""
    answer = await media.get(f"/artifacts/{name}")
    assert answer.status == 404
    assert answer.code in {"artifact_not_found", "not_found"}


async def test_somebody_elses_is_not_there(media, autojump_clock):
    """It is answered as one that never was."""
    theirs = media.service.keep(BYTES, principal="somebody")
    answer = await media.get(f"/artifacts/{theirs.id}")
    other = await media.get("/artifacts/art_" + "9" * 32)
    assert (answer.status, answer.code) == (404, "artifact_not_found")
    assert answer.body == other.body


async def test_a_router_that_may_not_read(autojump_clock):
    """403, whether there is such an artifact or not."""
    async with open_media_house(media_scopes=("media:submit",)) as media:
        for artifact_id in (media.service.keep(BYTES).id, "art_x"):
            answer = await media.get(f"/artifacts/{artifact_id}")
            assert (answer.status, answer.code) == (403, "authorization_scope_denied")


async def test_an_empty_artifact(media, autojump_clock):
    """Has a head and no bytes."""
    artifact = media.service.keep(b"")
    answer = await media.get(f"/artifacts/{artifact.id}")
    assert (answer.status, answer.body, answer.headers[b"content-length"]) == (200, b"", b"0")


async def test_a_large_artifact_comes_in_pieces(media, autojump_clock):
    """What is sent is read a piece at a time, also where less is read than was asked for."""
    data = bytes(1_000_000)
    artifact = media.service.keep(data)
    media.service.max_read = 100_000
    answer = await media.get(f"/artifacts/{artifact.id}")
    assert answer.body == data
    assert len(media.service.reads) == 10
    assert max(length for _, length in media.service.reads) <= 262_144


async def test_a_reply_has_16_mib_at_the_most(media, autojump_clock):
    """All of something larger is refused with the way to get it; a long range is cut."""
    artifact = media.service.keep(bytes(MAX_RANGE_BYTES + 10))
    answer = await media.get(f"/artifacts/{artifact.id}")
    assert (answer.status, answer.code) == (416, "artifact_range_invalid")
    assert "16 MiB" in answer.json["error"]["message"]
    answer = await media.get(f"/artifacts/{artifact.id}", range="bytes=0-")
    assert (answer.status, len(answer.body)) == (206, MAX_RANGE_BYTES)
    rest = await media.get(f"/artifacts/{artifact.id}", range=f"bytes={MAX_RANGE_BYTES}-")
    assert len(rest.body) == 10


async def test_a_service_that_is_not_there(media, autojump_clock):
    """503 with a time to come back."""
    artifact = media.service.keep(BYTES)
    media.service.refusal = Refusal(RefusalCode.UNAVAILABLE)
    answer = await media.get(f"/artifacts/{artifact.id}")
    assert (answer.status, answer.code) == (503, "media_unavailable")
    assert answer.headers[b"retry-after"] == b"1"


@pytest.mark.parametrize("after", [0, 1])
async def test_an_artifact_that_goes_while_it_is_read(after, media, autojump_clock):
    """Before its first byte it is a 404; later its body does not end."""
    artifact = media.service.keep(bytes(600_000))
    read = media.service.read_artifact

    async def read_and_lose(*asked):
        if len(media.service.reads) == after:
            del media.service.kept[artifact.id]
        return await read(*asked)

    media.service.read_artifact = read_and_lose
    answer = await media.get(f"/artifacts/{artifact.id}")
    if after:
        assert (answer.status, answer.is_over) == (200, False)
        assert len(answer.body) < 600_000
    else:
        assert (answer.status, answer.code) == (404, "artifact_not_found")
        assert answer.headers[b"content-length"] == b"%d" % len(answer.body)
        assert answer.headers[b"content-type"] == b"application/json"
    assert (await media.small.house.protocols.inspect()).active == 0
    outcome = media.small.records[-1].workload_outcome
    assert outcome == ("error" if after else "rejected")


@pytest.mark.parametrize("size", [100, 600_000])
async def test_a_caller_that_stops_reading(size, media, autojump_clock):
    """It is given up after `client_stall_timeout_s`, and its place is free."""

    class Stuck(Answer):
        async def take(self, message):
            await super().take(message)
            await trio.sleep_forever()

    artifact = media.service.keep(bytes(size))
    path = f"/artifacts/{artifact.id}"
    await request(media.app, "GET", path, side=Side(), answer=Stuck())
    assert trio.current_time() >= 60
    assert media.small.records[-1].workload_outcome == "disconnected"
    assert (await media.small.house.protocols.inspect()).active == 0


async def test_a_caller_that_leaves(media, autojump_clock):
    """Its place is free at once."""
    side = Side()

    class Slow(Answer):
        async def take(self, message):
            await super().take(message)
            side.leave()
            await trio.sleep_forever()

    artifact = media.service.keep(bytes(600_000))
    path = f"/artifacts/{artifact.id}"
    await request(media.app, "GET", path, side=side, answer=Slow())
    assert media.small.records[-1].workload_outcome == "disconnected"
    assert (await media.small.house.protocols.inspect()).active == 0
