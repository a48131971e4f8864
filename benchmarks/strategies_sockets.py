"""The strategies once on real sockets: two engine processes, one router process, one of callers."""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx
import trio

from benchmarks.conversations import TOKENS_A_TURN, Conversation
from benchmarks.percentiles import percentile
from benchmarks.prefix_engine import CONTEXT, MODEL
from benchmarks.processes import Child, cpu_seconds
from benchmarks.routers import running_router
from benchmarks.strategies_plan import STRATEGIES, Plan, Row, Strategy

__all__ = ["measure_all"]

_ZEROS = "0" * 64
_WORDS = "word " * TOKENS_A_TURN
_TIER = f"""
[[router.tiers]]
id = "{{id}}"
dialect = "openai"
privacy = "local"
tool_support = true
auth_env = "ANVIL_BENCHMARK_ENGINE_KEY"
model = "{MODEL}"
model_identity = true
health_path = "/health"
context_limit = {CONTEXT}
engine = "vllm"
replica_strategy = "{{strategy}}"
replica_affinity = "{{affinity}}"
[router.tiers.replica_identity]
model_revision = "1"
engine_version = "1"
image_digest = "sha256:{_ZEROS}"
config_fingerprint = "sha256:{_ZEROS}"
"""
_MEMBER = """
[[router.tiers.replicas]]
id = "{id}"
base_url = "{url}"
host_id = "this-host"
resource_id = "engine-{id}"
qualification_ref = "benchmark:{id}"
"""


def measure_all(plan: Plan) -> list[Row]:
    """Each strategy in turn, over fresh engines, through a router of its own."""
    return [_measure(plan, strategy) for strategy in STRATEGIES]


def _measure(plan: Plan, strategy: Strategy) -> Row:
    with _running(plan, strategy) as (engines, router, log):
        callers = _Callers(plan, strategy, router.url)
        before = cpu_seconds(router.pid)
        trio.run(callers.run)
        spent = cpu_seconds(router.pid) - before
        hits, queries = (_total(engines, f"prefix_cache_{what}_total") for what in _CACHE)
        served = Counter(
            json.loads(line).get("replica_member_id") for line in log.read_text().splitlines()
        )
    latencies = sorted(callers.latencies)
    return Row(
        strategy=strategy.name,
        requests_per_second=len(latencies) / plan.measured_s,
        p50_s=percentile(latencies, 0.5),
        p95_s=percentile(latencies, 0.95),
        reused=hits / queries,
        served=(served["a"], served["b"]),
        failures=callers.failures,
        router_cpu_us=spent / callers.answered * 1e6,
    )


_CACHE = ("hits", "queries")


def _total(engines: Sequence[str], name: str) -> float:
    """One counter of all engines together."""
    total = 0.0
    for url in engines:
        text = httpx.get(f"{url}/metrics", trust_env=False).text
        total += next(
            float(s.split()[1]) for s in text.splitlines() if s.startswith(f"vllm:{name}")
        )
    return total


@contextmanager
def _running(plan: Plan, strategy: Strategy) -> Iterator[tuple[list[str], Child, Path]]:
    """Two engines' URLs and a router, and where it writes its decisions."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        engines = [
            stack.enter_context(Child(_engine(plan, speed), module="benchmarks.prefix_engine")).url
            for speed in plan.speeds()
        ]
        log = folder / "decisions.jsonl"
        router = running_router(_config(plan, strategy, engines, log))
        yield engines, stack.enter_context(router), log


def _engine(plan: Plan, speed: tuple[float, float]) -> list[str]:
    writing, reading = speed
    options = {
        "--slots": plan.slots,
        "--tokens-per-second": writing,
        "--prefill": reading,
        "--remembered": plan.remembered,
    }
    return [str(part) for option in options.items() for part in option]


def _config(plan: Plan, strategy: Strategy, engines: Sequence[str], log: Path) -> str:
    tier = _TIER.format(
        id="t",
        strategy="capacity" if strategy.is_capacity else "round_robin",
        affinity="session" if strategy.has_affinity else "none",
    )
    ceiling = f"max_concurrency = {plan.slots}\n" if strategy.has_ceilings else ""
    members = [
        _MEMBER.format(id=name, url=url) + ceiling for name, url in zip("ab", engines, strict=True)
    ]
    head = f'[server]\ndecision_log_path = "{log}"\n[router.model_routes]\n"t" = "t"\n'
    return "".join([head, tier, *members])


@dataclass
class _Callers:
    """A closed loop of callers on one router, for the plan's time."""

    plan: Plan
    strategy: Strategy
    url: str
    latencies: list[float] = field(default_factory=list)
    failures: int = 0
    answered: int = 0

    async def run(self) -> None:
        started_at = trio.current_time()
        limits = httpx.Limits(max_connections=None, keepalive_expiry=4.0)
        async with httpx.AsyncClient(
            base_url=self.url, limits=limits, timeout=None, trust_env=False
        ) as client:
            with trio.move_on_after(self.plan.warm_up_s + self.plan.measured_s):
                async with trio.open_nursery() as nursery:
                    for number in range(self.plan.callers):
                        nursery.start_soon(
                            partial(self._call, client, Conversation(number), started_at)
                        )

    async def _call(
        self, client: httpx.AsyncClient, conversation: Conversation, started_at: float
    ) -> None:
        while True:
            began = trio.current_time()
            said = [conversation.name, *[_WORDS] * (conversation.turn + 1)]
            response = await client.post(
                "/v1/chat/completions",
                headers={"x-anvil-session-id": conversation.name},
                json={
                    "model": "t",
                    "messages": [{"role": "user", "content": text} for text in said],
                    "max_tokens": self.plan.tokens,
                    "ignore_eos": True,
                },
            )
            self.answered += 1
            if response.status_code != httpx.codes.OK:
                self.failures += 1
            elif began - started_at >= self.plan.warm_up_s:
                self.latencies.append(trio.current_time() - began)
            conversation.next_turn()
