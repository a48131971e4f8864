"""Serves as real processes: started for good, known for sure, ended for good."""

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from anvil_trio.lifecycle import gate, log_keeper
from anvil_trio.lifecycle.engines import Engines
from anvil_trio.lifecycle.faults import LifecycleFailed
from anvil_trio.lifecycle.manifest import parse_manifest
from anvil_trio.lifecycle.native import NativeProcesses, Presence
from anvil_trio.lifecycle.store import hold_lock
from tests.lifecycle.samples import native, table
from tests.support.wire import until
from tests.wire.lifecycle.alive import fields_of, is_alive, members_of

pytestmark = pytest.mark.wire

SLEEPS = "import time; print('up', flush=True); time.sleep(300)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPS}"
PARENT = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEPS!r}]); {SLEEPS}"
SERVES = (
    "import http.server, sys; http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), "
    "http.server.SimpleHTTPRequestHandler).serve_forever()"
)


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def command(*words: str) -> str:
    """A command of this Python, as the files write it."""
    return json.dumps([sys.executable, *words])


@pytest.fixture
def one(tmp_path):
    """Makes one serve and what runs it; whatever is left is ended."""
    made = []

    def make(*words: str, **keys: str):
        text = native("one", port=str(free_port()), command=command(*words), **keys)
        serve = parse_manifest([text.encode()]).serves[0]
        made.append(serve)
        return serve, NativeProcesses(tmp_path / "home", tmp_path)

    yield make
    for serve in made:  # by pid and start time, or not at all: a test's file may name anybody
        with suppress(LifecycleFailed):
            trio.run(NativeProcesses(tmp_path / "home", tmp_path).stop, serve)


def pid_of(folder: Path) -> int:
    """The process that the pid file names."""
    return int(json.loads((folder / "home" / "run" / "one.json").read_bytes())["pid"])


def log_of(folder: Path) -> str:
    """What the serve has written."""
    path = folder / "home" / "logs" / "one.log"
    return path.read_text() if path.exists() else ""


async def code_of(work) -> str:
    """Why it was not done."""
    with pytest.raises(LifecycleFailed) as refused:
        await work
    return refused.value.code


async def test_a_serve_leads_a_session_of_its_own_and_is_known_by_its_start(tmp_path, one):
    """Pid and start time are what the kernel says; its folder, arguments and log are as told."""
    text = "import os; print(os.getcwd(), os.sys.argv[1:], os.environ.get('ANVIL_ROUTER_TOKEN'))"
    serve, processes = one("-c", f"{text}; {SLEEPS}", "{port}", "{dir}", "{other}", "; touch x")
    os.environ["ANVIL_ROUTER_TOKEN"] = "kanarie"
    try:
        await processes.start(serve)
    finally:
        del os.environ["ANVIL_ROUTER_TOKEN"]
    pid = pid_of(tmp_path)
    assert os.getsid(pid) == os.getpgid(pid) == pid != os.getsid(0)
    told = json.loads((tmp_path / "home" / "run" / "one.json").read_bytes())
    assert told["start_time"] == int(fields_of(pid)[19])
    await until(lambda: "up" in log_of(tmp_path))
    words = [str(serve.port), str(tmp_path), "{other}", "; touch x"]
    assert log_of(tmp_path).startswith(f"{tmp_path} {words} None\n")
    assert await processes.find(serve) is Presence.RUNNING
    await processes.start(serve)
    assert pid_of(tmp_path) == pid
    await processes.stop(serve)
    assert not is_alive(pid)
    assert await processes.find(serve) is Presence.STOPPED
    await processes.stop(serve)


async def test_what_does_not_end_when_asked_is_killed_after_its_time(tmp_path, one):
    """TERM first, KILL after stop_timeout_s and not before."""
    serve, processes = one("-c", STUBBORN, stop_timeout_s="0.5")
    await processes.start(serve)
    await until(lambda: "up" in log_of(tmp_path))
    pid, start = pid_of(tmp_path), trio.current_time()
    await processes.stop(serve)
    assert 0.5 <= trio.current_time() - start < 5
    assert not is_alive(pid)


async def test_what_a_serve_started_ends_with_it(tmp_path, one):
    """Its workers are in its group."""
    serve, processes = one("-c", PARENT)
    await processes.start(serve)
    await until(lambda: log_of(tmp_path).count("up") == 2)
    pid = pid_of(tmp_path)
    workers = members_of(pid)
    assert len(workers) == 2
    await processes.stop(serve)
    assert not any(map(is_alive, workers))


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_what_a_serve_left_behind_when_it_crashed_is_ended(tmp_path, one, is_restarted):
    """Its workers hold the port and the GPU: a stop ends them, and so does the next start."""
    serve, processes = one("-c", PARENT)
    await processes.start(serve)
    await until(lambda: log_of(tmp_path).count("up") == 2)
    pid = pid_of(tmp_path)
    (worker,) = [each for each in members_of(pid) if each != pid]
    os.kill(pid, signal.SIGKILL)  # started a moment ago, by us
    await until(lambda: not is_alive(pid))
    assert await processes.find(serve) is Presence.STOPPED
    assert is_alive(worker)
    await (processes.start if is_restarted else processes.stop)(serve)
    assert not is_alive(worker)


@pytest.mark.parametrize("key", ["mark", "boot_id"])
async def test_a_group_whose_leader_is_gone_must_have_the_mark(tmp_path, one, key):
    """Its number may have been another's in between: nothing is sent to a group of strangers."""
    serve, processes = one("-c", PARENT)
    await processes.start(serve)
    await until(lambda: log_of(tmp_path).count("up") == 2)
    pid, path = pid_of(tmp_path), tmp_path / "home" / "run" / "one.json"
    (worker,) = [each for each in members_of(pid) if each != pid]
    told = json.loads(path.read_bytes())
    os.kill(pid, signal.SIGKILL)  # started a moment ago, by us
    await trio.to_thread.run_sync(os.waitpid, pid, 0)
    path.write_text(json.dumps({**told, key: "another"}))
    await processes.stop(serve)
    assert is_alive(worker)
    path.write_text(json.dumps(told))
    await processes.stop(serve)
    assert not is_alive(worker)


async def test_a_pipe_in_the_place_of_a_pid_file_means_nobody(tmp_path, one):
    """It is not waited for, and nothing is started over it unseen."""
    serve, processes = one("-c", SLEEPS)
    path = tmp_path / "home" / "run" / "one.json"
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with trio.fail_after(5):
        assert await processes.find(serve) is Presence.MISMATCH
        assert await code_of(processes.stop(serve)) == "serve_process_mismatch"
    path.unlink()


@pytest.mark.parametrize("key", ["start_time", "pid"])
async def test_a_stop_refuses_where_pid_and_start_do_not_match(tmp_path, one, key):
    """Another process has that pid by now: nothing is sent to it, and the file stays."""
    serve, processes = one("-c", SLEEPS)
    await processes.start(serve)
    pid, path = pid_of(tmp_path), tmp_path / "home" / "run" / "one.json"
    told = json.loads(path.read_bytes())
    changed = {**told, key: os.getpid() if key == "pid" else told[key] - 1}
    path.write_text(json.dumps(changed))
    assert await processes.find(serve) is Presence.MISMATCH
    assert await code_of(processes.stop(serve)) == "serve_process_mismatch"
    assert is_alive(pid)
    assert json.loads(path.read_bytes()) == changed
    path.write_text(json.dumps(told))


@pytest.mark.parametrize("text", ["", "{}", '{"pid": 1, "start_time": 0, "boot_id": ""}'])
async def test_a_damaged_pid_file_means_nobody(tmp_path, one, text):
    """It is not guessed at, and nothing is sent."""
    serve, processes = one("-c", SLEEPS)
    path = tmp_path / "home" / "run" / "one.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert await processes.find(serve) is Presence.MISMATCH
    assert await code_of(processes.stop(serve)) == "serve_process_mismatch"


async def test_a_pid_from_before_a_restart_of_the_machine_means_nothing(tmp_path, one):
    """Numbers begin anew with the machine; a stop then has nothing to do."""
    serve, processes = one("-c", SLEEPS)
    path = tmp_path / "home" / "run" / "one.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"pid": os.getpid(), "start_time": 1, "boot_id": "another"}))
    assert await processes.find(serve) is Presence.STOPPED
    await processes.stop(serve)
    assert not path.exists()


async def test_a_port_that_somebody_has_is_not_fought_over(one):
    """Nothing is started beside a server that would answer for it."""
    serve, processes = one("-c", SLEEPS)
    with socket.create_server(("127.0.0.1", serve.port)):
        assert await code_of(processes.start(serve)) == "serve_port_in_use"
        assert await processes.find(serve) is Presence.STOPPED


async def test_nothing_is_started_that_could_not_be_written_down(tmp_path, one):
    """The command waits for its pid file: whoever dies before leaves nothing behind."""
    serve, processes = one("-c", f"open('started', 'w'); {SLEEPS}")
    (tmp_path / "home" / "run").mkdir(parents=True)
    (tmp_path / "home" / "run" / "one.json.new").mkdir()
    assert await code_of(processes.start(serve)) == "serve_not_started"
    await trio.sleep(0.3)
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(("said", "is_started"), [(b"", False), (b"0", False), (b"1", True)])
def test_the_gate_opens_for_one_word_only(tmp_path, said, is_started):
    """A starter that is killed closes the descriptor, and the command is not run."""
    reader, writer = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-I", "-S", gate.__file__, str(reader), str(tmp_path), "touch", "started"],
        pass_fds=[reader],
    ) as process:
        os.close(reader)
        os.write(writer, said)
        os.close(writer)
        status = process.wait(10)
    assert (tmp_path / "started").exists() is is_started
    assert status == (0 if is_started else 127)


def test_a_gate_whose_command_is_not_there_says_nothing(tmp_path):
    """It ends as shells do for what they do not find."""
    reader, writer = os.pipe()
    os.write(writer, b"1")
    os.close(writer)
    ended = subprocess.run(
        [sys.executable, "-I", "-S", gate.__file__, str(reader), str(tmp_path), "/no/such"],
        pass_fds=[reader],
        capture_output=True,
        check=False,
    )
    os.close(reader)
    assert (ended.returncode, ended.stdout, ended.stderr) == (127, b"", b"")


def test_a_log_is_bounded_and_the_one_before_is_kept(tmp_path):
    """Two files of the bound at most, with the newest lines; the keeper ends with the serve."""
    lines = b"".join(b"%07d\n" % number for number in range(20_000))
    with subprocess.Popen(
        [sys.executable, "-I", "-S", log_keeper.__file__, str(tmp_path / "x.log"), "8192"],
        stdin=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        for start in range(0, len(lines), 4096):
            process.stdin.write(lines[start : start + 4096])
            process.stdin.flush()
        process.stdin.close()
        assert process.wait(10) == 0
    newest, older = tmp_path / "x.log", tmp_path / "x.log.1"
    assert newest.stat().st_size <= 8192
    assert older.stat().st_size <= 8192
    assert newest.read_bytes().endswith(b"0019999\n")


def test_a_log_that_cannot_be_written_stops_nobody(tmp_path):
    """What comes is read on, so a serve never waits for a full disk."""
    reader, writer = os.pipe()
    os.write(writer, b"x" * 1000)
    os.close(writer)
    log_keeper.keep(reader, tmp_path / "none" / "x.log", 4096)
    os.close(reader)


async def test_a_serve_that_ends_at_once_is_not_waited_for(tmp_path):
    """Its time is not used up; and one that never is healthy is given no more than its time."""
    text = native("gone", port=str(free_port()), command=command("-c", "print('no')"))
    text += native("sick", port=str(free_port()), command=command("-c", SLEEPS))
    text += native(
        "good", port=str(free_port()), command=command("-c", SERVES, "{port}"), health='"/"'
    )
    manifest = parse_manifest([text.encode()])
    engines = Engines(manifest, tmp_path / "home", tmp_path)
    gone, sick, good = manifest.serves
    try:
        with trio.fail_after(20):
            assert await code_of(engines.start(gone, within_s=60)) == "serve_exited"
        assert await code_of(engines.start(sick, within_s=0.5)) == "serve_not_healthy"
        await engines.start(good, within_s=30)
        assert await engines.running() == (sick, good)
        assert not await engines.is_healthy(sick)
        assert await engines.is_healthy(good)
    finally:
        with trio.move_on_after(30, shield=True):
            for serve in manifest.serves:
                await engines.stop(serve)
    assert await engines.running() == ()


async def test_a_gpu_without_room_starts_nothing(tmp_path):
    """Two serves that do not fit beside one another: the second is refused, and not started."""
    text = table("gpu_roles", id='"left"', vram_mib="100")
    for name in ("a", "b"):
        text += native(
            name,
            port=str(free_port()),
            command=command("-c", SERVES, "{port}"),
            health='"/"',
            gpu_role='"left"',
            vram_mib="60",
        )
    manifest = parse_manifest([text.encode()])
    engines = Engines(manifest, tmp_path / "home", tmp_path)
    first, second = manifest.serves
    try:
        await engines.start(first, within_s=30)
        assert await code_of(engines.start(second, within_s=30)) == "gpu_memory_exceeded"
        assert await engines.find(second) is Presence.STOPPED
        await engines.start(first, within_s=30)
    finally:
        with trio.move_on_after(30, shield=True):
            await engines.stop(first)


def test_the_lock_is_held_by_one_and_ends_with_its_process(tmp_path):
    """Nobody waits for it, and a killed command leaves it free."""
    script = (
        "import sys, time; from pathlib import Path; "
        "from anvil_trio.lifecycle.store import hold_lock\n"
        "with hold_lock(Path(sys.argv[1])): print('held', flush=True); time.sleep(300)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(LifecycleFailed, match="lifecycle_locked"), hold_lock(tmp_path):
            pass
        process.kill()
    with hold_lock(tmp_path):
        pass
