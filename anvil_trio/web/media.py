"""`/mcp`, `/a2a`, the agent card and `/artifacts/`: from authenticated requests to exchanges."""

from collections.abc import Awaitable, Callable
from functools import partial

from anvil_trio import __version__
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.exchange.call import Call
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.media.a2a_desk import A2aHeaders
from anvil_trio.media.a2a_exchange import run_a2a
from anvil_trio.media.agent_card import show_card
from anvil_trio.media.download import Wanted, run_download
from anvil_trio.media.gateway import Gateway
from anvil_trio.media.mcp_exchange import run_mcp
from anvil_trio.media.mcp_manner import McpHeaders
from anvil_trio.web import router
from anvil_trio.web.asgi_types import Headers
from anvil_trio.web.asked import Asked
from anvil_trio.web.auth import Principal
from anvil_trio.web.chat import call_of
from anvil_trio.web.respond import AsgiCaller, send_json
from anvil_trio.web.watcher import run_watched

__all__ = ["answer_media"]


async def answer_media(
    house: House,
    generation: Generation,
    who: Principal,
    route: router.Route,
    asked: Asked,
) -> None:
    """Answer on one of the media paths, which are there only where there is a media service."""
    gateway = _gateway(house, generation)
    if route.name == "agent_card":
        workflows = gateway.operations.workflows()
        return await send_json(asked.send, show_card(workflows, gateway.origin, gateway.version))
    caller = AsgiCaller(asked)
    call = call_of(who, CHAT, asked.first)
    work = partial(_runs(route.name, asked), house, generation, call, caller, gateway)
    if asked.server is None:
        return await run_watched(work, caller.wait_for_leaving, caller.has_left)
    return await work()


_Run = Callable[[House, Generation, Call, AsgiCaller, Gateway], Awaitable[None]]


def _runs(name: str, asked: Asked) -> _Run:
    """What a route does with a request, by what its head says."""
    headers = asked.headers
    match name:
        case "mcp":
            return partial(run_mcp, said=_mcp_headers(headers))
        case "a2a":
            said = A2aHeaders(_values(headers, b"a2a-version"), _values(headers, b"accept"))
            return partial(run_a2a, said=said)
    ranges = _values(headers, b"range")
    is_head = asked.method == "HEAD"
    # A range is about a GET, and one with a condition about a version that nobody can name.
    is_whole = is_head or not ranges or bool(_values(headers, b"if-range"))
    wanted = Wanted(
        router.named_in(asked.path),
        None if is_whole else ",".join(ranges),
        is_head=is_head,
    )
    return partial(run_download, wanted=wanted)


def _gateway(house: House, generation: Generation) -> Gateway:
    settings = generation.config.server
    assert house.operations is not None, "its paths are hidden otherwise"
    assert settings.media_principal is not None, "the operation service has its principal"
    assert settings.media_scopes is not None, "its scopes"
    assert settings.media_public_origin is not None, "and its origin"
    return Gateway(
        operations=house.operations,
        principal=settings.media_principal,
        scopes=frozenset(settings.media_scopes),
        origin=settings.media_public_origin.rstrip("/"),
        version=__version__,
    )


def _mcp_headers(headers: Headers) -> McpHeaders:
    return McpHeaders(
        versions=_values(headers, b"mcp-protocol-version"),
        methods=_values(headers, b"mcp-method"),
        names=_values(headers, b"mcp-name"),
        has_session=bool(_values(headers, b"mcp-session-id")),
    )


def _values(headers: Headers, name: bytes) -> list[str]:
    """Every value of one header; bytes that are no text stand for themselves."""
    return [value.decode("latin-1").strip() for key, value in headers if key == name]
