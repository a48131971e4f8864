"""The file as a whole, `[router]` and its aliases."""

from tests.unit.config.toml import DIRECT, Rule, config, direct, inline

__all__ = ["RULES"]

SECONDS = "must be a finite number of seconds above 0"
ALIAS_PATH = 'router.model_routes."llm.primary"'
SECOND = direct(id='"second"')
RANGES = {
    "exhaustion_status": (400, 599),
    "availability_probe_max_bytes": (256, 1_048_576),
    "availability_failures": (1, 10),
}
AUDIO_RANGES = {
    "audio_max_input_bytes": (1024, 33_554_432, 4_194_304),
    "audio_max_output_bytes": (1024, 33_554_432, 4_194_304),
    "audio_max_text_chars": (1024, 33_554_432, 16_384),
    "audio_max_concurrency": (1, 16, 4),
}


def router(*lines: str) -> str:
    """A file with those lines in `[router]`."""
    return config(router=lines)


def routes(text: str, *tiers: str) -> str:
    """A file with that table of aliases."""
    return config(*tiers, routes=text)


def whole(low: int, high: int) -> str:
    """What is said of a number outside its range."""
    return f"must be a whole number from {low} to {high}"


FILE = [
    Rule(
        "the file is UTF-8 TOML",
        config(),
        "[router]\ntiers = [1, 2",
        "the file is not valid TOML at end of document",
    ),
    Rule(
        "a syntax fault is told by its place alone",
        config(),
        "[router]\nsecret-word = secret-word",
        "the file is not valid TOML at line 2, column 15",
    ),
    Rule(
        "the table router is required",
        config(),
        "[server]\n",
        "router: is required",
    ),
    Rule(
        "the table server is optional",
        config().replace("[server]\n", ""),
        config().replace("[server]\n", "[[server]]\n"),
        "server: must be a table",
    ),
    Rule(
        "other top-level tables are ignored",
        config(more='[voice]\nanything = "goes"\n'),
        config(router=['anything = "goes"']),
        "router.anything: is not a known key",
    ),
    Rule(
        "an unknown key is named only if it is a plain word",
        config(),
        config(router=['"not a plain word" = 1']),
        "router.(quoted key): is not a known key",
    ),
    Rule(
        "router is a table",
        config(),
        "router = []",
        "router: must be a table",
    ),
    Rule(
        "router has no memory_routes of the old system",
        config(),
        config(router=["memory_routes = []"]),
        "router.memory_routes: is not a known key",
    ),
]

SCALARS = [
    *(
        Rule(
            f"{key} is at least {low}",
            router(f"{key} = {low}"),
            router(f"{key} = {low - 1}"),
            f"router.{key}: {whole(low, high)}",
        )
        for key, (low, high) in RANGES.items()
    ),
    *(
        Rule(
            f"{key} is at most {high}",
            router(f"{key} = {high}"),
            router(f"{key} = {high + 1}"),
            f"router.{key}: {whole(low, high)}",
        )
        for key, (low, high) in RANGES.items()
    ),
    *(
        Rule(
            f"{key} is {name}",
            router(f"{key} = 100000"),
            router(f"{key} = {bad}"),
            f"router.{key}: {SECONDS}",
        )
        for key in ("relay_timeout", "availability_probe_interval", "availability_probe_timeout")
        for name, bad in (("above 0", "0"), ("no nan", "nan"), ("finite", "inf"))
    ),
    *(
        Rule(
            f"{key} is at least {low}",
            router(f"{key} = {default}"),
            router(f"{key} = {low - 1}"),
            f"router.{key}: {whole(low, high)}",
        )
        for key, (low, high, default) in AUDIO_RANGES.items()
    ),
    *(
        Rule(
            f"{key} is at most {high}",
            router(f"{key} = {high}"),
            router(f"{key} = {high + 1}"),
            f"router.{key}: {whole(low, high)}",
        )
        for key, (low, high, _) in AUDIO_RANGES.items()
    ),
]

TIERS = [
    Rule(
        "tiers are required",
        config(),
        "[router]\nmodel_routes = { a = 1 }",
        'router.model_routes."a": must be the id of a tier\nrouter.tiers: is required',
    ),
    Rule(
        "tiers are an array of tables",
        config(),
        "[router]\ntiers = 5\nmodel_routes = {}",
        "router.model_routes: must be a table of at least one alias\n"
        "router.tiers: must be an array of at least one table",
    ),
    Rule(
        "there is at least one tier",
        config(),
        "[router]\ntiers = []\nmodel_routes = []",
        "router.model_routes: must be a table of at least one alias\n"
        "router.tiers: must be an array of at least one table",
    ),
    Rule(
        "each tier is a table",
        config(),
        config(direct(), "7"),
        "router.tiers[1]: must be a table",
    ),
    Rule(
        "tier ids are unique",
        routes('{ a = "primary", b = "second" }', direct(), SECOND),
        routes('{ a = "primary" }', direct(), direct()),
        "router.tiers[1].id: must be unique among tiers, purpose_models and audio_routes",
    ),
]

ROUTES = [
    Rule(
        "model_routes are required",
        config(),
        f"[router]\ntiers = [{direct()}]",
        "router.model_routes: is required",
    ),
    Rule(
        "there is at least one alias",
        routes('{ a = "primary" }'),
        routes("{}"),
        "router.model_routes: must be a table of at least one alias",
    ),
    Rule(
        "an alias stands for the id of a tier",
        routes('{ a = "primary" }'),
        routes('{ a = "primary", "llm.primary" = 5 }'),
        f"{ALIAS_PATH}: must be the id of a tier",
    ),
    Rule(
        "the tier of an alias exists",
        routes('{ a = "primary" }'),
        routes('{ a = "primary", "llm.primary" = "elsewhere" }'),
        f"{ALIAS_PATH}: must be the id of a tier",
    ),
    Rule(
        "a dotted alias is a quoted one",
        routes('{ llm.primary = "primary", llm.fast.one = "primary" }'),
        routes('{ llm.primary = "primary", "llm.primary" = "primary" }'),
        f"{ALIAS_PATH}: must be unique, once trimmed and in lower case",
    ),
    Rule(
        "aliases are unique once normalised",
        routes('{ "LLM.Primary" = "primary", b = "primary" }'),
        routes('{ "llm.primary" = "primary", " LLM.Primary " = "primary" }'),
        "router.model_routes.(quoted key): must be unique, once trimmed and in lower case",
    ),
    Rule(
        "an alias is not blank",
        routes('{ "-" = "primary" }'),
        routes('{ a = "primary", "  " = "primary" }'),
        "router.model_routes.(quoted key): must be an alias that is not blank",
    ),
    Rule(
        "a table of aliases is not empty",
        routes('{ llm = { primary = "primary" } }'),
        routes('{ a = "primary", llm = {} }'),
        'router.model_routes."llm": must be the id of a tier',
    ),
    Rule(
        "aliases nest at most 64 deep",
        routes(f'{{ {".".join("a" * 64)} = "primary" }}'),
        routes(f'{{ b = "primary", {".".join("a" * 65)} = "primary" }}'),
        f'router.model_routes."{".".join("a" * 64)}": must be the id of a tier',
    ),
    Rule(
        "every tier is named by a route",
        routes('{ a = "primary", b = "second" }', direct(), SECOND),
        routes('{ a = "primary" }', direct(), SECOND),
        "router.tiers[1].id: must be the target of at least one alias",
    ),
    Rule(
        "several aliases may share a tier",
        routes('{ a = "primary", b = "primary" }'),
        routes('{ a = ["primary", "primary"], b = "primary" }'),
        'router.model_routes."a": must be the id of a tier',
    ),
    Rule(
        "a tier with a wrong id is nobody's missing target",
        config(),
        config(inline({**DIRECT, "id": "5"})),
        "router.tiers[0].id: must be text and not empty",
    ),
]

RULES = [*FILE, *SCALARS, *TIERS, *ROUTES]
