"""What is true of every tier."""

from tests.unit.config.toml import DIRECT, Rule, config, direct, inline

__all__ = ["RULES"]

TIER = "router.tiers[0]"
ENV_NAME = "must be the name of an environment variable, [A-Z][A-Z0-9_]*, and never a key itself"
PATH = (
    "must be a path that begins with one /, without ?, #, blanks and control characters, of at"
    " most 2048 characters"
)
JSON = (
    "must be a table of text, true, false, finite numbers, integers of 64 bits, arrays and"
    " tables, at most 64 deep"
)
POSITIVE = "must be a whole number from 1 to 9007199254740991"
CEILING = "must be a whole number of at least 1, or auto where there are no replicas"
SECONDS = "must be a finite number of seconds above 0"
FLAG = "must be true or false"
TEXT = "must be text and not empty"
UPSTREAM = {
    "metadata_source": '"upstream"',
    "context_limit": None,
    "health_path": '"/health"',
}
NOT_WITH_UPSTREAM = "is not allowed with metadata_source upstream"
COMPAT = {
    "system_position": ("keep", "merge_first", "as_user"),
    "developer_role": ("system", "developer"),
    "empty_content": ("empty", "null"),
    "max_tokens_field": ("max_tokens", "max_completion_tokens", "both"),
    "reasoning_history": ("drop", "reasoning_content", "reasoning"),
    "prefill": ("continue", "refuse"),
}


def tier(**changes: str | None) -> str:
    """A file whose one direct tier is changed."""
    return config(direct(**changes))


def changed(name: str, key: str, good: str, bad: str, message: str) -> Rule:
    """A rule of one key by itself."""
    return Rule(name, tier(**{key: good}), tier(**{key: bad}), f"{TIER}.{key}: {message}")


def upstream(**changes: str | None) -> str:
    """A file whose one tier leaves its metadata to its engine."""
    return tier(**{**UPSTREAM, **changes})


def deep(levels: int) -> str:
    """A table with arrays inside, so many levels in all."""
    return f"{{ a = {'[' * (levels - 1)}{']' * (levels - 1)} }}"


KEYS = [
    Rule(
        "a tier has no unknown key",
        tier(),
        tier(media_policy="{}"),
        f"{TIER}.media_policy: is not a known key",
    ),
    *(
        Rule(f"a tier needs {key}", tier(), tier(**{key: None}), f"{TIER}.{key}: is required")
        for key in ("id", "dialect", "privacy", "tool_support", "auth_env")
    ),
    Rule(
        "a tier needs base_url or replicas",
        tier(),
        tier(base_url=None),
        f"{TIER}: must have either base_url or replicas, and not both",
    ),
    Rule(
        "an id is not empty",
        config(direct(id='" any: \u00fc/\\n"'), routes='{ a = " any: \u00fc/\\n" }'),
        config(direct(id='""')),
        f"{TIER}.id: {TEXT}",
    ),
    changed(
        "dialect is one of two",
        "dialect",
        '"openai"',
        '"gemini"',
        "must be one of: openai, anthropic",
    ),
    changed(
        "dialect may be anthropic",
        "dialect",
        '"anthropic"',
        '"Anthropic"',
        "must be one of: openai, anthropic",
    ),
    changed("privacy is local", "privacy", '"local"', '"cloud"', "must be one of: local"),
    changed("tool_support is a boolean", "tool_support", "false", "1", FLAG),
    changed(
        "auth_env names a variable",
        "auth_env",
        '"KEY"',
        '"sk-secret-value"',
        ENV_NAME,
    ),
    changed(
        "base_url begins with http:// or https://",
        "base_url",
        '"HTTPS://127.0.0.1"',
        '"127.0.0.1:8001"',
        "must be a URL that begins with http:// or https://",
    ),
    changed(
        "base_url of a direct tier obeys the rules of a member's",
        "base_url",
        '"http://[::1]:8001/v1"',
        '"http://me@127.0.0.1:8001"',
        "must be a URL without credentials",
    ),
    changed(
        "base_url of a direct tier may be localhost",
        "base_url",
        '"http://localhost:8001/v1"',
        '"http://local_host:8001/v1"',
        "must be a URL whose host is an IP address or a DNS name",
    ),
    changed(
        "an empty base_url is not an absent one",
        "base_url",
        '"http://127.0.0.1"',
        '""',
        "must be a URL that begins with http:// or https://",
    ),
    changed("model is not empty", "model", '"served"', '""', TEXT),
    changed("health_path begins with /", "health_path", '"/health"', '"ready"', PATH),
    changed("health_path begins with one /", "health_path", '"/a//b"', '"//health"', PATH),
    changed("health_path has no ?", "health_path", '"/"', '"/health?full"', PATH),
    changed("health_path has no #", "health_path", '"/a"', '"/health#full"', PATH),
    changed("health_path has no blank", "health_path", '"/a%20b"', '"/health now"', PATH),
    changed("health_path is bounded", "health_path", f'"/{"h" * 2047}"', f'"/{"h" * 2048}"', PATH),
    changed("timeout is above 0", "timeout", "0.5", "0", SECONDS),
    changed("timeout is finite", "timeout", "9", "inf", SECONDS),
    changed("max_concurrency is above 0", "max_concurrency", "1", "0", CEILING),
    changed("max_concurrency is no other word", "max_concurrency", "7", '"all"', CEILING),
    Rule(
        "max_concurrency may be auto",
        tier(max_concurrency='"auto"'),
        tier(max_concurrency='"Auto"'),
        f"{TIER}.max_concurrency: {CEILING}",
    ),
    changed("engine is text", "engine", '""', "5", "must be text"),
    changed("quantization is text", "quantization", '"q4"', "4", "must be text"),
    changed(
        "upstream_keepalive_s is at least 0",
        "upstream_keepalive_s",
        "0",
        "-1",
        "must be a number of seconds from 0 to 60",
    ),
    changed(
        "upstream_keepalive_s is at most 60",
        "upstream_keepalive_s",
        "60",
        "60.5",
        "must be a number of seconds from 0 to 60",
    ),
]

JSON_TABLES = [
    *(
        changed(f"{key} is a JSON table", key, "{ a = [1, 'b', true, { c = 0.5 }] }", "5", JSON)
        for key in ("extra_body", "extra_body_defaults", "params")
    ),
    *(
        changed(f"extra_body has {name}", "extra_body", good, bad, JSON)
        for name, good, bad in (
            ("no nan", "{ a = 1.0 }", "{ a = nan }"),
            ("no infinity", "{ a = -1e300 }", "{ a = [{ b = -inf }] }"),
            ("no date", "{ a = '2026-09-05' }", "{ a = 2026-09-05 }"),
            ("integers of 64 bits", f"{{ a = {2**63 - 1} }}", f"{{ a = {2**63} }}"),
            ("64 levels at most", deep(64), deep(65)),
            (
                "64 tables at most",
                f"{{ {'.'.join('a' * 64)} = 1 }}",
                f"{{ {'.'.join('a' * 65)} = 1 }}",
            ),
        )
    ),
]

LIMITS = [
    changed("context_limit is above 0", "context_limit", "1", "0", POSITIVE),
    changed("context_limit is whole", "context_limit", "8192", "8192.0", POSITIVE),
    Rule(
        "context_limit is required with metadata_source configured",
        tier(metadata_source='"configured"'),
        tier(context_limit=None),
        f"{TIER}.context_limit: is required with metadata_source configured",
    ),
    changed("max_output_tokens is above 0", "max_output_tokens", "1", "-1", POSITIVE),
    changed(
        "max_output_tokens is at most context_limit",
        "max_output_tokens",
        "8192",
        "8193",
        "must not be above context_limit",
    ),
]

SOURCES = [
    changed(
        "metadata_source is one of two",
        "metadata_source",
        '"configured"',
        '"guessed"',
        "must be one of: configured, upstream",
    ),
    Rule(
        "metadata_source upstream needs dialect openai",
        upstream(),
        upstream(dialect='"anthropic"'),
        f"{TIER}.dialect: must be openai with metadata_source upstream",
    ),
    Rule(
        "metadata_source upstream needs health_path",
        upstream(),
        upstream(health_path=None),
        f"{TIER}.health_path: is required with metadata_source upstream",
    ),
    *(
        Rule(
            f"metadata_source upstream forbids {key}",
            upstream(),
            upstream(**{key: text}),
            f"{TIER}.{key}: {NOT_WITH_UPSTREAM}",
        )
        for key, text in (
            ("model", '"served"'),
            ("context_limit", "4096"),
            ("engine", '"vllm"'),
            ("quantization", '"q4"'),
            ("model_identity", "false"),
            ("params.fingerprint", "{}"),
        )
    ),
    changed(
        "context_admission is one of two",
        "context_admission",
        '"estimate"',
        '"exact"',
        "must be one of: estimate, upstream",
    ),
    Rule(
        "context_admission upstream needs metadata_source upstream or model_identity",
        tier(
            context_admission='"upstream"',
            model_identity="true",
            model='"served"',
            health_path='"/health"',
        ),
        tier(context_admission='"upstream"'),
        f"{TIER}.context_admission: needs metadata_source upstream or model_identity true",
    ),
    Rule(
        "context_admission upstream may go with metadata_source upstream",
        upstream(context_admission='"upstream"'),
        upstream(context_admission='"exact"'),
        f"{TIER}.context_admission: must be one of: estimate, upstream",
    ),
    changed("model_identity is a boolean", "model_identity", "false", "0", FLAG),
    *(
        Rule(
            f"model_identity needs {key}",
            tier(model_identity="true", model='"served"', health_path='"/health"'),
            tier(
                model_identity="true",
                **{"model": '"served"', "health_path": '"/health"', key: None},
            ),
            f"{TIER}.{key}: is required with model_identity",
        )
        for key in ("model", "health_path")
    ),
    Rule(
        "replica_identity is allowed only with replicas",
        tier(),
        tier(replica_identity="{}"),
        f"{TIER}.replica_identity: is allowed only with replicas",
    ),
    Rule(
        "replica_strategy is allowed only with replicas",
        tier(),
        tier(replica_strategy='"round_robin"'),
        f"{TIER}.replica_strategy: is allowed only with replicas",
    ),
    Rule(
        "replica_affinity is allowed only with replicas",
        tier(),
        tier(replica_affinity='"session"'),
        f"{TIER}.replica_affinity: is allowed only with replicas",
    ),
]

QUIRKS = [
    changed("compat is a table", "compat", "{}", "true", "must be a table"),
    Rule(
        "compat has no unknown key",
        tier(compat="{}"),
        tier(compat="{ streaming = true }"),
        f"{TIER}.compat.streaming: is not a known key",
    ),
    *(
        Rule(
            f"compat.{key} may be {word}",
            tier(compat=f'{{ {key} = "{word}" }}'),
            tier(compat=f'{{ {key} = "not-{word}" }}'),
            f"{TIER}.compat.{key}: must be one of: {', '.join(words)}",
        )
        for key, words in COMPAT.items()
        for word in words
    ),
    Rule(
        "compat.reasoning_history is never as_sent in a file",
        tier(strip_reasoning_history="false"),
        tier(compat='{ reasoning_history = "as_sent" }'),
        f"{TIER}.compat.reasoning_history: must be one of: drop, reasoning_content, reasoning",
    ),
    Rule(
        "compat.drop_billing_header is a boolean",
        tier(compat="{ drop_billing_header = false }"),
        tier(compat='{ drop_billing_header = "no" }'),
        f"{TIER}.compat.drop_billing_header: {FLAG}",
    ),
    changed(
        "strip_reasoning_history is a boolean",
        "strip_reasoning_history",
        "true",
        '"yes"',
        FLAG,
    ),
    Rule(
        "strip_reasoning_history is for dialect openai",
        tier(strip_reasoning_history="true"),
        tier(strip_reasoning_history="true", dialect='"anthropic"'),
        f"{TIER}.strip_reasoning_history: is allowed only with dialect openai",
    ),
    Rule(
        "strip_reasoning_history does not stand beside compat.reasoning_history",
        tier(strip_reasoning_history="true", compat='{ prefill = "refuse" }'),
        tier(strip_reasoning_history="true", compat='{ reasoning_history = "drop" }'),
        f"{TIER}.strip_reasoning_history: must not be set beside compat.reasoning_history",
    ),
    Rule(
        "wrong replicas hide nothing else of their tier",
        tier(),
        config(inline({**DIRECT, "base_url": None, "replicas": "5", "timeout": "0"})),
        f"{TIER}.health_path: is required with replicas\n"
        f"{TIER}.model: is required with replicas\n"
        f"{TIER}.model_identity: must be true with replicas\n"
        f"{TIER}.replica_identity: is required with replicas\n"
        f"{TIER}.replicas: must be an array of tables\n"
        f"{TIER}.timeout: {SECONDS}",
    ),
]

RULES = [*KEYS, *JSON_TABLES, *LIMITS, *SOURCES, *QUIRKS]
