"""The `serves` commands as they are called: status, words and JSON, in an operator's home."""

import json

import pytest

from anvil_trio.cli.exits import Exit
from anvil_trio.cli.main import main
from anvil_trio.cli.router_client import ORDER_REFUSALS
from anvil_trio.cli.router_orders import ACTIVATION_REFUSED
from anvil_trio.cli.serves_words import explain_failure
from anvil_trio.lifecycle.faults import Fault
from anvil_trio.lifecycle.guard import LifecycleRefusal
from tests.lifecycle.samples import FULL, PROFILE, SWAP, native
from tests.lifecycle.world import router_toml

CANARY = "kanarie"
UNSUPPORTED = LifecycleRefusal.UNSUPPORTED.value
UNAVAILABLE = LifecycleRefusal.CONFIGURATION_UNAVAILABLE.value
ROUTED = [
    ["mode", "preview", "duo", "--restore-group", "day"],
    ["mode", "enter", "duo", "--restore-group", "day", "--confirm"],
    ["mode", "enter", "duo", "--restore-group", "day"],
    ["mode", "leave", "duo", "--restore-group", "day", "--confirm"],
    ["profile", "preview", "big"],
    ["profile", "apply", "big", "--confirm"],
]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An operator's home with everything in it, under a name that must not be shown."""
    folder = tmp_path / CANARY
    folder.mkdir()
    monkeypatch.setenv("ANVIL_SERVING_HOME", str(folder))
    monkeypatch.setenv("ANVIL_SERVING_NO_HOME_ENV", "1")
    monkeypatch.delenv("ANVIL_ROUTER_TOKEN", raising=False)
    monkeypatch.chdir(tmp_path)
    (folder / "serves.toml").write_text(FULL)
    (folder / "serve-profiles.toml").write_text(PROFILE)
    for number, name in enumerate(("router", "old", "new")):
        (folder / f"{name}.toml").write_text(router_toml(9000 + 100 * number))
    return folder


@pytest.fixture
def said(capfd):
    """Calls one command: its status, stdout and stderr, in which no canary may be."""

    def call(*words):
        status = 0
        try:
            main(["serves", *words])
        except SystemExit as ended:
            status = int(ended.code or 0)
        out, err = capfd.readouterr()
        assert CANARY not in (out + err).lower()
        return status, out, err

    return call


def state_of(home) -> list[str]:
    """What an operation leaves in a home."""
    return sorted(path.name for path in home.iterdir() if path.is_dir() or path.suffix != ".toml")


def test_every_code_has_fixed_words():
    """R012: what is said is chosen by the code, and the guard's words are its code."""
    for fault in Fault:
        failure = explain_failure(fault.value)
        assert failure.code == fault.value
        assert failure.message.endswith(".")
    for code, failure in ORDER_REFUSALS.items():  # a router may refuse anything with any of them
        assert explain_failure(code).code == code == failure.code
    assert explain_failure(ACTIVATION_REFUSED).status is Exit.EXECUTION
    assert explain_failure("router_unreachable").status is Exit.TRANSPORT
    assert explain_failure("router_token_required").status is Exit.USAGE
    for refusal in LifecycleRefusal:
        for status in (Exit.EXECUTION, Exit.USAGE):
            failure = explain_failure(refusal.value, refused_as=status)
            assert (failure.status, failure.message) == (status, refusal.value)
    with pytest.raises(AssertionError, match="a code without words"):
        explain_failure(CANARY)


@pytest.mark.parametrize("words", ROUTED, ids=" ".join)
def test_a_routed_mode_is_guarded_by_the_homes_configuration(home, said, words):
    """T012.2: the default is the operator's home alone; the fixed code, status 2, no mutation."""
    (home.parent / "router.toml").write_text(router_toml(9000))  # the current directory's
    (home / "router.toml").write_text(router_toml(9000, replicas=("left",)))
    assert said(*words) == (2, "", f"{UNSUPPORTED}\n")
    (home / "router.toml").unlink()
    assert said(*words) == (2, "", f"{UNAVAILABLE}\n")
    assert state_of(home) == []


@pytest.mark.parametrize("words", ROUTED, ids=" ".join)
def test_an_explicit_configuration_takes_its_place(home, said, words):
    """T012.2: --config reaches the same guard."""
    other = home / "other.toml"
    other.write_text(router_toml(9000, replicas=("right",)))
    assert said(*words, "--config", str(other)) == (2, "", f"{UNSUPPORTED}\n")
    assert said(*words, "--config", str(home / "none")) == (2, "", f"{UNAVAILABLE}\n")
    assert state_of(home) == []


def test_status_and_list_need_no_configuration(home, said):
    """T012.2: they stay as they are, and change nothing."""
    (home / "router.toml").unlink()
    assert said("mode", "status") == (0, "stopped: nothing runs\n", "")
    assert said("profile", "list") == (0, "big: dual-gpu-exclusive, duo\n", "")
    assert said("status", "one") == (0, "one: stopped, not healthy\n", "")
    assert said("list")[0] == 0
    assert state_of(home) == []


def test_a_preview_says_what_would_be_done(home, said):
    """In lines, and in an object."""
    status, out, err = said("mode", "preview", "duo", "--restore-group", "day")
    assert (status, err) == (0, "")
    assert out == "stops: west, east\nstarts: duo\ncloses: -\nopens: big\n"
    answer = json.loads(said("profile", "preview", "big", "--json")[1])
    assert answer["data"]["operation"]["stops"] == ["west", "east"]
    assert (answer["command"], answer["ok"]) == ("serves profile preview", True)


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (["up", "nobody", "--confirm"], 2, "serves_name_unknown"),
        (["down", "nobody", "--confirm"], 2, "serves_name_unknown"),
        (["status", "nobody"], 2, "serves_name_unknown"),
        (["up", "one"], 3, "confirmation_required"),
        (["down", "all"], 3, "confirmation_required"),
        (["mode", "enter", "duo", "--restore-group", "day"], 3, "confirmation_required"),
        (["mode", "leave", "duo", "--restore-group", "day"], 3, "confirmation_required"),
        (["profile", "apply", "big"], 3, "confirmation_required"),
        (["promote", "swap"], 3, "confirmation_required"),
        (["promote", "swap", "--resume"], 3, "confirmation_required"),
        (["promote", "swap", "--rollback"], 3, "confirmation_required"),
        (["promote", "nobody"], 2, "serves_name_unknown"),
        (["promote", "swap", "--resume", "--confirm"], 1, "nothing_to_resume"),
        (["promote", "swap", "--rollback", "--confirm"], 1, "nothing_to_roll_back"),
        (["promote", "swap", "--confirm"], 2, "router_token_required"),
        (["mode", "enter", "one", "--restore-group", "day"], 2, "serves_name_unknown"),
        (["mode", "enter", "duo", "--restore-group", "x"], 2, "serves_group_unknown"),
        (["mode", "enter", "duo", "--restore-group", "all"], 2, "serves_group_unknown"),
        (
            ["mode", "enter", "duo", "--restore-group", "day", "--confirm"],
            2,
            "router_token_required",
        ),
        (["profile", "apply", "x"], 2, "serves_name_unknown"),
        (["up-for", "nobody"], 2, "alias_unknown"),
        (["up-for", "pair"], 1, UNSUPPORTED),
        (["up-for", "pair", "--confirm"], 1, UNSUPPORTED),
        (["up-for", "chat"], 1, "serve_backer_ambiguous"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_a_refusal_has_its_status_and_its_code(home, said, words, status, code):
    """On stderr in words, and in the object with its class."""
    found = said(*words)
    assert found[0] == status
    assert found[2].startswith(code)
    again = said(*words, "--json")
    answer = json.loads(again[1])
    assert (again[0], again[2]) == (status, "")
    assert (answer["ok"], answer["error"]["code"]) == (False, code)
    assert answer["error"]["class"] == Exit(status).name.lower()
    if status in {2, 3}:
        assert not (home / "operations").exists()


@pytest.mark.parametrize("flags", [[], ["--resume"], ["--rollback"], ["--dry-run"]])
def test_a_promotion_of_replicas_is_refused_without_a_trace(home, said, flags):
    """T012.1: status 1, the fixed code, and nothing in the operator's home."""
    (home / "new.toml").write_text(router_toml(9000, replicas=("chat", "pair")))
    assert said("promote", "swap", "--confirm", *flags) == (1, "", f"{UNSUPPORTED}\n")
    (home / "new.toml").write_text("")
    assert said("promote", "swap", "--confirm", *flags) == (1, "", f"{UNAVAILABLE}\n")
    assert state_of(home) == []


def test_only_one_way_of_a_promotion_may_be_given(home, said):
    """A dry run that resumes is nothing."""
    status, _, err = said("promote", "swap", "--resume", "--dry-run")
    assert status == 2
    assert "Only one of --dry-run, --resume and --rollback may be given." in err


def test_a_dry_run_shows_the_steps(home, said):
    """No router is needed, and nothing is written."""
    status, out, err = said("promote", "swap", "--dry-run")
    assert (status, err) == (0, "")
    assert out == (
        "swap: old -> new\nstart -> gate -> quiesce -> drain -> route -> readmit -> stop\n"
    )
    data = json.loads(said("promote", "swap", "--dry-run", "--json")[1])["data"]
    assert (data["applied"], data["dry_run"], data["operation"]["id"]) == (False, True, None)
    assert state_of(home) == []


def test_an_unknown_alias_is_told_those_that_there_are(home, said):
    """T012.1: before the guard, and before any serve is looked at."""
    (home / "serves.toml").unlink()
    status, out, err = said("up-for", "nobody")
    assert (status, out) == (2, "")
    assert err == (
        "alias_unknown: The configuration has no such alias. "
        "It has: chat, left, right, big, pair.\n"
    )
    assert said("up-for", "pair")[2] == f"{UNSUPPORTED}\n"
    (home / "router.toml").unlink()
    assert said("up-for", "chat") == (2, "", f"{UNAVAILABLE}\n")


def test_an_alias_with_one_serve_shows_the_chain(home, said):
    """Without --confirm nothing is started."""
    assert said("up-for", " LEFT ") == (0, "left -> left -> west\n", "")
    data = json.loads(said("up-for", "big", "--json")[1])["data"]
    assert data == {"alias": "big", "tier": "big", "serve": "duo", "started": False}
    assert state_of(home) == []


def test_no_backer_is_its_own_refusal(home, said):
    """A direct tier that no serve names."""
    (home / "serves.toml").write_text(native("one"))
    assert said("up-for", "chat")[0] == 1
    assert said("up-for", "chat")[2].startswith("serve_backer_missing")


@pytest.mark.parametrize(
    ("name", "text", "code", "line"),
    [
        (
            "serves.toml",
            "[[serve]]\nport = 0\n",
            "serves_manifest_invalid",
            "serve[0].name: is required",
        ),
        ("serves.toml", None, "serves_manifest_invalid", "there is no such file"),
        (
            "serves.toml",
            native("old") + native("new", port="8102") + SWAP.replace("new.toml", "kanarie.toml"),
            "serves_manifest_invalid",
            "promotion[0].router_config: must name a file that can be read",
        ),
        ("serve-profiles.toml", "x = 1\n", "serve_profiles_invalid", "schema: must be"),
        ("serve-profiles.toml", None, "serve_profiles_invalid", "there is no such file"),
        (
            "events.toml",
            "[events]\nx = 1\n",
            "serve_events_invalid",
            "events.x: is not a known key",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_told_by_key_and_rule(home, said, name, text, code, line):
    """Every problem on a line, or in the object; a configuration that is named must be there."""
    path = home / name
    path.unlink(missing_ok=True)
    if text is not None:
        path.write_text(text)
    status, out, err = said("profile", "preview", "big")
    assert (status, out) == (2, "")
    assert line in err
    assert err.splitlines()[-1].startswith(code)
    answer = json.loads(said("profile", "preview", "big", "--json")[1])
    lines = [f"{each['path']}: {each['message']}" for each in answer["data"]["problems"]]
    assert any(line.partition(": ")[2] in each for each in lines)


def test_a_set_has_a_bounded_number_of_files(home, said):
    """What nobody could look over is not read."""
    for number in range(65):
        (home / f"serves-{number}.toml").write_text("")
    status, _, err = said("list")
    assert (status, err.splitlines()[0]) == (2, "must be a set of at most 64 files")


def test_the_list_shows_no_command_and_no_path(home, said):
    """What is declared of a serve is listed key by key."""
    answer = json.loads(said("list", "--json")[1])
    assert [each["name"] for each in answer["data"]["serves"]][:2] == ["one", "box-one"]
    assert answer["data"]["promotions"] == [
        {
            "name": "swap",
            "target": "new",
            "rollback": "old",
            "affected_tiers": ["chat"],
            "candidate": None,
        }
    ]
    assert "engine --port" not in json.dumps(answer)
    assert "compose" not in json.dumps(answer)
