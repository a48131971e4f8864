"""Runs the checks of an engine or a gateway and tells what failed."""

from anvil_trio.conform.asking import Asker, Target
from anvil_trio.conform.checks import GATEWAY_CHECKS, Gateway
from anvil_trio.conform.running import run_checks
from anvil_trio.conform.verdict import Outcome, Result
from anvil_trio.conform.voices import CHAT
from anvil_trio.evals.checks import SERVE_CHECKS, Serve

__all__ = ["checked_engine", "checked_gateway", "failures"]


async def checked_engine(
    url: str, model: str = "demo-model", *, timeout_s: float = 10, limit_s: float = 30
) -> tuple[Result, ...]:
    """Every check of an engine."""
    asker = Asker(Target(url, model), timeout_s=timeout_s)
    return await run_checks(
        SERVE_CHECKS, Serve(asker, CHAT, watch_s=0.8), limit_s=limit_s, tell=lambda _result: None
    )


async def checked_gateway(
    url: str, model: str, key: str | None, *, timeout_s: float = 10
) -> tuple[Result, ...]:
    """Every check of a gateway."""
    asker = Asker(Target(url, model, key), timeout_s=timeout_s)
    return await run_checks(
        GATEWAY_CHECKS, Gateway(asker), limit_s=10 * timeout_s, tell=lambda _result: None
    )


def failures(results: tuple[Result, ...]) -> dict[str, str]:
    """The names of the checks that failed, and why."""
    return {
        one.name: one.verdict.reason for one in results if one.verdict.outcome is Outcome.FAILED
    }
