"""What each route answers with: the shapes that pages, `/openapi.json` and the docs are made of."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from anvil_trio.media.agent_card import AgentCard
from anvil_trio.views.activation import Activation
from anvil_trio.views.anthropic_models import AnthropicModel, AnthropicModelPage
from anvil_trio.views.capabilities import CapabilitiesPage
from anvil_trio.views.capacity import CapacityPage
from anvil_trio.views.decisions import DecisionsPage
from anvil_trio.views.fingerprints import FingerprintsPage
from anvil_trio.views.health import HealthPage
from anvil_trio.views.models import Model, ModelPage
from anvil_trio.views.requests import ActivePage, HistoryPage, RequestPage
from anvil_trio.views.shape import Count, Shape
from anvil_trio.views.stats import StatsPage
from anvil_trio.views.status import StatusPage
from anvil_trio.views.transition import (
    Drained,
    DryRun,
    Quiesced,
    Readmitted,
    TransitionStatus,
)
from anvil_trio.views.workloads import WorkloadsPage

__all__ = ["ERRORS", "REPLIES", "ChatError", "MessagesError"]


class Root(Shape, frozen=True, kw_only=True):
    """That something is here."""

    name: Literal["anvil-serving"]


class Liveness(Shape, frozen=True, kw_only=True):
    """Whether the router takes work; `draining` comes with a 503."""

    status: Literal["ok", "draining"]


class TokenCount(Shape, frozen=True, kw_only=True):
    """How many tokens a Messages request has."""

    input_tokens: Count


class InputTokens(Shape, frozen=True, kw_only=True):
    """How many tokens a Responses request has."""

    object: Literal["response.input_tokens"]
    input_tokens: Count


class ChatProblem(Shape, frozen=True, kw_only=True):
    """What went wrong, in fixed words."""

    message: str
    type: str
    param: str | None
    code: str


class ChatError(Shape, frozen=True, kw_only=True):
    """An error for callers of OpenAI's kind."""

    error: ChatProblem


class MessagesProblem(Shape, frozen=True, kw_only=True):
    """What went wrong, in fixed words."""

    type: str
    message: str


class MessagesError(Shape, frozen=True, kw_only=True):
    """An error for callers of Anthropic's kind."""

    type: Literal["error"]
    error: MessagesProblem


REPLIES: Mapping[str, tuple[type[Shape], ...]] = MappingProxyType({
    "root": (Root,),
    "health": (Liveness,),
    "count_tokens": (TokenCount,),
    "input_tokens": (InputTokens,),
    "models": (ModelPage, AnthropicModelPage),
    "model": (Model, AnthropicModel),
    "capacity": (CapacityPage,),
    "capabilities": (CapabilitiesPage,),
    "fingerprints": (FingerprintsPage,),
    "status": (StatusPage,),
    "stats": (StatsPage,),
    "request": (RequestPage,),
    "requests": (HistoryPage, ActivePage),
    "decisions": (DecisionsPage,),
    "health_tiers": (HealthPage,),
    "workloads": (WorkloadsPage,),
    "agent_card": (AgentCard,),
    "activation": (Activation,),
    "transition": (TransitionStatus, Quiesced, Drained, Readmitted, DryRun),
})
"""By the name of the route. Whoever is not here answers with what its vendor's API describes."""

ERRORS: Mapping[str, type[Shape]] = MappingProxyType({
    "chat": ChatError,
    "responses": ChatError,
    "messages": MessagesError,
})
"""The shape of an error in each dialect; a page's is the caller's."""
