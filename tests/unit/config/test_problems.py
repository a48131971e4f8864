"""How problems are ordered and shown."""

import pickle

from anvil_trio.config.problems import (
    ConfigError,
    ConfigProblem,
    ProblemCode,
    find_duplicates,
    key_path,
)


def problem(path: str, message: str = "is wrong") -> ConfigProblem:
    """A problem at a path."""
    return ConfigProblem(path, ProblemCode.INVALID, message)


def test_problems_are_told_once_in_the_order_of_their_paths() -> None:
    """Row 10 follows row 9, whatever the order in which they were found."""
    found = [problem("t[10].a"), problem("t[9].a"), problem("s.b"), problem("t[9].a", "is bad")]
    error = ConfigError([*found, *found])
    assert str(error) == "s.b: is wrong\nt[9].a: is bad\nt[9].a: is wrong\nt[10].a: is wrong"
    assert error.problems == ConfigError(reversed(found)).problems
    assert isinstance(error, ValueError)


def test_a_problem_of_the_whole_file_has_no_path() -> None:
    """Its message stands alone."""
    assert problem("").line == "is wrong"


def test_a_key_is_shown_only_if_it_is_a_plain_word() -> None:
    """Anything else could be a value in the wrong place."""
    assert key_path("server", "auth_env") == "server.auth_env"
    assert key_path("", "server") == "server"
    for key in ("a b", "", "k" * 65, "a\n"):
        assert key_path("server", key) == "server.(quoted key)"


def test_every_place_after_the_first_is_a_duplicate() -> None:
    """The first one keeps its value."""
    found = find_duplicates([("a", 1), ("b", 1), ("c", 2), ("d", 1)], "must be unique")
    assert [(each.path, each.code) for each in found] == [
        ("b", ProblemCode.DUPLICATE),
        ("d", ProblemCode.DUPLICATE),
    ]


def test_a_problem_can_travel_between_processes() -> None:
    """It is plain data."""
    assert pickle.loads(pickle.dumps(problem("a"))) == problem("a")
