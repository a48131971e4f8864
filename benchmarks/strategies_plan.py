"""What the strategies are compared on: two engines, one of them half as fast, and many callers."""

from dataclasses import dataclass, replace

__all__ = ["STRATEGIES", "Plan", "Row", "Strategy"]


@dataclass(frozen=True)
class Strategy:
    """One way in which a tier may choose a member."""

    name: str
    has_ceilings: bool = True
    is_capacity: bool = False
    has_affinity: bool = False


PLAIN = Strategy("round robin, no ceilings", has_ceilings=False)
CEILINGS = Strategy("round robin, ceilings")
CAPACITY = Strategy("capacity", is_capacity=True)
STRATEGIES = (
    PLAIN,
    CEILINGS,
    Strategy("round robin, ceilings, affinity", has_affinity=True),
    CAPACITY,
    Strategy("capacity, affinity", is_capacity=True, has_affinity=True),
)


@dataclass(frozen=True)
class Plan:
    """How big the engines and the load are; the second engine has half of every speed.

    Requests are counted that end between `warm_up_s` and `warm_up_s + measured_s`.
    """

    callers: int = 32
    slots: int = 8
    tokens: int = 64
    tokens_per_second: float = 40.0
    prefill_tokens_per_second: float = 2_000.0
    remembered: int = 64
    warm_up_s: float = 60.0
    measured_s: float = 600.0

    def speeds(self) -> list[tuple[float, float]]:
        """Tokens per second written and read by each engine's slots."""
        fast = self.tokens_per_second, self.prefill_tokens_per_second
        return [fast, (fast[0] / 2, fast[1] / 2)]

    def faster(self, times: float, *, warm_up_s: float, measured_s: float) -> "Plan":
        """The same in less time, for a run on a real clock."""
        return replace(
            self,
            tokens_per_second=self.tokens_per_second * times,
            prefill_tokens_per_second=self.prefill_tokens_per_second * times,
            warm_up_s=warm_up_s,
            measured_s=measured_s,
        )


@dataclass(frozen=True)
class Row:
    """What one strategy came to. `reused` is the share of prompt tokens that were in a cache.

    `router_cpu_us` is the router's CPU per request; None where there is no router's process.
    """

    strategy: str
    requests_per_second: float
    p50_s: float
    p95_s: float
    reused: float
    served: tuple[int, ...]
    failures: int = 0
    router_cpu_us: float | None = None
