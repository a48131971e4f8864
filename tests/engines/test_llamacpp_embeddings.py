"""Real embeddings of llama.cpp, asked for directly and through the router."""

from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

pytest.importorskip("xllamacpp", reason="needs the engines dependency group", exc_type=ImportError)
pytest.importorskip("gguf", reason="needs the engines dependency group")

from tests.engines.gguf_file import write_model
from tests.engines.pair import running
from tests.engines.scripted_model import COUNTING

pytestmark = pytest.mark.engine

CONFIG = """
[router.model_routes]
"llm.unused" = "unused"

[[router.tiers]]
id = "unused"
dialect = "openai"
privacy = "local"
tool_support = false
auth_env = "UNUSED_KEY"
base_url = "{url}/v1"
model = "tiny"
context_limit = 4096

[[router.purpose_models]]
id = "embedder"
kind = "embedding"
model = "tiny"
base_url = "{url}/v1"
"""
INPUTS: list[Any] = ["hello", ["hello", COUNTING.text], [10, 20, 30], [[10, 20], [30]]]


async def test_embeddings_through_the_router_are_the_engines_own(tmp_path: Path) -> None:
    """Texts, lists and tokens, as numbers and in base64: the same reply as without a router."""
    model, config = tmp_path / "tiny.gguf", tmp_path / "router.toml"
    write_model(model)
    serve = ("tests.engines.serve_llamacpp", str(model), "0", "embeddings")
    route = ("anvil_trio", "router", "run", "--config", str(config), "--port", "0")
    async with running(tmp_path / "engine.log", *serve) as engine:
        config.write_text(CONFIG.format(url=engine))
        async with (
            running(tmp_path / "router.log", *route) as router,
            httpx.AsyncClient(trust_env=False, timeout=30) as client,
        ):
            for given in INPUTS:
                for encoding in ("float", "base64"):
                    asked = {"model": "tiny", "input": given, "encoding_format": encoding}
                    direct = await client.post(f"{engine}/v1/embeddings", json=asked)
                    routed = await client.post(f"{router}/v1/embeddings", json=asked)
                    assert direct.status_code == routed.status_code == 200, direct.text
                    assert routed.json() == direct.json()
            async with openai.AsyncOpenAI(base_url=f"{router}/v1", api_key="any") as sdk:
                reply = await sdk.embeddings.create(
                    model="tiny", input=["hello", "hello", COUNTING.text]
                )
                one, two, three = (each.embedding for each in reply.data)
                assert len(one) == 256
                assert one == pytest.approx(two, abs=1e-5)
                assert one != pytest.approx(three, abs=1e-5)
