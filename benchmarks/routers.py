"""A router of its own for a benchmark, over engines that it has started."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from anvil_trio.demo.router_toml import ROUTER_KEY_ENV, render_router_toml
from benchmarks.processes import Child

__all__ = ["KEY", "router_toml", "running_router"]

KEY = "only-for-this-benchmark"


def router_toml(
    routes: Mapping[str, Sequence[str]],
    model: str,
    *,
    server: Mapping[str, float] | None = None,
    router: Mapping[str, float] | None = None,
    anthropic: Sequence[str] = (),
) -> str:
    """The configuration over the engines of `routes`; those in `anthropic` speak Messages.

    `server` and `router` are settings of those tables.
    """
    text = render_router_toml(routes, model=model, context_limit=8_192)
    for name in anthropic:
        text = text.replace(
            f'id = "{name}"\ndialect = "openai"', f'id = "{name}"\ndialect = "anthropic"'
        )
    text = text.replace("[server]\n", f"[server]\n{_lines(server)}", 1)
    return text.replace("[router.", f"[router]\n{_lines(router)}\n[router.", 1)


def _lines(settings: Mapping[str, float] | None) -> str:
    return "".join(f"{name} = {value}\n" for name, value in (settings or {}).items())


@contextmanager
def running_router(
    text: str, env: Mapping[str, str] | None = None, module: str = "anvil_trio"
) -> Iterator[Child]:
    """A router of that configuration as a process, which wants `KEY`, for as long as the block."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        config = folder / "router.toml"
        config.write_text(text, encoding="utf-8")
        run = ["router", "run", "--config", str(config), "--port", "0"]
        yield stack.enter_context(Child(run, {ROUTER_KEY_ENV: KEY, **(env or {})}, module=module))
