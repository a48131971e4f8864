"""A workflow with what is needed to run it; only backends look inside. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from anvil_trio.operations.model import Workflow

__all__ = ["Recipe", "Registry", "Target"]


@dataclass(frozen=True, slots=True)
class Target:
    """Where a parameter's value goes: an input of a node of the graph."""

    node: str
    input: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """One allow-listed workflow, with its graph if the backend needs one."""

    workflow: Workflow
    graph: Mapping[str, JsonValue] | None = field(default=None, repr=False)
    targets: Mapping[str, Target] = field(default_factory=dict, repr=False)  # by parameter


class Registry:
    """All workflows that there are, by id and version, in the order of the file."""

    def __init__(self, recipes: tuple[Recipe, ...]) -> None:
        self._recipes = {(each.workflow.id, each.workflow.version): each for each in recipes}

    @property
    def workflows(self) -> tuple[Workflow, ...]:
        """What can be shown of them."""
        return tuple(recipe.workflow for recipe in self._recipes.values())

    def recipe(self, workflow_id: str, version: str) -> Recipe | None:
        """One of them, or None."""
        return self._recipes.get((workflow_id, version))

    def versions(self, workflow_id: str) -> tuple[Recipe, ...]:
        """All versions of one, the last in the file last."""
        return tuple(each for key, each in self._recipes.items() if key[0] == workflow_id)
