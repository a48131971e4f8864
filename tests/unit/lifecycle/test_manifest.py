"""The operator's files: what they may say, and what is told of what they may not."""

import pytest

from anvil_trio.config.problems import ConfigError
from anvil_trio.lifecycle.capacity import has_room
from anvil_trio.lifecycle.manifest import (
    PROFILES_SCHEMA,
    parse_events,
    parse_manifest,
    parse_profiles,
)
from anvil_trio.lifecycle.model import EventSettings, Mode, Runtime, fill
from tests.lifecycle.samples import (
    DUO,
    FULL,
    MANIFEST,
    PROFILE,
    SWAP,
    docker,
    native,
    table,
)

CANARY = "kanarie"
GROUPS = "serve[0].groups: must be an array of different names [A-Za-z][A-Za-z0-9_-]{0,63}, not all"


def problems(*files: str) -> list[str]:
    """The lines about what is wrong with a set."""
    with pytest.raises(ConfigError) as refused:
        parse_manifest([each.encode() for each in files])
    return [problem.line for problem in refused.value.problems]


def test_a_whole_set_is_read():
    """Serves of both runtimes, GPUs and a promotion, with the defaults of what is not said."""
    manifest = parse_manifest([FULL.encode()])
    assert manifest == MANIFEST
    one = manifest.serve("one")
    assert one is not None
    assert (one.runtime, one.port, one.health, one.stack) == (
        Runtime.NATIVE,
        8101,
        "/health",
        "serving",
    )
    assert (one.startup_timeout, one.stop_timeout_s, one.roles, one.uses_gpu) == (
        600,
        30,
        (),
        False,
    )
    plan = manifest.promotion("swap")
    assert plan is not None
    assert (plan.drain_timeout, plan.needle_ctx, plan.tool_batch) == (120, 32_768, 20)
    assert (plan.startup_timeout, plan.rollback_startup_timeout, plan.poll_interval) == (
        600,
        None,
        5,
    )
    assert manifest.serve("nobody") is None
    assert manifest.promotion("nobody") is None


def test_a_set_is_all_of_its_files():
    """What one names another may declare; the second file's problems say so."""
    first, second = (
        native("one"),
        native("two", port="8102") + SWAP.replace("new", "two").replace("old", "one"),
    )
    assert [each.name for each in parse_manifest([first.encode(), second.encode()]).serves] == [
        "one",
        "two",
    ]
    assert problems(first, native("two", port="0")) == [
        "(file 2) serve[0].port: must be a whole number from 1 to 65535"
    ]
    assert problems(first, "x = ")[0].startswith("(file 2): the file is not valid TOML")
    assert problems("x = ")[0].startswith("the file is not valid TOML")
    assert "serve[0].port: must be a whole number from 1 to 65535" in problems(
        native("one", port="0"), "kanarie = 1"
    )
    assert problems(first, first) == ["(file 2) serve[0].name: must be unique in the set"]


def test_a_name_is_a_serve_a_group_or_all():
    """In the order of the files; nothing of that name is nothing."""
    manifest = parse_manifest([
        (
            native("one", groups='["day"]') + native("two", port="8102", groups='["day", "night"]')
        ).encode()
    ])
    assert [each.name for each in manifest.select("one")] == ["one"]
    assert [each.name for each in manifest.select("day")] == ["one", "two"]
    assert [each.name for each in manifest.select("night")] == ["two"]
    assert [each.name for each in manifest.select("all")] == ["one", "two"]
    assert manifest.select("none") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (native("one", kanarie='"kanarie"'), ["serve[0].kanarie: is not a known key"]),
        (f"[{CANARY}]\n", ["must have no table but those that it may have"]),
        ("serve = 1\n", ["serve: must be an array of tables"]),
        ("serve = [1]\n", ["serve[0]: must be a table"]),
        (native("all"), ["serve[0].name: must match [A-Za-z][A-Za-z0-9_-]{0,63} and not be all"]),
        (native("one", runtime='"kanarie"'), ["serve[0].runtime: must be one of: docker, native"]),
        (native("one", model=None), ["serve[0].model: is required without served_name"]),
        (native("one", command=None), ["serve[0].command: is required with runtime native"]),
        (
            native("one", command="[]"),
            ["serve[0].command: must be an array of 1 to 256 texts, the first not empty"],
        ),
        (
            native("one", command='["", "kanarie"]'),
            ["serve[0].command: must be an array of 1 to 256 texts, the first not empty"],
        ),
        (
            native("one", command='["a\\u0000kanarie"]'),
            ["serve[0].command: must be an array of 1 to 256 texts, the first not empty"],
        ),
        (
            native("one", command='"kanarie --port 1"'),
            ["serve[0].command: must be an array of 1 to 256 texts, the first not empty"],
        ),
        (native("one", service='"kanarie"'), ["serve[0].service: is not a known key"]),
        (
            native("one", container='"x"'),
            ["serve[0].container: must be absent with runtime native"],
        ),
        (native("one", up='"x"'), ["serve[0].up: must be absent with runtime native"]),
        (
            native("one", shared_volumes='["x"]'),
            ["serve[0].shared_volumes: must be absent with runtime native"],
        ),
        (docker("one", container=None), ["serve[0].container: is required with runtime docker"]),
        (docker("one", command='["x"]'), ["serve[0].command: must be absent with runtime docker"]),
        (
            docker("one", log_max_bytes="4096"),
            ["serve[0].log_max_bytes: must be absent with runtime docker"],
        ),
        (
            docker("one", up='"kanarie \'open"'),
            ["serve[0].up: must be words as a shell would split them, quotes closed"],
        ),
        (
            docker("one", up='"   "'),
            ["serve[0].up: must be words as a shell would split them, quotes closed"],
        ),
        (
            native("one", groups='["all"]'),
            [GROUPS],
        ),
        (
            native("one", groups='["x", "x"]'),
            [GROUPS],
        ),
        (native("one", groups='["one"]'), ["serve[0].groups: must not have the name of a serve"]),
        (
            native("one", gpu_role='"left"', gpu_roles='["left", "right"]'),
            ["serve[0].gpu_roles: must be absent with gpu_role"],
        ),
        (
            native("one", gpu_roles='["left"]'),
            ["serve[0].gpu_roles: must be an array of two different names"],
        ),
        (
            native("one", operating_mode='"dual-gpu-exclusive"', tensor_parallel_size="2"),
            ["serve[0].gpu_roles: is required with operating_mode"],
        ),
        (
            native("one", operating_mode='"dual-gpu-exclusive"', gpu_roles='["a", "b"]'),
            ["serve[0].tensor_parallel_size: must be 2 with operating_mode"],
        ),
        (
            native(
                "one", router_tier='"t"', router_config='"kanarie"', rollback_router_config='"k"'
            ),
            ["serve[0].router_config: needs operating_mode and router_tier"],
        ),
        (
            native("one", **DUO, router_tier='"t"', router_config='"kanarie"'),
            ["serve[0].router_config: goes together with rollback_router_config"],
        ),
        (
            table("gpu_roles", id='"left"', vram_mib="10") + native("one", gpu_role='"kanarie"'),
            ["serve[0].gpu_role: must name gpu_roles of the set"],
        ),
        (
            table("gpu_roles", id='"a"', vram_mib="10") + native("one", **DUO),
            ["serve[0].gpu_roles: must name gpu_roles of the set"],
        ),
        (
            table("gpu_roles", id='"left"', vram_mib="10", reserve_mib="11"),
            ["gpu_roles[0].reserve_mib: must be at most vram_mib"],
        ),
        (
            table("gpu_roles", id='"left"', vram_mib="0", reserve_mib="11"),
            ["gpu_roles[0].vram_mib: must be a whole number from 1 to 9007199254740991"],
        ),
        (
            table("gpu_roles", id='"left"', vram_mib="1") * 2,
            ["gpu_roles[1].id: must be unique in the set"],
        ),
        (
            native("old") + native("new", port="8102") + SWAP + SWAP,
            ["promotion[1].name: must be unique in the set"],
        ),
        (
            native("old") + SWAP,
            ["promotion[0].target: must name a serve of the set"],
        ),
        (
            native("old") + native("new", port="8102") + SWAP.replace('"new"', "1"),
            ["promotion[0].target: must match [A-Za-z][A-Za-z0-9_-]{0,63}"],
        ),
        (
            native("old") + SWAP.replace('"new"', '"old"'),
            [
                "promotion[0].rollback: must be another serve than target",
                "promotion[0].target: must have another port than rollback: both run for a while",
            ],
        ),
        (
            native("old") + native("new") + SWAP,
            ["promotion[0].target: must have another port than rollback: both run for a while"],
        ),
        (
            (native("old") + native("new")).replace("8101", "0") + SWAP,
            [f"serve[{each}].port: must be a whole number from 1 to 65535" for each in (0, 1)],
        ),
        (
            native("old") + native("new", port="8102", router_tier='"kanarie"') + SWAP,
            ["promotion[0].affected_tiers: must have the router_tier of both serves"],
        ),
        (
            native("old") + native("new", port="8102") + SWAP.replace('["chat"]', "[]"),
            ["promotion[0].affected_tiers: must be an array of 1 to 200 different tiers"],
        ),
        (
            native("old") + native("new", port="8102") + SWAP + "drain_timeout = 3601\n",
            ["promotion[0].drain_timeout: must be a number of seconds above 0 and at most 3600"],
        ),
    ],
)
def test_what_a_set_must_not_say(text, said):
    """Each rule is told by the key path and its words, and never by a value."""
    assert problems(text) == said


def test_a_row_that_is_no_table_hides_no_other():
    """Nothing is asked of it, and what the others say is still checked."""
    assert problems("serve = [1]\n[[promotion]]\nname = 1\n")[-1] == "serve[0]: must be a table"


def test_profiles_name_what_the_set_has():
    """A mode, its exclusive serve and the group that comes back."""
    (found,) = parse_profiles(PROFILE.encode(), MANIFEST)
    assert (found.id, found.mode, found.exclusive_target, found.restore_group) == (
        "big",
        Mode.EXCLUSIVE,
        "duo",
        "day",
    )
    assert (found.startup_timeout, found.poll_interval) == (600, 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PROFILE.replace("/v1", "/v2"), [f"schema: must be {PROFILES_SCHEMA}"]),
        (PROFILE + "kanarie = 1\n", ["profile[0].kanarie: is not a known key"]),
        (
            PROFILE.replace('"duo"', '"one"'),
            ["profile[0].exclusive_target: must name a serve of dual-gpu-exclusive"],
        ),
        (
            PROFILE.replace('"duo"', '"kanarie"'),
            ["profile[0].exclusive_target: must name a serve of dual-gpu-exclusive"],
        ),
        (
            PROFILE.replace('"duo"', "1").replace('"day"', "1"),
            [
                "profile[0].exclusive_target: must match [A-Za-z][A-Za-z0-9_-]{0,63}",
                "profile[0].restore_group: must match [A-Za-z][A-Za-z0-9_-]{0,63}",
            ],
        ),
        (
            PROFILE.replace('"day"', '"kanarie"'),
            ["profile[0].restore_group: must name a group of serves"],
        ),
        (
            f'kanarie = 1\nschema = "{PROFILES_SCHEMA}"\n',
            ["must have no table but those that it may have"],
        ),
    ],
)
def test_what_profiles_must_not_say(text, said):
    """Told as a set's problems are."""
    with pytest.raises(ConfigError) as refused:
        parse_profiles(text.encode(), MANIFEST)
    assert [problem.line for problem in refused.value.problems] == said


def test_event_settings_are_off_unless_the_file_says_so():
    """Everything has a default, and an unknown key or table is refused."""
    assert parse_events(b"") == EventSettings()
    assert not EventSettings().enabled
    told = parse_events(b'[events]\nenabled = true\ncommand = ["x"]\nnode = "n"\n')
    assert (told.enabled, told.command, told.node) == (True, ("x",), "n")
    for text in (b"[kanarie]\n", b"[events]\nkanarie = 1\n", b"events = 1\n"):
        with pytest.raises(ConfigError) as refused:
            parse_events(text)
        assert len(refused.value.problems) == 1


def test_only_known_placeholders_are_filled_and_only_once():
    """Other braces stay, and a value that looks like a placeholder is not filled again."""
    words = ("--port={port}", "{dir}/x", '{"port": 1}', "{other}", "{dir}{port}")
    assert fill(words, {"port": "80", "dir": "{port}"}) == (
        "--port=80",
        "{port}/x",
        '{"port": 1}',
        "{other}",
        "{port}80",
    )


def test_a_gpu_has_room_for_what_fits_beside_what_runs():
    """Its reserve stays free, the serve itself is not counted twice, other GPUs do not matter."""
    manifest = parse_manifest([
        (
            table("gpu_roles", id='"left"', vram_mib="100", reserve_mib="10")
            + table("gpu_roles", id='"right"', vram_mib="100")
            + native("a", gpu_role='"left"', vram_mib="50")
            + native("b", gpu_role='"left"', vram_mib="40")
            + native("c", gpu_role='"left"', vram_mib="41")
            + native("d", gpu_role='"right"', vram_mib="100")
            + native("e", gpu_roles='["left", "right"]', vram_mib="90")
        ).encode()
    ])
    a, b, c, d, e = manifest.serves
    assert has_room(manifest, b, [a, d])
    assert has_room(manifest, a, [a, b])
    assert not has_room(manifest, c, [a])
    assert has_room(manifest, e, [])
    assert not has_room(manifest, e, [d])
    assert not has_room(manifest, d, [e])
