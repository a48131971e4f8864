"""What each module of the package offers to others: `python -m tests.house.public_names` writes it.

The list is checked in, so that growth is a decision and shows in a review.
"""

import ast
from collections.abc import Sequence
from pathlib import Path

from tests.house.tree import PACKAGE, module_name, parsed, python_files

__all__ = ["LIST", "declared", "render"]

LIST = Path(__file__).with_name("public_names.txt")

_HAVE_NONE = {"__init__.py", "__main__.py"}


def declared(path: Path) -> Sequence[str] | None:
    """The names in `__all__` of one module; None where it has no such list."""
    for node in parsed(path).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return tuple(ast.literal_eval(node.value))
    return None


def render() -> str:
    """One line per module: its name and its public names, sorted."""
    lines = []
    for path in python_files(PACKAGE):
        if path.name not in _HAVE_NONE:
            names = sorted(declared(path) or ())
            lines.append(f"{module_name(path)}: {' '.join(names)}".rstrip())
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    LIST.write_text(render(), encoding="utf-8")
