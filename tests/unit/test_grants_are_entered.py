"""Nothing may await between a grant and the `with` that gives it back."""

import ast
from pathlib import Path

import pytest

import anvil_trio

PACKAGE = Path(anvil_trio.__file__).parent
ASKS = {"acquire", "enter"}
WAITS = (ast.Await, ast.AsyncWith, ast.AsyncFor)


def lost_grants(source: str) -> list[int]:
    """The lines with `got = await x.acquire(...)` whose `with got` is not the next to wait.

    What runs only if the grant was refused, or was never made, may do as it likes.
    """
    lost = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.AsyncFunctionDef):
            continue
        for ask in (n for n in ast.walk(function) if isinstance(n, ast.Await) and is_ask(n)):
            name = bound_name(function, ask)
            excused = {
                inner
                for branch in ast.walk(function)
                if isinstance(branch, ast.If) and is_refusal(branch.test, name)
                for statement in branch.body
                for inner in ast.walk(statement)
            }
            later = [n for n in ast.walk(function) if position(n) > position(ask, at_end=True)]
            entries = [n for n in later if isinstance(n, ast.With) and enters(n, name)]
            waits = [n for n in later if isinstance(n, WAITS) and n not in excused]
            limit = min(map(position, waits), default=(1 << 30, 0))
            if name is None or not entries or min(map(position, entries)) > limit:
                lost.append(ask.lineno)
    return lost


def position(node: ast.AST, *, at_end: bool = False) -> tuple[int, int]:
    """Where a node begins (or ends) in its file; nodes without a place come first."""
    side = "end_" if at_end else ""
    return getattr(node, f"{side}lineno", 0), getattr(node, f"{side}col_offset", 0)


def is_ask(node: ast.Await) -> bool:
    """Whether this waits for a grant."""
    call = node.value
    return isinstance(call, ast.Call) and getattr(call.func, "attr", None) in ASKS


def bound_name(function: ast.AST, ask: ast.Await) -> str | None:
    """The one name that an answer is bound to, if it is."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(name)], value=value) if value is ask:
                return name
            case ast.AnnAssign(target=ast.Name(name), value=value) if value is ask:
                return name
            case ast.NamedExpr(target=ast.Name(name), value=value) if value is ask:
                return name
    return None


def is_refusal(test: ast.expr, name: str | None) -> bool:
    """Whether a condition says that there is no grant: refused, or given up while waiting."""
    text = ast.unparse(test)
    return text == f"isinstance({name}, Refused)" or text.endswith(".cancelled_caught")


def enters(statement: ast.With, name: str | None) -> bool:
    """Whether this block gives back what the name holds."""
    return any(getattr(item.context_expr, "id", None) == name for item in statement.items)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.stem)
def test_every_grant_is_entered_at_once(path):
    """R009: whoever asks for a lease or a permit enters it before it awaits anything else."""
    assert lost_grants(path.read_text(encoding="utf-8")) == []


GOOD = """
async def run(tier):
    with trio.move_on_at(deadline) as waiting:
        got = await tier.acquire(client)
    if waiting.cancelled_caught:
        return await respond(503)
    if isinstance(got, Refused):
        return await respond(got)
    with got as lease:
        await work(lease)
"""


def test_the_pattern_itself_passes():
    """The way the house guide asks for it is found to be right."""
    assert lost_grants(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    with got as", "    await log()\n    with got as"),
        ("    with got as", "    async with upstream:\n        pass\n    with got as"),
        ("    with got as lease:", "    if True:"),
        ("got = await tier", "await tier"),
        ("isinstance(got, Refused)", "isinstance(got, Lease)"),
    ],
    ids=["an await", "an async block", "never entered", "never bound", "wrong branch"],
)
def test_each_way_to_lose_a_grant_is_found(old, new):
    """An await in between, a grant that is not entered, one that is not kept: all are found."""
    assert GOOD.count(old) == 1
    assert lost_grants(GOOD.replace(old, new)) == [4]
