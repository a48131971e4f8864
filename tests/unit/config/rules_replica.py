"""R002 to R006: replica tiers."""

from tests.unit.config.toml import (
    IDENTITY,
    MEMBER_A,
    MEMBER_B,
    Keys,
    Rule,
    config,
    inline,
    replica,
    rows,
)

__all__ = ["RULES"]

FIRST = "router.tiers[0].replicas[0]"
LAST = "router.tiers[0].replicas[1]"
TIER = "router.tiers[0]"
IDENTIFIER = "must match [A-Za-z][A-Za-z0-9_-]{0,63}"
REFERENCE = "must match [A-Za-z0-9][A-Za-z0-9_.:-]{0,127}"
LABEL = "must match [A-Za-z0-9][A-Za-z0-9_.+-]{0,127}"
DIGEST = "must be sha256: and 64 lower-case hex digits"


def member(**changes: str | None) -> str:
    """A file whose second member is changed."""
    return config(replica(MEMBER_A, {**MEMBER_B, **changes}))


def members(count: int) -> str:
    """A file with that many members."""
    every: list[Keys] = [
        {
            **MEMBER_A,
            "id": f'"member-{number}"',
            "resource_id": f'"resource-{number}"',
            "base_url": f'"http://127.0.0.1:{9000 + number}"',
        }
        for number in range(count)
    ]
    return config(replica(replicas=rows(*every)))


def tier(**changes: str | None) -> str:
    """A file whose one replica tier is changed."""
    return config(replica(**changes))


def identity(**changes: str | None) -> str:
    """A file whose declared deployment is changed."""
    return config(replica(identity=inline({**IDENTITY, **changes})))


SHAPE = [
    Rule(
        "a tier does not mix base_url and replicas",
        tier(),
        tier(base_url='"http://127.0.0.1:8001"'),
        f"{TIER}: must have either base_url or replicas, and not both",
    ),
    Rule(
        "no replicas are not absent replicas",
        members(2),
        members(0),
        f"{TIER}.replicas: must have 2 to 16 members",
    ),
    Rule(
        "one replica is too few",
        members(2),
        members(1),
        f"{TIER}.replicas: must have 2 to 16 members",
    ),
    Rule(
        "17 replicas are too many",
        members(16),
        members(17),
        f"{TIER}.replicas: must have 2 to 16 members",
    ),
    Rule(
        "replicas are an array of tables",
        tier(),
        tier(replicas=inline(MEMBER_A)),
        f"{TIER}.replicas: must be an array of tables",
    ),
    Rule(
        "each replica is a table",
        tier(),
        tier(replicas=f"[{inline(MEMBER_A)}, 'member-b']"),
        f"{LAST}: must be a table",
    ),
    Rule(
        "a member has no unknown key",
        member(max_concurrency="4"),
        member(timeout="4"),
        f"{LAST}.timeout: is not a known key",
    ),
    *(
        Rule(
            f"a member needs {key}",
            tier(),
            member(**{key: None}),
            f"{LAST}.{key}: is required",
        )
        for key in MEMBER_A
    ),
]

GRAMMARS = [
    *(
        Rule(
            f"{key} is an identifier {name}",
            member(**{key: f'"{good if key != "host_id" else "host-one"}"'}),
            member(**{key: f'"{bad}"'}),
            f"{LAST}.{key}: {IDENTIFIER}",
        )
        for key in ("id", "resource_id", "host_id")
        for name, good, bad in (
            ("that begins with a letter", "b", "1-b"),
            ("of 64 characters at most", "b" * 64, "b" * 65),
            ("without a newline at its end", "b_-9", "b\\n"),
        )
    ),
    *(
        Rule(
            f"qualification_ref {name}",
            member(qualification_ref=f'"{good}"'),
            member(qualification_ref=f'"{bad}"'),
            f"{LAST}.qualification_ref: {REFERENCE}",
        )
        for name, good, bad in (
            ("is a safe label", "0-eval:2026.09_b", "../eval"),
            ("is not empty", "q", ""),
            ("has at most 128 characters", "q" * 128, "q" * 129),
        )
    ),
    *(
        Rule(
            f"a member's max_concurrency is {name}",
            member(max_concurrency=good),
            member(max_concurrency=bad),
            f"{LAST}.max_concurrency: must be a whole number from 1 to 100000",
        )
        for name, good, bad in (
            ("at least 1", "1", "0"),
            ("at most 100000", "100000", "100001"),
            ("never auto", "2", '"auto"'),
        )
    ),
]

UNIQUE = [
    *(
        Rule(
            f"{key} is unique in its tier",
            tier(),
            member(**{key: MEMBER_A[key]}),
            f"{LAST}.{key}: must be unique in its tier",
        )
        for key in ("id", "resource_id")
    ),
    Rule(
        "all members share one host",
        tier(),
        member(host_id='"host-two"'),
        f"{LAST}.host_id: must be the same for all members of a tier",
    ),
]

IDENTITIES = [
    Rule(
        "replicas need replica_identity",
        tier(),
        config(replica(identity=None)),
        f"{TIER}.replica_identity: is required with replicas",
    ),
    Rule(
        "replica_identity is a table",
        tier(),
        config(replica(identity='"rev-1"')),
        f"{TIER}.replica_identity: must be a table",
    ),
    Rule(
        "replica_identity has no unknown key",
        tier(),
        identity(promoted="true"),
        f"{TIER}.replica_identity.promoted: is not a known key",
    ),
    *(
        Rule(
            f"replica_identity needs {key}",
            tier(),
            identity(**{key: None}),
            f"{TIER}.replica_identity.{key}: is required",
        )
        for key in IDENTITY
    ),
    *(
        Rule(
            f"{key} {name}",
            identity(**{key: f'"{good}"'}),
            identity(**{key: f'"{bad}"'}),
            f"{TIER}.replica_identity.{key}: {LABEL}",
        )
        for key in ("model_revision", "engine_version")
        for name, good, bad in (
            ("is a label", "0.9_b+cu-12", "rev/1"),
            ("has at most 128 characters", "r" * 128, "r" * 129),
        )
    ),
    *(
        Rule(
            f"{key} {name}",
            tier(),
            identity(**{key: f'"{bad}"'}),
            f"{TIER}.replica_identity.{key}: {DIGEST}",
        )
        for key in ("image_digest", "config_fingerprint")
        for name, bad in (
            ("begins with sha256:", "0" * 64),
            ("is in lower case", f"sha256:{'A' * 64}"),
            ("has 64 digits", f"sha256:{'0' * 63}"),
        )
    ),
]

POLICY = [
    Rule(
        "replicas need metadata_source configured",
        tier(metadata_source='"configured"'),
        tier(metadata_source='"upstream"'),
        f"{TIER}.metadata_source: must be configured with replicas",
    ),
    *(
        Rule(
            f"replicas need model_identity, not {text}",
            tier(),
            tier(model_identity=text),
            f"{TIER}.model_identity: must be true with replicas",
        )
        for text in (None, "false")
    ),
    Rule(
        "replicas need a model",
        tier(),
        tier(model=None),
        f"{TIER}.model: is required with replicas",
    ),
    Rule(
        "replicas need a health_path",
        tier(),
        tier(health_path=None),
        f"{TIER}.health_path: is required with replicas",
    ),
    Rule(
        "a replica tier's max_concurrency is a number",
        tier(max_concurrency="8"),
        tier(max_concurrency='"auto"'),
        f"{TIER}.max_concurrency: must be a whole number of at least 1,"
        " or auto where there are no replicas",
    ),
    Rule(
        "replica_strategy is one of two",
        tier(replica_strategy='"round_robin"'),
        tier(replica_strategy='"random"'),
        f"{TIER}.replica_strategy: must be one of: round_robin, capacity",
    ),
    Rule(
        "with strategy capacity every member needs max_concurrency",
        config(
            replica(
                {**MEMBER_A, "max_concurrency": "2"},
                {**MEMBER_B, "max_concurrency": "2"},
                replica_strategy='"capacity"',
            )
        ),
        config(
            replica({**MEMBER_A, "max_concurrency": "2"}, MEMBER_B, replica_strategy='"capacity"')
        ),
        f"{LAST}.max_concurrency: is required with replica_strategy capacity",
    ),
    Rule(
        "replica_affinity is one of two",
        tier(replica_affinity='"session"'),
        tier(replica_affinity='"sticky"'),
        f"{TIER}.replica_affinity: must be one of: none, session",
    ),
    Rule(
        "context_limit is required of replicas too",
        tier(),
        tier(context_limit=None),
        f"{TIER}.context_limit: is required with metadata_source configured",
    ),
]

RULES = [*SHAPE, *GRAMMARS, *UNIQUE, *IDENTITIES, *POLICY]
