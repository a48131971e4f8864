"""anvil-trio: `anvil-serving router run`, a TOML config, the status and capacity views, a JSONL decision log.

PURPOSE_AND_AUDIO says whether /v1/embeddings, /v1/rerank and /v1/audio/* are configured.
"""
import json
import re

from gateway import CLIENT_KEY, DEFAULTS, UPSTREAM_KEY, Gateway

PURPOSE_AND_AUDIO = True
SERVER_TIMES = ("heartbeat_interval_s", "startup_timeout_s", "idle_timeout_s", "total_timeout_s", "admission_timeout_s")
IDENTITY = f"""
[router.tiers.replica_identity]
model_revision = "rev-1"
engine_version = "0.1.0"
image_digest = "sha256:{"0" * 64}"
config_fingerprint = "sha256:{"1" * 64}"
"""
NO_MEDIA = """images_per_request = 0
[router.tiers.params.capacity]
media_admission_enabled = true
image_limit = 0
video_limit = 0
image_tokens_estimate = 1
video_tokens_estimate = 1
"""


def quoted(**keys):
    return "".join(f'{key} = "{value}"\n' for key, value in keys.items())


def tier_toml(tier, s, urls):
    """One chat tier; a replica tier when there is more than one url."""
    replica = len(urls) > 1
    text = "[[router.tiers]]\n" + quoted(id=tier, dialect=s["dialect"], privacy="local", auth_env="UPSTREAM_KEY", model="served-model")
    text += f"tool_support = true\ncontext_limit = 10000000\nmax_concurrency = {s['limit']}\n"
    if replica or s["probe"]:
        text += "model_identity = true\n" + quoted(health_path="/health", engine="vllm")
    if not replica:
        text += quoted(base_url=urls[0] + "/v1")
    elif s["strategy"] == "capacity":
        text += quoted(replica_strategy="capacity")
    text += "[router.tiers.params.capabilities]\n" + ('modalities = ["text", "image"]\n' if s["vision"] else 'modalities = ["text"]\n' + NO_MEDIA)
    if replica:
        text += IDENTITY
        for index, url in enumerate(urls):
            text += "[[router.tiers.replicas]]\n" + quoted(
                id=f"member-{tier}-{index}", base_url=url + "/v1", host_id="host-a", resource_id=f"resource-{tier}-{index}",
                qualification_ref=f"qual:{index}") + f"max_concurrency = {s['limit']}\n"
    return text


def config_toml(s, urls, log_path):
    text = "[server]\n" + quoted(auth_env="ANVIL_ROUTER_TOKEN", decision_log_path=log_path)
    text += "".join(f"{key} = {s[key]}\n" for key in SERVER_TIMES)
    if s["limit"] > 1024:
        text += f"max_concurrency = {s['limit']}\n"
    if s["client_limit"]:
        text += f"client_limits = {{ _legacy = {s['client_limit']} }}\n"
    if s["cors_origin"]:
        text += f'cors_origins = ["{s["cors_origin"]}"]\n'
    text += f"[router]\nrelay_timeout = {s['total_timeout_s']}\navailability_probe_interval = {s['probe_interval_s']}\n"
    text += tier_toml("primary", s, urls[:1] if s["tier"] == "direct" else urls[:2])
    routes = {"llm.primary": "primary"}
    if s["tier"] == "two_replicas":
        text += tier_toml("second", s, urls[2:4])
        routes["llm.second"] = "second"
    if PURPOSE_AND_AUDIO:
        base = urls[0] + "/v1"
        text += "[[router.purpose_models]]\n" + quoted(id="embed", kind="embedding", model="embed.main", base_url=base)
        text += "[[router.audio_routes]]\n" + quoted(id="stt.main", purpose="stt", model="served-stt", base_url=base)
    return text + "[router.model_routes]\n" + "".join(f'"{alias}" = "{tier}"\n' for alias, tier in routes.items())


def active_counts(value):
    """All numbers under keys named active or active_requests, wherever they are in a status reply."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("active", "active_requests") and isinstance(inner, int):
                yield inner
            else:
                yield from active_counts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from active_counts(inner)


class Adapter(Gateway):
    program = "anvil-serving"
    max_body = 32 * 1024 * 1024
    uses = set(DEFAULTS)
    log_fields = {"outcome", "usage.input", "usage_source", "finish_reason_missing"}

    def write_config(self):
        (self.dir / "gateway.toml").write_text(config_toml(self.settings, self.upstreams, self.dir / "decisions.jsonl"))

    def command(self):
        return [self.bin, "router", "run", "--config", "gateway.toml", "--host", "127.0.0.1", "--port", str(self.port)]

    def env(self):
        return {"ANVIL_ROUTER_TOKEN": CLIENT_KEY, "UPSTREAM_KEY": UPSTREAM_KEY, "HOME": str(self.dir),
                "ANVIL_SERVING_HOME": str(self.dir), "PYTHONUNBUFFERED": "1"}

    async def active(self):
        status = await self.get_json("/v1/router/status")
        capacity = await self.get_json("/v1/models/capacity")
        return max([*active_counts(status), *active_counts(capacity)], default=None)

    def read_log(self):
        out = []
        for line in self.new_text("decisions.jsonl").splitlines():
            record = json.loads(line)
            last = (record.get("attempts") or [{}])[-1]
            outcome = record.get("workload_outcome") if last.get("succeeded", True) else last.get("reason", "")
            source = record.get("completion_tokens_source")
            record["outcome"] = "backend_error" if str(outcome).startswith("backend_error") else outcome
            record["usage.input"] = record.get("total_prompt_tokens") if record.get("prompt_tokens_source") == "upstream" else None
            record["usage_source"] = "none_or_estimate" if source in ("unknown", "estimated", None) else source
            record["finish_reason_missing"] = record.get("finish_reason_missing", record.get("finish_reason") is None)
            out.append(record)
        return out

    async def read_metrics(self):
        return (await self.get("/metrics?limit=10000"))[1]

    def metric(self, text, name):
        series = {"ttft samples": 'anvil_router_decision_buffer_time_to_first_content_samples{model=""}',
                  "errors": 'anvil_router_decision_buffer_requests{model="",outcome="failed"}'}.get(name)
        found = series and re.search(re.escape(series) + r" (\S+)", text)
        return float(found[1]) if found else None

    async def drain(self, bound_s):
        order = {"tier_id": "primary", "confirm": True, "dry_run": False, "reason": "operator"}
        await self.post_json("/v1/admin/transition", {**order, "action": "quiesce"})
        result = await self.post_json("/v1/admin/transition", {"action": "drain", "tier_id": "primary", "timeout": bound_s})
        await self.post_json("/v1/admin/transition", {**order, "action": "readmit"})
        return result.get("result", {}).get("snapshot", {}).get("active_requests", f"no count in {result}")
