"""The configured aliases in the shape in which Anthropic's clients read models.

Only what that shape has a word for: replica members and capabilities are on the other page.
"""

from typing import Literal

from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.names import Alias
from anvil_trio.views.models import as_served
from anvil_trio.views.readiness import VerdictOf
from anvil_trio.views.shape import Count, Shape

__all__ = ["AnthropicModel", "AnthropicModelPage", "list_models", "show_model"]

_CREATED_AT = "2023-11-14T22:13:20Z"
"""A fixed moment, the one of the other page: the listing must not change with the clock."""


class AnthropicModel(Shape, frozen=True, kw_only=True):
    """One configured alias, as Anthropic's clients read models."""

    type: Literal["model"] = "model"
    id: str
    display_name: str
    created_at: str = _CREATED_AT
    lifecycle: Literal["active"] = "active"
    max_input_tokens: Count | None
    max_tokens: Count | None


class AnthropicModelPage(Shape, frozen=True, kw_only=True):
    """All aliases on the one page that there is."""

    data: list[AnthropicModel]
    has_more: Literal[False] = False
    first_id: str | None
    last_id: str | None


def list_models(
    config: RouterConfig, verdict_of: VerdictOf, *, only: Alias | None = None
) -> AnthropicModelPage:
    """All of them on the one page that there is, in the order of the file; `only` leaves one."""
    aliases = [Alias(alias) for alias in config.routes if only is None or alias == only]
    return AnthropicModelPage(
        data=[show_model(one, config.tier(config.routes[one]), verdict_of) for one in aliases],
        first_id=aliases[0] if aliases else None,
        last_id=aliases[-1] if aliases else None,
    )


def show_model(alias: Alias, tier: Tier, verdict_of: VerdictOf) -> AnthropicModel:
    """One alias, with the context that its engine states where the engine owns that."""
    served = as_served(tier, verdict_of)
    return AnthropicModel(
        id=alias,
        display_name=alias,
        max_input_tokens=served.context_limit,
        max_tokens=served.max_output_tokens,
    )
