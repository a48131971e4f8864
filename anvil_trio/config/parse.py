"""The whole way from bytes to a frozen configuration, without opening a file."""

from anvil_trio.config.document import parse_document
from anvil_trio.config.model import RouterConfig
from anvil_trio.config.problems import ConfigError, ConfigProblem, ProblemCode
from anvil_trio.config.router import (
    find_router_problems,
    make_aliases,
    make_router,
    make_services,
    make_tiers,
    read_router,
)
from anvil_trio.config.server import find_server_problems, has_media, make_server, read_server

__all__ = ["ConfigError", "ConfigProblem", "ProblemCode", "parse_config"]


def parse_config(data: bytes) -> RouterConfig:
    """The configuration that `data` holds, with these bytes and their sha256 (R004).

    Raises ConfigError with every problem of the file at once; whatever `data` is, it raises
    nothing else. Top-level tables other than `[server]` and `[router]` are somebody else's.
    """
    document = parse_document(data)
    server = read_server(document.tree.get("server", {}))
    problems = list(find_server_problems(server))
    if "router" not in document.tree:
        problems.append(ConfigProblem("router", ProblemCode.REQUIRED, "is required"))
        raise ConfigError(problems)
    router = read_router(document.tree["router"])
    problems += find_router_problems(router, server, may_be_empty=has_media(server))
    if problems:
        raise ConfigError(problems)
    purpose_models, audio_routes = make_services(router)
    return RouterConfig(
        server=make_server(server),
        router=make_router(router),
        tiers=make_tiers(router),
        routes=make_aliases(router),
        purpose_models=purpose_models,
        audio_routes=audio_routes,
        source=document.source,
        sha256=document.sha256,
    )
