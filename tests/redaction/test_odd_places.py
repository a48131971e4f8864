"""R012 where nothing is as it should be: no folder, no home, a pipe or a device for every file.

A command that fails with an exception shows a stack, and with it paths and values; so each must end
with one of its own statuses, soon.
"""

import os
from itertools import product

import pytest

from anvil_trio.cli.main import PROGRAM, anvil_serving, main
from anvil_trio.cli.spec import CommandSpec, manifest
from tests.redaction.planted import leaks

SERVES_ALONE = frozenset({"demo", "demo-engine"})
LEAVES = [leaf for leaf in manifest(anvil_serving, PROGRAM) if leaf.words[1] not in SERVES_ALONE]
NEEDED = {
    "--tier": "kanarie",
    "--url": "http://127.0.0.1:1",
    "--model": "kanarie",
    "--config": "kanarie",
    "--restore-group": "kanarie",
}
FILES = (
    "serves.toml",
    "serve-profiles.toml",
    "events.toml",
    "router.toml",
    "router-install.toml",
    "router-diagnostics.toml",
    "operator-topology.toml",
)
KINDS = ("pipe", "folder", "loop", "device", "no utf-8", "mark", "large", "deep", "long key")


def line_of(leaf: CommandSpec) -> list[str]:
    """A line that is complete, and really would do it."""
    words = list(leaf.words[1:])
    words += ["kanarie" for _ in leaf.arguments]
    for option in leaf.options:
        if option.is_required:
            words += [option.name, NEEDED[option.name]]
    return words


def has(leaf: CommandSpec, name: str) -> bool:
    """Whether the command has that option."""
    return any(option.name == name for option in leaf.options)


def lines_of(leaf: CommandSpec) -> list[list[str]]:
    """The line, also confirmed, also for a machine."""
    given = [name for name in ("--confirm", "--json") if has(leaf, name)]
    choices = product(*([[], [name]] for name in given))
    return [[*line_of(leaf), *(word for part in chosen for word in part)] for chosen in choices]


def words_of(leaf: CommandSpec) -> str:
    """What to call one leaf in a report."""
    return " ".join(leaf.words[1:])


def put(path, kind: str) -> None:
    """Something in the place of a file."""
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "loop":
            path.symlink_to(path)
        case "device":
            path.symlink_to("/dev/full")
        case _:
            text = {
                "no utf-8": b'kanarie = "\xff"\n',
                "mark": b'\xef\xbb\xbfkanarie = "kanarie"\r\n',
                "large": b"# kanarie\n" * 200_000,
                "deep": b"kanarie = " + b"[" * 100_000,
                "long key": b"kanarie." * 100_000 + b"a = 1",
            }
            path.write_bytes(text[kind])


@pytest.fixture
def said(capfd, monkeypatch):
    """Calls one line; it must end by itself, soon, and show nothing."""
    monkeypatch.setenv("ANVIL_SERVING_NO_HOME_ENV", "1")
    monkeypatch.setenv("ANVIL_ROUTER_TOKEN", "kanarie-token")
    monkeypatch.setenv("ANVIL_ROUTER_URL", "http://127.0.0.1:1")  # nobody has this port

    def call(line: list[str]) -> tuple[object, list[str]]:
        with pytest.raises(SystemExit) as ended:
            main(line)
        out, err = capfd.readouterr()
        return ended.value.code, [*leaks(str(line), out), *leaks(str(line), err)]

    return call


@pytest.mark.parametrize("leaf", LEAVES, ids=words_of)
def test_no_file_is_waited_for_or_told(leaf, tmp_path, said, monkeypatch):
    """R012: a pipe, a device, a loop, bytes of any kind in the place of each file."""
    for number, (name, kind) in enumerate(product(FILES, KINDS)):
        home = tmp_path / f"kanarie-{number}"
        home.mkdir()
        put(home / name, kind)
        monkeypatch.setenv("ANVIL_SERVING_HOME", str(home))
        for line in lines_of(leaf):
            status, leaked = said(line)
            assert not leaked
            assert status in {1, 2, 3, 4, 0}, (line, name, kind)


@pytest.mark.parametrize("home", ["pipe", "folder", "loop", "device", "absent", "relative", "~"])
@pytest.mark.parametrize("leaf", LEAVES, ids=words_of)
def test_no_folder_is_needed(leaf, home, tmp_path, said, monkeypatch):
    """R012: not the current one, which may be gone, and not the operator's home either."""
    path = tmp_path / "kanarie"
    if home in KINDS:
        put(path, home)
    told = {"relative": "kanarie/kanarie", "~": "~/kanarie"}.get(home, str(path))
    monkeypatch.setenv("ANVIL_SERVING_HOME", told)
    monkeypatch.setenv("HOME", "")
    monkeypatch.setattr("pathlib.Path.home", no_home)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for line in lines_of(leaf):
        status, leaked = said(line)
        assert not leaked
        assert status in {0, 1, 2, 3, 4}, line


def no_home() -> None:
    """What Python says where the machine does not know the user."""
    raise RuntimeError("kanarie")


@pytest.mark.parametrize("leaf", LEAVES, ids=words_of)
def test_no_value_makes_a_command_fail_with_a_stack(leaf, tmp_path, said, monkeypatch):
    """R012: what is no number, no text or no name, in each position, before and after."""
    monkeypatch.setenv("ANVIL_SERVING_HOME", str(tmp_path))
    values = ("", "nan", "inf", "-1", "kanarie\udcff", "kanarie\0", "kanarie\u202e", "--", "~")
    words = [
        "--",
        "--kanarie",
        "--help=kanarie",
        "--js\u043en",
        "-kanarie",
        "@kanarie",
        "kanarie\udcff",
    ]
    odd = [
        [option.name, value] for option in leaf.options if not option.is_flag for value in values
    ]
    odd += [[f"{option.name}=kanarie"] for option in leaf.options if option.is_flag]
    for more in [*odd, *([word] for word in words)]:
        line = line_of(leaf)
        here = len(leaf.words) - 1
        for mixed in ([*line, *more], [*line[:here], *more, *line[here:]]):
            status, leaked = said(mixed)
            assert not leaked
            assert status in {1, 2, 3, 4, 0}, mixed
