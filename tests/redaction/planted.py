"""A router with a canary in every private place: its file, its secrets, and what passes through.

Nothing that anybody but the caller of that one request sees may hold `CANARY`. What an engine says
to that caller holds `SAID`, which belongs into the answer's body and nowhere else.
"""

import json
import stat
from pathlib import Path

from anvil_trio.config.load import load_config, resolve_secrets
from anvil_trio.config.model import RouterConfig
from anvil_trio.config.secrets import Secrets

__all__ = [
    "ALIASES",
    "CANARY",
    "ENVIRON",
    "OPERATOR",
    "READER",
    "SAID",
    "USER",
    "leaks",
    "plant",
]

CANARY = "kanarie"
SAID = "pappegaai"
ALIASES = ("llm.primary", "llm.direct", "llm.messages")
OPERATOR = "kanarie-operator-token-1"
USER = "kanarie-user-credential-1"
READER = "kanarie-reader-credential-1"
ENVIRON = {
    "KANARIE_OPERATOR": OPERATOR,
    "KANARIE_USER": USER,
    "KANARIE_READER": READER,
    "KANARIE_ENGINE": "kanarie-engine-key-1",
    "HOME": "/kanarie-home",
    "ANVIL_SERVING_HOME": "/kanarie-home",
}

_TEXT = """
[server]
auth_env = "KANARIE_OPERATOR"
decision_log_path = "{folder}/kanarie-decisions.jsonl"
admission_state_path = "{folder}/kanarie-state.json"
authorization_policy_path = "{folder}/kanarie-policy.json"
admission_timeout_s = 5
startup_timeout_s = 10
idle_timeout_s = 10
total_timeout_s = 60
workload_host = "node-1"

[router.model_routes]
"llm.primary" = "pair"
"llm.direct" = "single"
"llm.messages" = "claude"

[[router.tiers]]
id = "pair"
dialect = "openai"
privacy = "local"
tool_support = true
auth_env = "KANARIE_ENGINE"
model = "served-model"
model_identity = true
health_path = "/kanarie-health"
context_limit = 8192
extra_body = {{ kanarie_extra = "kanarie-extra" }}
extra_body_defaults = {{ kanarie_fill = "kanarie-fill" }}
params = {{ kanarie = "kanarie-param", capabilities = {{ kanarie = "kanarie-capability" }} }}

[router.tiers.replica_identity]
model_revision = "rev-1"
engine_version = "1.0.0"
image_digest = "sha256:{zeros}"
config_fingerprint = "sha256:{zeros}"

[[router.tiers.replicas]]
id = "member-a"
base_url = "http://127.0.0.1:8101/kanarie-url-a/v1"
host_id = "kanarie-host"
resource_id = "kanarie-resource-a"
qualification_ref = "qual:a"
max_concurrency = 2

[[router.tiers.replicas]]
id = "member-b"
base_url = "http://127.0.0.1:8102/kanarie-url-b/v1"
host_id = "kanarie-host"
resource_id = "kanarie-resource-b"
qualification_ref = "qual:b"
max_concurrency = 2

[[router.tiers]]
id = "single"
dialect = "openai"
privacy = "local"
tool_support = false
auth_env = "KANARIE_ENGINE"
base_url = "http://kanarie-single.test:8103/kanarie-url/v1"
model = "served-model"
model_identity = true
health_path = "/kanarie-health"
context_limit = 8192
engine = "vllm"

[[router.tiers]]
id = "claude"
dialect = "anthropic"
privacy = "local"
tool_support = true
auth_env = "KANARIE_ENGINE"
base_url = "http://kanarie-claude.test:8104/kanarie-url"
model = "served-model"
context_limit = 8192

[[router.purpose_models]]
id = "embed"
kind = "embedding"
model = "embed.main"
base_url = "http://kanarie-embed.test/v1"
auth_env = "KANARIE_ENGINE"

[[router.purpose_models]]
id = "rank"
kind = "rerank"
model = "rank.main"
base_url = "http://kanarie-rank.test/v1"

[[router.audio_routes]]
id = "stt.main"
purpose = "stt"
model = "kanarie-stt"
base_url = "http://10.0.0.1/kanarie/v1"
auth_env = "KANARIE_ENGINE"

[[router.audio_routes]]
id = "tts.main"
purpose = "tts"
model = "kanarie-tts"
base_url = "http://10.0.0.1/kanarie/v1"
source_sample_rate = 24000
"""
_POLICY = {
    "schema_version": 1,
    "clients": [
        {"id": "user", "scopes": ["inference:use"], "credential_env": "KANARIE_USER"},
        {"id": "reader", "scopes": ["workloads:read"], "credential_env": "KANARIE_READER"},
    ],
}


def plant(folder: Path) -> tuple[RouterConfig, Secrets]:
    """The configuration, written to a folder with a canary in its name and read back, and secrets.

    The folder is made below `folder`; its files are named by `_TEXT`.
    """
    inside = folder / "kanarie-folder"
    inside.mkdir()
    policy = inside / "kanarie-policy.json"
    policy.write_text(json.dumps(_POLICY))
    policy.chmod(stat.S_IRUSR | stat.S_IWUSR)
    path = inside / "kanarie-router.toml"
    path.write_text(_TEXT.format(folder=inside, zeros="0" * 64))
    config = load_config(path)
    return config, resolve_secrets(config, ENVIRON)


def leaks(where: str, shown: bytes | str, *, to_caller: bool = False) -> list[str]:
    """Where `shown` holds what it must not, as `where` and the text around it; nothing if clean.

    `to_caller` says that this is the body of an answer, in which the engine's words may stand.
    """
    text = shown.decode(errors="replace") if isinstance(shown, bytes) else shown
    text = text.lower()
    words = [CANARY] if to_caller else [CANARY, SAID]
    return [
        f"{where}: ...{text[max(0, at - 60) : at + 40]}..."
        for word in words
        if (at := text.find(word)) >= 0
    ]
