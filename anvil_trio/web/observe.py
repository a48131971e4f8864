"""The pages about the tiers: ask each actor once, project, answer. None takes a chat place."""

from collections.abc import Mapping
from types import MappingProxyType

import trio

from anvil_trio import __version__
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.facts import TierSnapshot
from anvil_trio.names import TierId
from anvil_trio.views.anthropic_models import list_models, show_model
from anvil_trio.views.capabilities import project_capabilities
from anvil_trio.views.capacity import CapacityQuery, project_capacity
from anvil_trio.views.fingerprints import project_fingerprints
from anvil_trio.views.health import project_health
from anvil_trio.views.models import ModelPage, project_model, project_models, project_services
from anvil_trio.views.query import Values
from anvil_trio.views.scenario import Sizes
from anvil_trio.views.status import project_status
from anvil_trio.web.openapi import describe
from anvil_trio.web.question import Page, Question, View, asked
from anvil_trio.web.records import RECORD_VIEWS

__all__ = ["VIEWS"]


async def _snapshots(house: House, generation: Generation) -> dict[TierId, TierSnapshot | None]:
    """Each owner is asked once per payload (T005.1)."""
    tier_ids = [TierId(tier.id) for tier in generation.config.tiers]
    return {tier_id: await house.tiers[tier_id].inspect() for tier_id in tier_ids}


async def _models(
    _house: House, generation: Generation, question: Question, values: Values
) -> Page:
    if question.is_anthropic:
        return list_models(generation.config, generation.verdict_of, only=values.only)
    page = project_models(generation.config, generation.verdict_of, only=values.only)
    if values.only is not None:
        return page
    services = project_services(generation.services.facts, generation.config.routes)
    return ModelPage(data=[*page.data, *services])


async def _model(
    _house: House, generation: Generation, question: Question, _values: Values
) -> Page | Problem:
    found = generation.config.resolve(question.named)
    if found is None:
        return _service_named(generation, question)
    alias, tier = found
    if question.is_anthropic:
        return show_model(alias, tier, generation.verdict_of)
    return project_model(generation.config, generation.verdict_of, alias)


def _service_named(generation: Generation, question: Question) -> Page | Problem:
    """The entry of a service beside chat, which clients of Anthropic's kind cannot use."""
    facts = [each for each in generation.services.facts if each.name == question.named]
    entries = [] if question.is_anthropic else project_services(facts)
    return entries[0] if entries else problem(Code.MODEL_NOT_FOUND, param="model")


async def _capacity(
    house: House, generation: Generation, _question: Question, values: Values
) -> Page:
    sizes = Sizes(
        images=values.number("images"),
        videos=values.number("videos"),
        input_tokens=values.number("input_tokens"),
        image_tokens=values.number("image_tokens"),
        video_tokens=values.number("video_tokens"),
        output_tokens=values.number("output_tokens"),
    )
    return project_capacity(
        generation.config,
        generation.verdict_of,
        await _snapshots(house, generation),
        generation.signal_of,
        CapacityQuery(values.only, values.text("gpu_role"), sizes),
    )


async def _capabilities(
    _house: House, generation: Generation, _question: Question, values: Values
) -> Page:
    return project_capabilities(
        generation.config,
        generation.verdict_of,
        only=values.only,
        services=generation.services.facts,
    )


async def _fingerprints(
    _house: House, generation: Generation, _question: Question, values: Values
) -> Page:
    return project_fingerprints(generation.config, generation.verdict_of, only=values.only)


async def _status(
    house: House, generation: Generation, _question: Question, _values: Values
) -> Page:
    return project_status(
        generation.config,
        await _snapshots(house, generation),
        package_version=__version__,
        started_unix=house.started_at,
        now_unix=house.wall_clock(),
    )


async def _health_tiers(
    house: House, generation: Generation, _question: Question, _values: Values
) -> Page:
    return project_health(
        generation.config,
        generation.verdict_of,
        now=trio.current_time(),
        now_unix=house.wall_clock(),
        services=generation.services.facts,
    )


async def _openapi(
    _house: House, _generation: Generation, question: Question, _values: Values
) -> Page:
    return describe(question.hidden)


VIEWS: Mapping[str, View] = MappingProxyType({
    "models": asked("models", _models),
    "model": asked("model", _model),
    "capacity": asked("capacity", _capacity),
    "capabilities": asked("capabilities", _capabilities),
    "fingerprints": asked("fingerprints", _fingerprints),
    "status": asked("status", _status),
    "health_tiers": asked("health_tiers", _health_tiers),
    "openapi": asked("openapi", _openapi),
    **RECORD_VIEWS,
})
"""By the name of the route."""
