"""Every module says what is public, and the whole of it is checked in."""

from tests.house.public_names import LIST, declared, render
from tests.house.tree import PACKAGE, python_files, shown


def test_every_module_lists_its_public_names() -> None:
    """Each module that holds code has an `__all__`."""
    files = [path for path in python_files(PACKAGE) if not path.name.startswith("__")]
    assert not [shown(path) for path in files if declared(path) is None]


def test_the_public_names_are_those_that_were_agreed() -> None:
    """All public names equal public_names.txt; `python -m tests.house.public_names` rewrites it."""
    assert render().splitlines() == LIST.read_text(encoding="utf-8").splitlines()
