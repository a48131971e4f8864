"""The agent card of A2A 1.0: where the agent is, how to be let in, and what it does. Pure."""

from collections.abc import Mapping, Sequence
from typing import Literal

from anvil_trio.media.a2a_requests import A2A_VERSION
from anvil_trio.operations.model import Workflow
from anvil_trio.views.shape import Shape

__all__ = ["A2A_PATH", "AgentCard", "show_card"]

A2A_PATH = "/a2a"

_JSON = "application/json"


class AgentInterface(Shape, frozen=True, kw_only=True, rename="camel"):
    """Where and how the agent is spoken to."""

    url: str
    protocol_binding: Literal["JSONRPC"]
    protocol_version: str


class AgentCapabilities(Shape, frozen=True, kw_only=True, rename="camel"):
    """Which optional parts of A2A there are."""

    streaming: bool
    push_notifications: bool
    extended_agent_card: bool


class HttpScheme(Shape, frozen=True, kw_only=True, rename="camel"):
    """A scheme of the `Authorization` header."""

    scheme: str


class BearerScheme(Shape, frozen=True, kw_only=True, rename="camel"):
    """The operator's token as a bearer token."""

    http_auth_security_scheme: HttpScheme


class KeyPlace(Shape, frozen=True, kw_only=True, rename="camel"):
    """Where a key goes."""

    location: Literal["header"]
    name: str


class KeyScheme(Shape, frozen=True, kw_only=True, rename="camel"):
    """The operator's token as a key."""

    api_key_security_scheme: KeyPlace


class AgentSchemes(Shape, frozen=True, kw_only=True, rename="camel"):
    """The two headers of which one is enough."""

    bearer: BearerScheme
    api_key: KeyScheme


class NoScopes(Shape, frozen=True, kw_only=True):
    """A scheme without scopes of its own."""

    list: tuple[str, ...] = ()


class AgentRequirement(Shape, frozen=True, kw_only=True):
    """One way to be let in."""

    schemes: Mapping[str, NoScopes]


class AgentSkill(Shape, frozen=True, kw_only=True, rename="camel"):
    """One workflow."""

    id: str
    name: str
    description: str
    tags: tuple[str, ...]
    input_modes: tuple[str, ...]
    output_modes: tuple[str, ...]


class AgentCard(Shape, frozen=True, kw_only=True, rename="camel"):
    """The whole card."""

    name: str
    description: str
    supported_interfaces: tuple[AgentInterface, ...]
    version: str
    capabilities: AgentCapabilities
    security_schemes: AgentSchemes
    security_requirements: tuple[AgentRequirement, ...]
    default_input_modes: tuple[str, ...]
    default_output_modes: tuple[str, ...]
    skills: tuple[AgentSkill, ...]


def show_card(workflows: Sequence[Workflow], origin: str, version: str) -> AgentCard:
    """The card of a router of this version at this public origin."""
    outputs = dict.fromkeys(one.output_media_type for one in workflows)
    return AgentCard(
        name="Anvil media workflows",
        description="Runs named media workflows, one job per message and idempotency key.",
        supported_interfaces=(
            AgentInterface(
                url=f"{origin}{A2A_PATH}",
                protocol_binding="JSONRPC",
                protocol_version=A2A_VERSION,
            ),
        ),
        version=version,
        capabilities=AgentCapabilities(
            streaming=True, push_notifications=False, extended_agent_card=False
        ),
        security_schemes=AgentSchemes(
            bearer=BearerScheme(http_auth_security_scheme=HttpScheme(scheme="Bearer")),
            api_key=KeyScheme(
                api_key_security_scheme=KeyPlace(location="header", name="x-api-key")
            ),
        ),
        security_requirements=(
            AgentRequirement(schemes={"bearer": NoScopes()}),
            AgentRequirement(schemes={"apiKey": NoScopes()}),
        ),
        default_input_modes=(_JSON,),
        default_output_modes=tuple(outputs),
        skills=tuple(map(_skill, workflows)),
    )


def _skill(one: Workflow) -> AgentSkill:
    """A workflow's version is part of its skill's id: two versions are two skills."""
    return AgentSkill(
        id=f"{one.id}@{one.version}",
        name=one.title,
        description=one.description or one.title,
        tags=("media", one.output_media_type.partition("/")[0]),
        input_modes=(_JSON,),
        output_modes=(one.output_media_type,),
    )
