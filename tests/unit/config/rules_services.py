"""Purpose models and audio routes."""

from tests.unit.config.toml import AUDIO, PURPOSE, Keys, Rule, config, rows

__all__ = ["RULES"]

TOKEN = 'auth_env = "ROUTER_TOKEN"'
TEXT = "must be text and not empty"
SECONDS = "must be a finite number of seconds above 0"
ENV_NAME = "must be the name of an environment variable, [A-Z][A-Z0-9_]*, and never a key itself"
UNIQUE_ID = "must be unique among tiers, purpose_models and audio_routes"
AUDIO_HOST = "must be a URL whose host is 127.0.0.1, host.docker.internal or a private IPv4 address"
TTS: Keys = {
    **AUDIO,
    "id": '"speaker"',
    "purpose": '"tts"',
    "model": '"served-tts"',
    "source_sample_rate": "24000",
}
RATE = "must be a whole number from 8000 to 192000"


def purpose(*models: Keys) -> str:
    """A file with those purpose models."""
    return config(server=[TOKEN], router=[f"purpose_models = {rows(*models)}"])


def audio(*routes: Keys) -> str:
    """A file with those audio routes."""
    return config(server=[TOKEN], router=[f"audio_routes = {rows(*routes)}"])


def model(name: str, key: str, good: str | None, bad: str | None, message: str) -> Rule:
    """A rule of one key of a purpose model."""
    return Rule(
        f"a purpose model {name}",
        purpose({**PURPOSE, key: good}),
        purpose({**PURPOSE, key: bad}),
        f"router.purpose_models[0].{key}: {message}",
    )


def route(
    name: str, key: str, good: str | None, bad: str | None, message: str, base: Keys = AUDIO
) -> Rule:
    """A rule of one key of an audio route."""
    return Rule(
        f"an audio route {name}",
        audio({**base, key: good}),
        audio({**base, key: bad}),
        f"router.audio_routes[0].{key}: {message}",
    )


PURPOSES = [
    Rule(
        "no purpose models ask for nothing",
        config(router=["purpose_models = []"]),
        config(router=["purpose_models = 5"]),
        "router.purpose_models: must be an array of tables",
    ),
    *(
        model(f"needs {key}", key, PURPOSE[key], None, "is required")
        for key in ("id", "kind", "model", "base_url")
    ),
    model("has no unknown key", "dimensions", None, "768", "is not a known key"),
    model("has an id", "id", '"e"', '""', TEXT),
    model(
        "is of a known kind", "kind", '"rerank"', '"vision"', "must be one of: embedding, rerank"
    ),
    model("has a name", "model", '"E"', '""', TEXT),
    model(
        "has an http URL",
        "base_url",
        '"http://localhost:1/v1"',
        '"localhost:1"',
        "must be a URL that begins with http:// or https://",
    ),
    model("names its variable", "auth_env", '"KEY"', '"sk-1234"', ENV_NAME),
    model("has a timeout above 0", "timeout", "1.5", "nan", SECONDS),
    Rule(
        "a purpose model has an id that no tier has",
        purpose(PURPOSE),
        purpose({**PURPOSE, "id": '"primary"'}),
        f"router.purpose_models[0].id: {UNIQUE_ID}",
    ),
    Rule(
        "kind and model of a purpose model are unique together",
        purpose(
            PURPOSE,
            {**PURPOSE, "id": '"2"', "kind": '"rerank"'},
            {**PURPOSE, "id": '"3"', "model": '"EMBED.main"'},
        ),
        purpose(PURPOSE, {**PURPOSE, "id": '"2"'}),
        "router.purpose_models[1].model: must be unique among the models of its kind",
    ),
]

AUDIOS = [
    Rule(
        "no audio routes ask for nothing",
        config(router=["audio_routes = []"]),
        config(router=["audio_routes = {}"]),
        "router.audio_routes: must be an array of tables",
    ),
    Rule(
        "audio routes need the router's auth_env",
        audio(AUDIO),
        config(router=[f"audio_routes = {rows(AUDIO)}"]),
        "router.audio_routes: needs server.auth_env",
    ),
    *(
        route(f"needs {key}", key, AUDIO[key], None, "is required")
        for key in ("id", "purpose", "model", "base_url")
    ),
    route("has no unknown key", "voice", None, '"one"', "is not a known key"),
    route("has an id", "id", '"e"', '""', TEXT),
    route("has a known purpose", "purpose", '"stt"', '"asr"', "must be one of: stt, tts"),
    route("has a model", "model", '"m"', '""', TEXT),
    route("has a timeout above 0", "timeout", "1.5", "-1", SECONDS),
    route("names its variable", "auth_env", '"KEY"', '"sk-1234"', ENV_NAME),
    route("is default or not", "default", "true", "1", "must be true or false"),
    *(
        route(
            f"may be at {good} but not at {bad}",
            "base_url",
            f'"http://{good}:1"',
            f'"http://{bad}:1"',
            AUDIO_HOST,
        )
        for good, bad in (
            ("127.0.0.1", "127.0.0.2"),
            ("host.docker.internal", "docker.internal"),
            ("10.9.9.9", "9.9.9.9"),
            ("172.16.0.1", "172.15.0.1"),
            ("192.168.1.1", "192.167.1.1"),
            ("100.127.0.1", "100.128.0.1"),
            ("127.0.0.1", "localhost"),
            ("127.0.0.1", "[::1]"),
        )
    ),
    *(
        route(f"has no {name}", "base_url", '"http://127.0.0.1/v1"', f'"{bad}"', message)
        for name, bad, message in (
            ("credentials", "http://me@127.0.0.1", "must be a URL without credentials"),
            ("query", "http://127.0.0.1?", "must be a URL without ? and #"),
            ("fragment", "http://127.0.0.1#", "must be a URL without ? and #"),
        )
    ),
    route(
        "for tts needs a sample rate",
        "source_sample_rate",
        "8000",
        None,
        "is required with purpose tts",
        TTS,
    ),
    route(
        "for stt has no sample rate",
        "source_sample_rate",
        None,
        "8000",
        "is not allowed with purpose stt",
    ),
    route("has a sample rate of 8000 at least", "source_sample_rate", "8000", "7999", RATE, TTS),
    route(
        "has a sample rate of 192000 at most", "source_sample_rate", "192000", "192001", RATE, TTS
    ),
    Rule(
        "an audio route has an id that no purpose model has",
        audio(AUDIO, TTS),
        config(
            server=[TOKEN],
            router=[
                f"purpose_models = {rows(PURPOSE)}",
                f"audio_routes = {rows({**AUDIO, 'id': PURPOSE['id']})}",
            ],
        ),
        f"router.audio_routes[0].id: {UNIQUE_ID}",
    ),
    *(
        Rule(
            f"of several routes of one purpose one is the default, not {name}",
            audio({**AUDIO, "default": "true"}, {**AUDIO, "id": '"other"'}, TTS),
            audio({**AUDIO, "default": first}, {**AUDIO, "id": '"other"', "default": second}),
            "router.audio_routes: must have exactly one default for purpose stt",
        )
        for name, first, second in (("none", None, None), ("two", "true", "true"))
    ),
]

RULES = [*PURPOSES, *AUDIOS]
