"""The show, with a router in memory and a decision log in a file."""

import json

import httpx
import trio

from anvil_trio.demo.client import RouterClient
from anvil_trio.demo.show import play


class Audience:
    """Writes down what it sees."""

    def __init__(self):
        self.seen = []

    def asked(self, turn):
        """One entry."""
        self.seen.append(("asked", turn.number, turn.is_over))

    def heard(self, turn, piece):
        """One entry, with the text so far."""
        self.seen.append(("heard", turn.number, piece, turn.text))

    def answered(self, turn):
        """One entry."""
        self.seen.append(("answered", turn.number, turn.member, turn.text, turn.problem))


def router_that_logs(path, members):
    """A router that gives its requests to `members` in turn and writes a line for each."""
    turns = iter(enumerate(members))

    def answer(request):
        number, member = next(turns)
        record = {"gateway_request_id": f"r{number}", "replica_member_id": member}
        with path.open("a") as log:
            log.write(json.dumps(record) + "\n")
        headers = {"x-anvil-request-id": f"r{number}"}
        if member is None:
            refusal = {"error": {"code": "service_unavailable"}}
            return httpx.Response(503, json=refusal, headers=headers)
        if not json.loads(request.content)["stream"]:
            reply = {"choices": [{"message": {"content": f"text {number}"}}]}
            return httpx.Response(200, json=reply, headers=headers)
        events = [{"choices": [{"delta": {"content": piece}}]} for piece in ("one", " two")]
        body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        return httpx.Response(200, text=body + "data: [DONE]\n\n", headers=headers)

    http = httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://router")
    return RouterClient(http, "demo")


async def test_four_plain_turns_are_followed_by_a_streamed_one(tmp_path):
    """Each turn is asked, heard if it streams, and answered with its member, in order."""
    log, audience = tmp_path / "log", Audience()
    await play(router_that_logs(log, "ababa"), trio.Path(log), audience)
    assert audience.seen == [
        ("asked", 1, False),
        ("answered", 1, "a", "text 0", None),
        ("asked", 2, False),
        ("answered", 2, "b", "text 1", None),
        ("asked", 3, False),
        ("answered", 3, "a", "text 2", None),
        ("asked", 4, False),
        ("answered", 4, "b", "text 3", None),
        ("asked", 5, False),
        ("heard", 5, "one", "one"),
        ("heard", 5, " two", "one two"),
        ("answered", 5, "a", "one two", None),
    ]


async def test_a_failed_turn_does_not_end_the_show(tmp_path):
    """The turns after it are played, and what failed says why."""
    log, audience = tmp_path / "log", Audience()
    router = router_that_logs(log, ["a", None, "a", "a", "a"])
    turns = await play(router, trio.Path(log), audience)
    assert [turn.problem for turn in turns] == [None, "service_unavailable", None, None, None]
    assert [turn.member for turn in turns] == ["a", None, "a", "a", "a"]
