"""Mutants of the shipped source: small bugs on purpose, which the tests must find.

A mutant replaces one piece of text in one module. It is applied by compiling the changed source
into a fresh set of modules; no file is touched. A text that is no longer found exactly once
fails the run: the mutant would otherwise live on as a test of nothing.
"""

import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import trio

__all__ = ["Kill", "Mutant", "Suite", "fresh_modules", "kill", "mutated_source"]


@dataclass(frozen=True)
class Mutant:
    """One bug: in `module`, `new` stands where the shipped source says `old`."""

    name: str
    module: str
    old: str
    new: str


def mutated_source(mutant: Mutant) -> str:
    """The changed source. Fails if `old` is not there exactly once, or if nothing changes."""
    spec = importlib.util.find_spec(mutant.module)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    found = source.count(mutant.old)
    assert found == 1, f"{mutant.name}: its text is found {found} times in {mutant.module}"
    assert mutant.old != mutant.new
    return source.replace(mutant.old, mutant.new)


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module, and loads it from the changed source."""

    def __init__(self, module: str, source: str) -> None:
        self.module = module
        self.source = source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Only for the mutant's module."""
        if fullname != self.module:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed source."""
        code = compile(self.source, f"<mutant of {self.module}>", "exec", dont_inherit=True)
        vars(module)["trio"] = trio  # a bug may wait where the module itself never does
        exec(code, vars(module))


@contextmanager
def fresh_modules(packages: Sequence[str], mutant: Mutant | None) -> Iterator[None]:
    """Inside, `packages` are imported anew, with the mutant's change; after, all is as it was.

    Every module that imports from a mutated one, scenarios included, must be named, or it would
    go on with the classes it knew. Warnings, and what is raised where nobody can catch it, are
    dropped: a mutant may lose what it likes.
    """
    hook = sys.unraisablehook
    finders = [] if mutant is None else [_Changed(mutant.module, mutated_source(mutant))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.unraisablehook = lambda _: None
        known = _forget(packages)
        sys.meta_path[:0] = finders
        try:
            yield
            assert mutant is None or mutant.module in sys.modules, "the mutant was never imported"
        finally:
            for finder in finders:
                sys.meta_path.remove(finder)
            _forget(packages)
            for name, module in known.items():
                sys.modules[name] = module
                parent, _, child = name.rpartition(".")
                setattr(sys.modules[parent], child, module)
            gc.collect()
            sys.unraisablehook = hook


def _forget(packages: Sequence[str]) -> dict[str, ModuleType]:
    """Take these modules, and all below them, out of `sys.modules` and out of their parents."""
    known = {
        name: module
        for name, module in sys.modules.items()
        if any(name == package or name.startswith(f"{package}.") for package in packages)
    }
    for name in known:
        parent, _, child = name.rpartition(".")
        vars(sys.modules.get(parent) or known[parent]).pop(child, None)
    for name in known:
        del sys.modules[name]
    return known


@dataclass(frozen=True)
class Suite:
    """Mutants that one hunt must find.

    `hunt` names a module with a function `hunt(seed)` that raises if anything is wrong in the
    world of that seed. `packages` are imported anew for each mutant.
    """

    name: str
    hunt: str
    packages: tuple[str, ...]
    mutants: tuple[Mutant, ...]


@dataclass(frozen=True)
class Kill:
    """How a mutant was found: by the how manieth seed, and in whose words."""

    seeds: int
    words: str


def kill(suite: Suite, mutant: Mutant | None, most: int) -> Kill | None:
    """What found the mutant; None if it survived `most` seeds."""
    with fresh_modules((*suite.packages, suite.hunt), mutant):
        hunt = importlib.import_module(suite.hunt).hunt
        for seed in range(most):
            try:
                hunt(seed)
            except Exception as found:
                return Kill(seed + 1, _first_words(found))
    return None


def _first_words(found: BaseException) -> str:
    """What went wrong, in the innermost exception's own first line."""
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    line = str(found).partition("\n")[0]
    return f"{type(found).__name__}: {line}"[:120].rstrip(": ")
