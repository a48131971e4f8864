"""Two real llama.cpp servers behind the router, asked with known answers."""

import json
from pathlib import Path

import pytest
import trio

pytest.importorskip("xllamacpp", reason="needs the engines dependency group", exc_type=ImportError)
pytest.importorskip("gguf", reason="needs the engines dependency group")

from tests.engines.pair import llamacpp_pair
from tests.engines.scripted_model import COUNTING, GREETING

pytestmark = pytest.mark.engine


async def test_a_real_pair_answers_in_turn(tmp_path: Path) -> None:
    """Unary and streamed chat give the known text, and the members take turns: a, b, a, b."""
    async with llamacpp_pair(tmp_path) as pair:
        said = [
            await pair.say("hello"),
            await pair.stream("hello"),
            await pair.say("hello"),
            await pair.stream("hello"),
        ]
        assert said == [GREETING.text] * 4
        with trio.fail_after(5):
            while len(await pair.members()) < 4:
                await trio.sleep(0.02)
        assert await pair.members() == ["a", "b", "a", "b"]


async def test_leaving_an_endless_answer_frees_its_member(tmp_path: Path) -> None:
    """When the client leaves in the middle of an endless stream, its place is free in a second."""
    async with llamacpp_pair(tmp_path) as pair:
        body = json.dumps(pair.body(COUNTING.when, stream=True)).encode()
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: router\r\n"
        head += b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        async with await trio.open_tcp_stream("127.0.0.1", pair.port) as leaver:
            await leaver.send_all(head + body)
            said = b""
            while COUNTING.pieces[5].encode() not in said:
                said += await leaver.receive_some()
            assert await pair.active() == 1
        with trio.fail_after(1):
            while await pair.active():
                await trio.sleep(0.02)
