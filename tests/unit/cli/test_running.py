"""What is told when a command's work fails."""

import errno
import socket

import pytest
import trio

from anvil_trio.cli.exits import Exit
from anvil_trio.cli.running import run
from anvil_trio.config.problems import ConfigError, ConfigProblem, ProblemCode

CANARY = "canary-5417"


def failing(error, *, is_nested=False):
    """Work that fails with `error`, perhaps as it comes out of a nursery."""

    async def work():
        raise BaseExceptionGroup("nursery", [error]) if is_nested else error

    return work


def said(capsys, work, **options):
    """The status with which `run` ends, and what it wrote on stderr."""
    status: int | str | None = 0
    try:
        run(work, **options)
    except SystemExit as ended:
        status = ended.code
    return status, capsys.readouterr().err


def test_work_that_ends_well_says_nothing(capsys):
    """No output and no exit: the command goes on."""
    assert said(capsys, trio.lowlevel.checkpoint) == (0, "")


@pytest.mark.parametrize("is_nested", [False, True])
def test_every_problem_of_a_configuration_is_told(capsys, is_nested):
    """Status 2 and one line for each problem, also out of a nursery."""
    problems = [
        ConfigProblem("router.tiers[0].id", ProblemCode.REQUIRED, "is required"),
        ConfigProblem("server.port", ProblemCode.UNKNOWN_KEY, "is not a key of this table"),
    ]
    assert said(capsys, failing(ConfigError(problems), is_nested=is_nested)) == (
        2,
        "router.tiers[0].id: is required\nserver.port: is not a key of this table\n",
    )


@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            OSError(errno.EADDRINUSE, CANARY),
            "The address is already in use; --port 0 takes any free port.\n",
        ),
        (OSError(errno.EACCES, CANARY), "Listening on this port is not allowed.\n"),
        (OSError(errno.EADDRNOTAVAIL, CANARY), "This machine does not have that address.\n"),
        (socket.gaierror(1, CANARY), "The host does not name an address.\n"),
    ],
)
def test_an_address_that_cannot_be_had_is_one_line(capsys, error, words, is_nested):
    """Status 1 and fixed words."""
    assert said(capsys, failing(error, is_nested=is_nested)) == (1, words)


def test_a_fault_of_ours_is_raised():
    """An unexpected exception is not dressed up as something else."""
    with pytest.raises(OSError, match="disk"):
        run(failing(OSError(errno.EIO, "disk")))
    with pytest.raises(ZeroDivisionError):
        run(failing(ZeroDivisionError()))


@pytest.mark.parametrize(
    ("options", "status"), [({}, Exit.INTERRUPTED), ({"on_interrupt": Exit.SUCCESS}, 0)]
)
def test_an_interrupt_has_no_traceback(capsys, options, status):
    """Ctrl-C ends with the status that the command wants, and says nothing."""
    assert said(capsys, failing(KeyboardInterrupt(), is_nested=True), **options) == (status, "")


def test_a_reader_that_left_is_no_news(capfd):
    """Status 1 without a word when nobody reads stdout any more."""
    with pytest.raises(SystemExit) as ended:
        run(failing(BrokenPipeError(errno.EPIPE, "pipe")))
    assert ended.value.code == 1
