"""The configured aliases in the shape in which Anthropic's clients read models.

Only what that shape has a word for: replica members and capabilities are on the other page.
"""

from pydantic import JsonValue

from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.names import Alias
from anvil_trio.views.models import as_served
from anvil_trio.views.readiness import VerdictOf

__all__ = ["list_models", "show_model"]

_CREATED_AT = "2023-11-14T22:13:20Z"
"""A fixed moment, the one of the other page: the listing must not change with the clock."""


def list_models(
    config: RouterConfig, verdict_of: VerdictOf, *, only: Alias | None = None
) -> dict[str, JsonValue]:
    """All of them on the one page that there is, in the order of the file; `only` leaves one."""
    aliases = [Alias(alias) for alias in config.routes if only is None or alias == only]
    shown: list[JsonValue] = [
        show_model(alias, config.tier(config.routes[alias]), verdict_of) for alias in aliases
    ]
    return {
        "data": shown,
        "has_more": False,
        "first_id": aliases[0] if aliases else None,
        "last_id": aliases[-1] if aliases else None,
    }


def show_model(alias: Alias, tier: Tier, verdict_of: VerdictOf) -> dict[str, JsonValue]:
    """One alias, with the context that its engine states where the engine owns that."""
    served = as_served(tier, verdict_of)
    return {
        "type": "model",
        "id": alias,
        "display_name": alias,
        "created_at": _CREATED_AT,
        "lifecycle": "active",
        "max_input_tokens": served.context_limit,
        "max_tokens": served.max_output_tokens,
    }
