"""How things stand at the moment of a scrape: doors, tiers, members, aliases. Pure."""

from anvil_trio.meters.metric import Kind, Metric

__all__ = [
    "ADMISSION_CEILING",
    "ADMITTED",
    "ALL",
    "MEMBER_READY",
    "MODEL_CACHE",
    "MODEL_CACHE_USE",
    "MODEL_CONTEXT",
    "MODEL_IMAGES",
    "MODEL_LOADED",
    "MODEL_RUNNING",
    "MODEL_WAITING",
    "OPERATIONS",
    "PRESSURE",
    "PRESSURE_FRESHNESS",
    "PROBE_AGE",
    "REPLICA_MEMBER_ACTIVE",
    "REPLICA_MEMBER_CEILING",
    "REPLICA_TIER_ACTIVE",
    "REPLICA_TIER_CEILING",
    "TIER_ACTIVE",
    "TIER_ADMITTING",
    "TIER_WAITING",
]

ADMITTED = Metric(
    "anvil_router_admission_active_requests", Kind.GAUGE, (), "Requests inside the front door."
)
ADMISSION_CEILING = Metric(
    "anvil_router_admission_max_concurrency",
    Kind.GAUGE,
    (),
    "Requests that the front door lets in at a time.",
)
TIER_ACTIVE = Metric(
    "anvil_router_tier_active_requests",
    Kind.GAUGE,
    ("tier",),
    "Requests that hold a place in a tier.",
)
TIER_WAITING = Metric(
    "anvil_router_tier_waiting_requests",
    Kind.GAUGE,
    ("tier",),
    "Requests that wait for a place in a tier.",
)
TIER_ADMITTING = Metric(
    "anvil_router_tier_admitting",
    Kind.GAUGE,
    ("tier",),
    "1 while a tier takes new requests, 0 while it is quiesced or has failed.",
)
MEMBER_READY = Metric(
    "anvil_router_member_ready",
    Kind.GAUGE,
    ("tier", "member"),
    "1 while the last probe found a member ready, else 0.",
)
PROBE_AGE = Metric(
    "anvil_router_probe_age_seconds",
    Kind.GAUGE,
    ("tier", "member"),
    "Time since the last probe that said something about a member.",
)
REPLICA_TIER_ACTIVE = Metric(
    "anvil_router_replica_tier_active_requests",
    Kind.GAUGE,
    ("tier",),
    "Requests that hold a place in a replica tier.",
)
REPLICA_TIER_CEILING = Metric(
    "anvil_router_replica_tier_max_concurrency",
    Kind.GAUGE,
    ("tier",),
    "Requests that a replica tier takes at a time.",
)
REPLICA_MEMBER_ACTIVE = Metric(
    "anvil_router_replica_member_active_requests",
    Kind.GAUGE,
    ("tier", "member"),
    "Requests that hold a place on a member.",
)
REPLICA_MEMBER_CEILING = Metric(
    "anvil_router_replica_member_max_concurrency",
    Kind.GAUGE,
    ("tier", "member"),
    "Requests that a member takes at a time.",
)
PRESSURE = Metric(
    "anvil_router_replica_member_pressure_ppm",
    Kind.GAUGE,
    ("tier", "member"),
    "How loaded a capacity tier's member says it is, in parts per million of its ceiling.",
)
PRESSURE_FRESHNESS = Metric(
    "anvil_router_replica_member_pressure_freshness",
    Kind.GAUGE,
    ("tier", "member", "freshness"),
    "1 for how fresh the pressure of a capacity tier's member is, 0 for the other words.",
)
MODEL_LOADED = Metric(
    "anvil_router_model_loaded",
    Kind.GAUGE,
    ("model", "tier"),
    "1 while the tier of an alias is ready, else 0.",
)
MODEL_CONTEXT = Metric(
    "anvil_router_model_context_limit_tokens",
    Kind.GAUGE,
    ("model", "tier"),
    "Tokens that prompt and answer may have together.",
)
MODEL_CACHE = Metric(
    "anvil_router_model_kv_cache_capacity_tokens",
    Kind.GAUGE,
    ("model", "tier"),
    "Tokens that the cache holds, as declared.",
)
MODEL_IMAGES = Metric(
    "anvil_router_model_image_limit",
    Kind.GAUGE,
    ("model", "tier"),
    "Images that a request may have, as declared.",
)
MODEL_RUNNING = Metric(
    "anvil_router_model_requests_running",
    Kind.GAUGE,
    ("model", "tier"),
    "Requests that a direct tier's engine says it works on.",
)
MODEL_WAITING = Metric(
    "anvil_router_model_requests_waiting",
    Kind.GAUGE,
    ("model", "tier"),
    "Requests that a direct tier's engine says wait in it.",
)
MODEL_CACHE_USE = Metric(
    "anvil_router_model_kv_cache_usage_fraction",
    Kind.GAUGE,
    ("model", "tier"),
    "Share of its cache that a direct tier's engine says is in use.",
)

OPERATIONS = Metric(
    "anvil_router_operations",
    Kind.GAUGE,
    ("workflow", "state"),
    "Operations that are remembered, by the state they are in.",
)

ALL = (
    ADMITTED,
    ADMISSION_CEILING,
    TIER_ACTIVE,
    TIER_WAITING,
    TIER_ADMITTING,
    MEMBER_READY,
    PROBE_AGE,
    REPLICA_TIER_ACTIVE,
    REPLICA_TIER_CEILING,
    REPLICA_MEMBER_ACTIVE,
    REPLICA_MEMBER_CEILING,
    PRESSURE,
    PRESSURE_FRESHNESS,
    MODEL_LOADED,
    MODEL_CONTEXT,
    MODEL_CACHE,
    MODEL_IMAGES,
    MODEL_RUNNING,
    MODEL_WAITING,
    MODEL_CACHE_USE,
    OPERATIONS,
)
"""In the order in which they are exposed."""
