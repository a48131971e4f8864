"""The rules of `params` of a tier."""

from tests.unit.config.toml import Rule, config, direct

__all__ = ["RULES"]

PARAMS = "router.tiers[0].params"
COUNT = "must be a whole number from 0 to 9007199254740991"
POSITIVE = "must be a whole number from 1 to 9007199254740991"
NUMBER = "must be a finite number of at least 0"
FLAG = "must be true or false"
TEXT = "must be text and not empty"
WORDS = "must be an array of different texts, none empty"
POLICY = {
    "image_limit": "2",
    "video_limit": "0",
    "image_tokens_estimate": "1024",
    "video_tokens_estimate": "0",
}


def params(text: str) -> str:
    """A file with one tier that has these params."""
    return config(direct(params=text))


def nested(path: str, value: str) -> str:
    """Params with one value, at a path below."""
    *tables, key = path.split(".")
    text = f"{key} = {value}"
    for table in reversed(tables):
        text = f"{table} = {{ {text} }}"
    return params(f"{{ {text} }}")


def fact(path: str, good: str, bad: str, message: str) -> Rule:
    """A rule of one described value."""
    name = f"params.{path} {message}, not {bad}"
    return Rule(name, nested(path, good), nested(path, bad), f"{PARAMS}.{path}: {message}")


def policy(**changes: str | None) -> str:
    """Params with a media policy that is enabled."""
    keys = {"media_admission_enabled": "true", **POLICY, **changes}
    inner = ", ".join(f"{key} = {text}" for key, text in keys.items() if text)
    return params(f"{{ capacity = {{ {inner} }} }}")


RULES = [
    *(
        Rule(
            f"params.{table} is a table",
            nested(table, "{}"),
            nested(table, "5"),
            f"{PARAMS}.{table}: must be a table",
        )
        for table in (
            "capacity",
            "capabilities",
            "capabilities.thinking",
            "capabilities.compat",
            "fingerprint",
        )
    ),
    Rule(
        "params are open to keys that nobody reads",
        params("{ note = 'x', capacity = { note = 1 }, fingerprint = { note = [] } }"),
        params("{ note = 'x', capacity = { note = 1, gpu_name = 7 } }"),
        f"{PARAMS}.capacity.gpu_name: {TEXT}",
    ),
    fact("capacity.gpu_role", '"big-1_a"', '"Big"', "must match [a-z][a-z0-9_-]{0,63}"),
    fact("capacity.gpu_role", f'"{"r" * 64}"', f'"{"r" * 65}"', "must match [a-z][a-z0-9_-]{0,63}"),
    fact("capacity.gpu_name", '"A card"', '""', TEXT),
    fact("capacity.gpu_memory_total_mib", "98304", "-1", NUMBER),
    fact("capacity.model_memory_gib", "73.25", '"73.25"', NUMBER),
    fact("capacity.kv_cache_capacity_tokens", "1", "0", POSITIVE),
    fact("capacity.scheduler_max_num_seqs", "256", "0", POSITIVE),
    *(fact(f"capacity.{key}", "0", "-1", COUNT) for key in POLICY),
    fact("capacity.media_admission_enabled", "false", "1", FLAG),
    fact("capabilities.modalities", '["text", "image"]', '["image", "image"]', WORDS),
    fact("capabilities.modalities", '["image"]', '["image", ""]', WORDS),
    fact("capabilities.images_per_request", "0", "-1", COUNT),
    fact("capabilities.video_per_request", "4", "true", COUNT),
    fact("capabilities.thinking.supported", "true", '"yes"', FLAG),
    fact(
        "capabilities.thinking.default",
        "true",
        "1",
        "must be true, false or text that is not empty",
    ),
    fact(
        "capabilities.thinking.default",
        '"high"',
        '""',
        "must be true, false or text that is not empty",
    ),
    fact("capabilities.thinking.caller_override", "false", "[]", FLAG),
    fact("capabilities.thinking.max_tokens", "4096", "0", POSITIVE),
    fact("capabilities.compat.supportsUsageInStreaming", "true", '"yes"', FLAG),
    fact("capabilities.compat.supportsStrictMode", "false", '"no"', FLAG),
    fact("capabilities.compat.supportedReasoningEfforts", '["low", "high"]', '"low"', WORDS),
    *(
        fact(f"fingerprint.{key}", '"any text"', "5", TEXT)
        for key in ("model_revision", "engine_version", "image_digest", "config_fingerprint")
    ),
    *(
        Rule(
            f"a media policy needs {key}",
            policy(),
            policy(**{key: None}),
            f"{PARAMS}.capacity.{key}: is required with media_admission_enabled",
        )
        for key in POLICY
    ),
    Rule(
        "a media policy that is not enabled may be incomplete",
        policy(media_admission_enabled="false", image_limit=None),
        policy(media_admission_enabled="true", image_limit=None, video_limit=None),
        f"{PARAMS}.capacity.image_limit: is required with media_admission_enabled\n"
        f"{PARAMS}.capacity.video_limit: is required with media_admission_enabled",
    ),
]
