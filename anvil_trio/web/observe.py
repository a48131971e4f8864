"""The read-only endpoints: ask each actor once, project, answer. None takes a chat place."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pydantic import JsonValue

from anvil_trio import __version__
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.facts import TierSnapshot
from anvil_trio.names import TierId
from anvil_trio.views.anthropic_models import list_models, show_model
from anvil_trio.views.capacity import project_capacity
from anvil_trio.views.models import project_model, project_models, project_services
from anvil_trio.views.query import check_no_query, parse_capacity_query, parse_models_query
from anvil_trio.views.status import project_status

__all__ = ["VIEWS", "Question", "View"]


@dataclass(frozen=True, slots=True)
class Question:
    """What a page is asked: its query, the model that its path names, and for whose client."""

    query: bytes = b""
    model: str = ""
    is_anthropic: bool = False


View = Callable[[House, Generation, Question], Awaitable[dict[str, JsonValue] | Problem]]


async def _snapshots(house: House, generation: Generation) -> dict[TierId, TierSnapshot | None]:
    """Each owner is asked once per payload (T005.1)."""
    tier_ids = [TierId(tier.id) for tier in generation.config.tiers]
    return {tier_id: await house.tiers[tier_id].inspect() for tier_id in tier_ids}


async def _models(
    _house: House, generation: Generation, question: Question
) -> dict[str, JsonValue] | Problem:
    wanted = parse_models_query(question.query, generation.config)
    if isinstance(wanted, Problem):
        return wanted
    if question.is_anthropic:
        return list_models(generation.config, generation.verdict_of, only=wanted.only)
    listing = project_models(generation.config, generation.verdict_of, only=wanted.only)
    if wanted.only is None:
        shown = listing["data"]
        assert isinstance(shown, list)
        shown += project_services(generation.services.facts, generation.config.routes)
    return listing


async def _model(
    _house: House, generation: Generation, question: Question
) -> dict[str, JsonValue] | Problem:
    refusal = check_no_query(question.query)
    if refusal is not None:
        return refusal
    found = generation.config.resolve(question.model)
    if found is None:
        return _service_named(generation, question)
    alias, tier = found
    if question.is_anthropic:
        return show_model(alias, tier, generation.verdict_of)
    return project_model(generation.config, generation.verdict_of, alias)


def _service_named(generation: Generation, question: Question) -> dict[str, JsonValue] | Problem:
    """The entry of a service beside chat, which clients of Anthropic's kind cannot use."""
    facts = [each for each in generation.services.facts if each.name == question.model]
    for entry in project_services(facts):
        if isinstance(entry, dict) and not question.is_anthropic:
            return entry
    return problem(Code.MODEL_NOT_FOUND, param="model")


async def _capacity(
    house: House, generation: Generation, question: Question
) -> dict[str, JsonValue] | Problem:
    wanted = parse_capacity_query(question.query, generation.config)
    if isinstance(wanted, Problem):
        return wanted
    snapshots = await _snapshots(house, generation)
    return project_capacity(
        generation.config,
        generation.verdict_of,
        snapshots,
        generation.signal_of,
        only=wanted.only,
    )


async def _status(
    house: House, generation: Generation, question: Question
) -> dict[str, JsonValue] | Problem:
    refusal = check_no_query(question.query)
    if refusal is not None:
        return refusal
    return project_status(
        generation.config,
        await _snapshots(house, generation),
        package_version=__version__,
        started_unix=house.started_at,
        now_unix=house.wall_clock(),
    )


VIEWS: Mapping[str, View] = MappingProxyType({
    "models": _models,
    "model": _model,
    "capacity": _capacity,
    "status": _status,
})
