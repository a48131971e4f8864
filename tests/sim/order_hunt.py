"""Looks for bugs in the carrying out of orders, in the world of one seed."""

from functools import partial

from tests.sim import order_sweep
from tests.support.sim import sweep

__all__ = ["hunt"]


def hunt(seed: int) -> None:
    """One sweep over each kind of order."""
    for action in order_sweep.KINDS:
        sweep(seed, partial(order_sweep.scenario, action=action), "order_sweep")
