"""A real llama.cpp server passes every check of a preflight, and its tier follows."""

from pathlib import Path

import pytest

pytest.importorskip("xllamacpp", reason="needs the engines dependency group", exc_type=ImportError)
pytest.importorskip("gguf", reason="needs the engines dependency group")

from anvil_trio.config.parse import parse_config
from anvil_trio.conform.asking import Asker, Target
from anvil_trio.conform.running import run_checks
from anvil_trio.conform.verdict import Outcome, Result
from anvil_trio.conform.voices import CHAT, MESSAGES, Voice
from anvil_trio.evals.checks import SERVE_CHECKS, Serve
from anvil_trio.evals.tier_block import render_tier
from tests.engines.gguf_file import write_model
from tests.engines.pair import running

pytestmark = pytest.mark.engine
ROUTES = '[router.model_routes]\n"llm.tiny" = "tiny"\n\n'


async def checked(url: str, voice: Voice) -> tuple[Result, ...]:
    """Every check of the engine in one dialect."""
    asker = Asker(Target(url, "tiny"), timeout_s=30)
    return await run_checks(
        SERVE_CHECKS, Serve(asker, voice), limit_s=60, tell=lambda _result: None
    )


async def test_llamacpp_passes_in_both_dialects(tmp_path: Path) -> None:
    """Cancellation by its own count, its context, its patience, thoughts, tools and schemas."""
    model = tmp_path / "tiny.gguf"
    write_model(model)
    serve = ("tests.engines.serve_llamacpp", str(model), "0")
    async with running(tmp_path / "log", *serve) as url:
        for voice, dialect, absent in (
            (CHAT, "openai", set[str]()),
            (MESSAGES, "anthropic", {"json_schema"}),
        ):
            results = await checked(url, voice)
            outcomes = {one.name: one.verdict.outcome for one in results}
            passed = {name for name, outcome in outcomes.items() if outcome is Outcome.PASSED}
            assert outcomes.keys() - passed == absent, [one.verdict for one in results]
            text = render_tier(
                results,
                base_url=url,
                model="tiny",
                dialect=dialect,
                auth_env="TINY_KEY",
                qualification_ref="x",
            )
            assert text is not None
            (tier,) = parse_config((ROUTES + text).encode()).tiers
            assert (tier.dialect, tier.engine) == (dialect, "llamacpp")
            assert tier.context_limit == 131_072
            assert tier.tool_support
