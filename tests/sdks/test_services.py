"""OpenAI's SDK beside chat: embeddings and audio, in this process and over sockets."""

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from anvil_trio.demo.numbers import vector_of
from anvil_trio.demo.tones import SAMPLE_RATE, pitch_of, tone_of
from anvil_trio.purpose.waves import with_wav_head
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from tests.sdks.demo_upstream import DemoUpstream, answer_from
from tests.support.asgi import TOKEN
from tests.support.running_router import TOKEN as WIRE_TOKEN
from tests.support.running_router import open_engines, open_router
from tests.support.small_house import (
    audio_route,
    config_of,
    direct_tier,
    embedding_model,
    open_small_house,
)

TEXT = "say it"
HEARD = f"A tone of {pitch_of(tone_of(TEXT), SAMPLE_RATE)} hertz."
SERVED = "demo-model"
TOML = f"""
[[router.purpose_models]]
id = "embedder"
kind = "embedding"
model = "{SERVED}"
base_url = "URL/v1"

[[router.purpose_models]]
id = "ranker"
kind = "rerank"
model = "{SERVED}"
base_url = "URL/v1"

[[router.audio_routes]]
id = "ears"
purpose = "stt"
model = "{SERVED}"
base_url = "URL/v1"

[[router.audio_routes]]
id = "voice"
purpose = "tts"
model = "{SERVED}"
base_url = "URL/v1"
source_sample_rate = 24000
"""


@asynccontextmanager
async def in_process() -> AsyncIterator[openai.AsyncOpenAI]:
    """A client of the application over demo engines."""
    config = config_of(direct_tier()).model_copy(
        update={
            "purpose_models": (
                embedding_model(SERVED),
                embedding_model("ranker", kind="rerank", model=SERVED),
            ),
            "audio_routes": (
                audio_route("ears", model=SERVED),
                audio_route("voice", "tts", model=SERVED),
            ),
        }
    )
    async with open_small_house(config, make_engine=DemoUpstream) as small:
        for engine in small.services.values():
            assert isinstance(engine, DemoUpstream)
            engine.beside = SERVED
        app = App(small.house, lambda: small.generation, Authenticator(TOKEN))
        transport = httpx2.MockTransport(partial(answer_from, app))
        async with openai.AsyncOpenAI(
            base_url="http://router.test/v1",
            api_key=TOKEN,
            http_client=httpx2.AsyncClient(transport=transport),
            max_retries=0,
        ) as client:
            yield client
        await small.assert_at_rest()


@asynccontextmanager
async def over_sockets(folder: Path) -> AsyncIterator[openai.AsyncOpenAI]:
    """A client of a router process over a demo engine."""
    async with open_engines("direct") as urls:
        more = TOML.replace("URL", urls[0])
        async with open_router(folder, urls, more=more) as router:
            async with openai.AsyncOpenAI(
                base_url=f"{router.base_url}/v1", api_key=WIRE_TOKEN, max_retries=0
            ) as client:
                yield client
            await router.wait_for_rest()
            kinds = [record["kind"] for record in router.records()]
            assert set(kinds) == {"embedding", "stt", "tts"}


def sound(text: str = TEXT) -> io.BytesIO:
    """A file of the tone that a text is."""
    file = io.BytesIO(with_wav_head(tone_of(text), SAMPLE_RATE))
    file.name = "söund.wav"
    return file


async def ask_for_embeddings(client: openai.AsyncOpenAI) -> None:
    """By default the SDK asks in base64, and decodes that."""
    reply = await client.embeddings.create(model=SERVED, input=["a", "b c"])
    assert [each.embedding for each in reply.data] == [vector_of("a"), vector_of("b c")]
    assert reply.model == SERVED
    plain = await client.embeddings.create(
        model=SERVED, input=[1, 2], encoding_format="float", dimensions=3
    )
    assert plain.data[0].embedding == vector_of("1 2", 3)
    with pytest.raises(openai.NotFoundError, match=SERVED):
        await client.embeddings.create(model="nobody", input="a")
    with pytest.raises(openai.BadRequestError, match="input"):
        await client.embeddings.create(model=SERVED, input="")


async def ask_for_audio(client: openai.AsyncOpenAI) -> None:
    """Whole and streamed, in both directions."""
    audio = client.audio
    heard = await audio.transcriptions.create(model="ears", file=sound())
    assert heard.text == HEARD
    with pytest.warns(DeprecationWarning, match="deprecated"):
        translated = await audio.translations.create(model="ears", file=sound())
    assert translated.text == HEARD
    plain: Any = await audio.transcriptions.create(
        model="ears", file=sound(), response_format="text"
    )
    assert str(plain).strip() == HEARD
    events = [
        event
        async for event in await audio.transcriptions.create(
            model="ears", file=sound(), stream=True
        )
    ]
    assert events[-1].type == "transcript.text.done"
    assert events[-1].text == HEARD
    spoken = await audio.speech.create(model="voice", voice="alloy", input=TEXT)
    assert spoken.content == sound().read()
    async with audio.speech.with_streaming_response.create(
        model="voice", voice="alloy", input=TEXT, response_format="pcm"
    ) as stream:
        parts = [part async for part in stream.iter_bytes()]
    assert b"".join(parts) == tone_of(TEXT)
    with pytest.raises(openai.NotFoundError, match="ears"):
        await audio.transcriptions.create(model="nobody", file=sound())
    with pytest.raises(openai.BadRequestError):
        await audio.transcriptions.create(model="ears", file=io.BytesIO(b"no sound"))


async def test_embeddings_in_this_process(autojump_clock):
    """In base64, as numbers, cut, and refused."""
    async with in_process() as client:
        await ask_for_embeddings(client)


async def test_audio_in_this_process(autojump_clock):
    """What is spoken is heard again."""
    async with in_process() as client:
        await ask_for_audio(client)


@pytest.mark.wire
async def test_all_of_it_over_sockets(tmp_path):
    """A router process, a demo engine, the same questions."""
    async with over_sockets(tmp_path) as client:
        await ask_for_embeddings(client)
        await ask_for_audio(client)
