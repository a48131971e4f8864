"""Who may call, and how much; what the operation service may do."""

from tests.unit.config.toml import Rule, config, in_order

__all__ = ["RULES"]

AUTH = 'auth_env = "ROUTER_TOKEN"'
MEDIA = (
    AUTH,
    'media_principal = "studio"',
    'media_scopes = ["media:read", "operator:media"]',
    'media_public_origin = "https://media.example"',
)
MEDIA_COUNTS = {
    "media_retention_s": (60, 31_536_000),
    "media_max_artifact_bytes": (1024, 1_073_741_824),
    "media_max_stored_bytes": (1024, 1_099_511_627_776),
    "media_max_active": (1, 1024),
}
MEDIA_EXTRAS = {
    "media_backend": '"demo"',
    **{key: str(most) for key, (_, most) in MEDIA_COUNTS.items()},
}


def server(*lines: str) -> str:
    """A file with those lines in `[server]`."""
    return config(server=lines)


def limits(name: str, good: str, bad: str, message: str) -> Rule:
    """A rule of `client_limits`."""
    good, bad = (server(AUTH, f"client_limits = {text}") for text in (good, bad))
    return Rule(f"client_limits {name}", good, bad, f"server.client_limits: {message}")


def media(name: str, change: str, message: str) -> Rule:
    """A rule of the media keys, broken by one changed line."""
    key = change.partition(" ")[0]
    lines = [change if line.startswith(key) else line for line in MEDIA]
    return Rule(name, server(*MEDIA), server(*lines), message)


RULES = [
    limits(
        "is a table of names and counts",
        "{ desktop = 2, _legacy = 1 }",
        "2",
        "must be a table of client names and whole numbers",
    ),
    limits(
        "has at most 33 entries",
        f"{{ {', '.join(f'c{n} = 1' for n in range(33))} }}",
        f"{{ {', '.join(f'c{n} = 1' for n in range(34))} }}",
        "must have at most 33 entries",
    ),
    limits(
        "has keys that are _legacy or identifiers",
        "{ _legacy = 1, Desk_top-1 = 2 }",
        "{ _other = 1 }",
        "must have keys that are _legacy or match [A-Za-z][A-Za-z0-9_-]{0,63}",
    ),
    limits(
        "has values from 1 to 1024",
        "{ one = 1, most = 1024 }",
        "{ desktop = 1025 }",
        "must have values that are whole numbers from 1 to 1024",
    ),
    limits(
        "takes no boolean for a count",
        "{ desktop = 1 }",
        "{ desktop = true }",
        "must be a table of client names and whole numbers",
    ),
    Rule(
        "client_limits need auth_env",
        server(AUTH, "client_limits = { desktop = 2 }"),
        server("client_limits = { desktop = 2 }"),
        "server.client_limits: needs auth_env",
    ),
    Rule(
        "no client_limits ask for nothing",
        server("client_limits = {}"),
        server("client_limits = []"),
        "server.client_limits: must be a table of client names and whole numbers",
    ),
    *(
        Rule(
            f"{left_out} goes with the other media keys",
            server(*MEDIA),
            server(*(line for line in MEDIA if not line.startswith(left_out))),
            f"server.{left_out}: is required with the other media_ keys",
        )
        for left_out in ("media_principal", "media_scopes", "media_public_origin")
    ),
    Rule(
        "the media keys need auth_env",
        server(*MEDIA),
        server(*MEDIA[1:]),
        in_order(
            "server.media_principal: needs auth_env",
            "server.media_public_origin: needs auth_env",
            "server.media_scopes: needs auth_env",
        ),
    ),
    *(
        Rule(
            f"{key} needs the media keys",
            server(*MEDIA, f"{key} = {value}"),
            server(f"{key} = {value}"),
            f"server.{key}: needs media_principal and what goes with it",
        )
        for key, value in MEDIA_EXTRAS.items()
    ),
    Rule(
        "media_backend is one of two words",
        server(*MEDIA, 'media_backend = "comfyui"'),
        server(*MEDIA, 'media_backend = "other"'),
        "server.media_backend: must be one of: comfyui, demo",
    ),
    *(
        Rule(
            f"{key} is at most {most}",
            server(*MEDIA, f"{key} = {min(most, 2**32)}"),
            server(*MEDIA, f"{key} = {most + 1}"),
            f"server.{key}: must be a whole number from {least} to {most}",
        )
        for key, (least, most) in MEDIA_COUNTS.items()
    ),
    Rule(
        "one artifact is no more than all that is kept",
        server(*MEDIA, "media_max_artifact_bytes = 2048", "media_max_stored_bytes = 2048"),
        server(*MEDIA, "media_max_artifact_bytes = 2049", "media_max_stored_bytes = 2048"),
        "server.media_max_artifact_bytes: must not be above media_max_stored_bytes",
    ),
    media(
        "media_principal has 1 to 128 characters",
        f'media_principal = "{"p" * 129}"',
        "server.media_principal: must be text of 1 to 128 characters, none a control character",
    ),
    *(
        media(
            f"media_scopes are {name}",
            f"media_scopes = {scopes}",
            "server.media_scopes: must be an array of different scopes, at least one, out of:"
            " media:read, media:submit, media:cancel, media:cross-principal, operator:media",
        )
        for name, scopes in (
            ("unique", '["media:read", "media:read"]'),
            ("at least one", "[]"),
            ("of the known ones", '["media:erase"]'),
        )
    ),
    *(
        media(
            f"media_public_origin has no {name}",
            f'media_public_origin = "{origin}"',
            f"server.media_public_origin: {message}",
        )
        for name, origin, message in (
            ("credentials", "https://me@media.example", "must be a URL without credentials"),
            (
                "path",
                "https://media.example/inside",
                "must be an http or https origin: scheme, host and port, and nothing after them",
            ),
            ("query", "https://media.example?", "must be a URL without ? and #"),
            (
                "other scheme",
                "ws://media.example",
                "must be a URL that begins with http:// or https://",
            ),
        )
    ),
    Rule(
        "the media gateway may do without tiers and routes",
        "[server]\n" + "\n".join(MEDIA) + "\n[router]\n",
        "[router]\n",
        "router.model_routes: is required\nrouter.tiers: is required",
    ),
]
