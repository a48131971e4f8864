"""The workflow registry: what it may say, and what is told of what it may not."""

import pytest

from anvil_trio.config.problems import ConfigError
from anvil_trio.operations.model import Kind, QualityProfile
from anvil_trio.operations.recipe import Target
from tests.unit.operations.registries import (
    GRAPH,
    parameter,
    parsed,
    profile,
    registry,
    workflow,
)

TEXT = {"name": '"prompt"', "kind": '"string"', "max_length": "20"}
STEPS = {"name": '"steps"', "kind": '"integer"', "minimum": "1", "maximum": "9"}
FILES = {"g.json": GRAPH}
KEY = "ANVIL_MEDIA_WORKFLOW_REGISTRY"
ROW = f"{KEY}.workflows[0]"
FIRST = f"{ROW}.parameters[0]"
PROFILE = f"{ROW}.quality_profiles[0]"
GRAPH_WORDS = (
    f"{ROW}.graph: must name a JSON file beside the registry, of at most 1 MiB: a graph in the"
    " backend's API format"
)
LOCKS = "must lock parameters of the workflow to values that they can have"


def told(data: bytes, files: dict[str, bytes] | None = None, *, needs_graphs: bool = False) -> str:
    """All that is wrong with a registry."""
    with pytest.raises(ConfigError) as caught:
        parsed(data, files, needs_graphs=needs_graphs)
    return str(caught.value)


def with_parameter(**changes: str) -> bytes:
    """A registry whose one parameter is changed text."""
    keys = {**TEXT, **changes}
    return registry(workflow(parameter(**{key: text for key, text in keys.items() if text})))


def test_a_workflow_says_what_can_be_asked_of_it() -> None:
    """Its parameters and profiles come in the order of the file, with their bounds."""
    found = parsed(
        registry(
            workflow(
                parameter(**TEXT, required="true", target='"6.text"'),
                parameter(**STEPS, default="4", target='"6.seed"'),
                profile(id='"draft"', title='"Draft"', locked="{ steps = 2 }"),
                graph='"g.json"',
                requires_approval="true",
                output_media_type='"video/mp4"',
                description='"Round things."',
            )
        ),
        FILES,
        needs_graphs=True,
    )
    (shown,) = found.workflows
    assert (shown.id, shown.version, shown.title) == ("picture.discs", "1", "Discs")
    assert shown.requires_approval
    assert shown.output_media_type == "video/mp4"
    assert [each.name for each in shown.parameters] == ["prompt", "steps"]
    assert [each.kind for each in shown.parameters] == [Kind.STRING, Kind.INTEGER]
    assert shown.parameters[1].default == 4
    assert shown.quality_profiles == (QualityProfile("draft", "Draft", {"steps": 2}),)
    recipe = found.recipe("picture.discs", "1")
    assert recipe is not None
    assert recipe.targets == {"prompt": Target("6", "text"), "steps": Target("6", "seed")}
    assert recipe.graph is not None


def test_without_a_graph_parameters_have_no_targets() -> None:
    """Which is all that the embedded backend needs."""
    found = parsed(registry(workflow(parameter(**TEXT), parameter(**STEPS))))
    recipe = found.recipe("picture.discs", "1")
    assert recipe is not None
    assert not recipe.targets
    assert recipe.graph is None


def test_a_workflow_may_have_several_versions() -> None:
    """The last in the file is the last of them; another id has none."""
    found = parsed(registry(workflow(), workflow(version='"2"'), workflow(id='"other"')))
    assert [each.workflow.version for each in found.versions("picture.discs")] == ["1", "2"]
    assert found.versions("nothing") == ()
    assert found.recipe("picture.discs", "3") is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff", f"{KEY}: the file is not UTF-8"),
        (b"schema_version = 1", f"{KEY}.workflows: must name at least one workflow"),
        (
            registry(version="2"),
            f"{KEY}.schema_version: must be a whole number from 1 to 1",
        ),
        (b"schema_version = 1\nworkflows = 1", f"{KEY}.workflows: must be an array of tables"),
        (
            registry() + b"\nmore = 1",
            f"{ROW}.more: is not a known key",
        ),
        (registry(workflow(id='"Upper"')), f"{ROW}.id: must match [a-z][a-z0-9._-]{{0,63}}"),
        (registry(workflow(title=None)), f"{ROW}.title: is required"),
        (
            registry(workflow(output_media_type='"image/gif"')),
            f"{ROW}.output_media_type: must be one of: image/png, video/mp4",
        ),
        (
            registry(workflow(), workflow()),
            f"{KEY}.workflows[1].version: must be another than that of the same id before it",
        ),
        (
            registry(*(workflow(id=f'"w{number}"') for number in range(65))),
            f"{KEY}.workflows: must have at most 64 rows",
        ),
        (registry(workflow(graph='"../g.json"')), None),
        (registry(workflow(parameters="3")), f"{ROW}.parameters: must be an array of tables"),
        (registry(workflow(parameters="[3]")), f"{FIRST}: must be a table"),
        (
            registry(workflow(title='"a\\nb"')),
            f"{ROW}.title: must be printable text of 1 to 200 characters",
        ),
        (
            registry(workflow(description=f'"{"d" * 2001}"')),
            f"{ROW}.description: must be text of at most 2000 characters",
        ),
        (with_parameter(name='"Up"'), f"{FIRST}.name: must match [a-z][A-Za-z0-9_]{{0,63}}"),
        (
            with_parameter(max_length="0"),
            f"{FIRST}.max_length: must be a whole number from 1 to 20000",
        ),
        (
            with_parameter(max_length=""),
            f"{FIRST}.max_length: is required for this kind without choices",
        ),
        (
            with_parameter(minimum="1"),
            f"{FIRST}.minimum: does not go with this kind, or with choices",
        ),
        (
            with_parameter(kind='"boolean"'),
            f"{FIRST}.max_length: does not go with this kind, or with choices",
        ),
        (
            with_parameter(kind='"integer"', max_length="", minimum="5", maximum="4"),
            f"{FIRST}.minimum: must not be above maximum",
        ),
        (
            with_parameter(kind='"number"', max_length="", minimum="5"),
            f"{FIRST}.maximum: is required for this kind without choices",
        ),
        (
            with_parameter(kind='"number"', max_length="", minimum="1e300", maximum="1e301"),
            "\n".join(
                f"{FIRST}.{key}: must be a number of at most 53 bits"
                for key in ("maximum", "minimum")
            ),
        ),
        (
            with_parameter(max_length="", choices='["a", 1]'),
            f"{FIRST}.choices: must be values of this kind",
        ),
        (
            with_parameter(max_length="", choices='["a", "a"]'),
            f"{FIRST}.choices: must not have a value twice",
        ),
        (with_parameter(max_length="", choices="[]"), f"{FIRST}.choices: must have 1 to 64 values"),
        (
            with_parameter(default='"' + "d" * 21 + '"'),
            f"{FIRST}.default: must be a value that the parameter can have",
        ),
        (
            with_parameter(default="1979-05-27"),
            f"{FIRST}.default: must be text, a number, true or false",
        ),
        (
            with_parameter(default='"d"', required="true"),
            f"{FIRST}.default: does not go with required",
        ),
        (
            with_parameter(kind='"artifact"', max_length="", default='"a"'),
            f"{FIRST}.default: does not go with this kind",
        ),
        (with_parameter(target='"6.text"'), f"{FIRST}.target: needs a graph"),
        (
            with_parameter(target='"six"'),
            f"{FIRST}.target: must be a node and its input: NODE.INPUT",
        ),
        (
            registry(workflow(parameter(**TEXT), parameter(**TEXT))),
            f"{ROW}.parameters[1].name: must be unique in its workflow",
        ),
        (
            registry(workflow(profile(id='"a"', title='"A"', locked="{}"))),
            f"{PROFILE}.locked: must lock at least one parameter",
        ),
        (
            registry(workflow(profile(id='"a"', title='"A"', locked="{ steps = 1 }"))),
            f"{PROFILE}.locked: {LOCKS}",
        ),
        (
            registry(
                workflow(
                    parameter(**STEPS), profile(id='"a"', title='"A"', locked="{ steps = 10 }")
                )
            ),
            f"{PROFILE}.locked: {LOCKS}",
        ),
        (
            registry(
                workflow(
                    parameter(name='"picture"', kind='"artifact"'),
                    profile(
                        id='"a"', title='"A"', locked=f'{{ picture = "art_{"a" * 32}" }}'
                    ),
                )
            ),
            f"{PROFILE}.locked: must not lock an artifact",
        ),
        (
            registry(
                workflow(
                    parameter(**STEPS),
                    profile(id='"a"', title='"A"', locked="{ steps = 1 }"),
                    profile(id='"a"', title='"B"', locked="{ steps = 2 }"),
                )
            ),
            f"{ROW}.quality_profiles[1].id: must be unique in its workflow",
        ),
    ],
)  # fmt: skip
def test_a_registry_with_a_fault_is_refused_as_a_whole(data: bytes, message: str | None) -> None:
    """Each fault is told by its key path and its rule."""
    expected = message or (
        f"{ROW}.graph: must match [A-Za-z0-9][A-Za-z0-9._-]{{0,127}}, a file beside this"
    )
    assert told(data) == expected


@pytest.mark.parametrize(
    "graph",
    [
        None,
        b"",
        b"[]",
        b"{}",
        b'{"6": 1}',
        b'{"6": {"class_type": "Text"}}',
        b'{"6": {"class_type": 1, "inputs": {}}}',
        b'{"6": {"class_type": "A", "inputs": {"seed": ' + b"[" * 70 + b"]" * 70 + b"}}}",
        b'{"6": {"class_type": "A", "inputs": {}}, "6": {"class_type": "A", "inputs": {}}}',
        b" " * 1_048_577,
    ],
)
def test_a_graph_is_a_bounded_json_file_of_nodes(graph: bytes | None) -> None:
    """Anything else is no graph, and its words are not shown."""
    files = {} if graph is None else {"g.json": graph}
    assert told(registry(workflow(graph='"g.json"')), files) == GRAPH_WORDS


def test_a_backend_that_needs_graphs_is_given_some() -> None:
    """A workflow without one could not be run, and one with one must use all its parameters."""
    assert told(registry(), needs_graphs=True) == f"{ROW}.graph: is required by the backend"
    data = registry(workflow(parameter(**TEXT), graph='"g.json"'))
    assert told(data, FILES) == f"{FIRST}.target: is required with a graph"


@pytest.mark.parametrize("target", ["7.text", "6.other"])
def test_a_target_is_there(target: str) -> None:
    """An input of a node of the graph."""
    data = registry(workflow(parameter(**TEXT, target=f'"{target}"'), graph='"g.json"'))
    assert told(data, FILES) == f"{FIRST}.target: must be an input of a node of the graph"


def test_a_graph_that_cannot_be_read_hides_no_more() -> None:
    """Its targets are judged once it can be."""
    data = registry(workflow(parameter(**TEXT, target='"7.text"'), graph='"g.json"'))
    assert told(data) == GRAPH_WORDS


def test_two_parameters_never_have_one_target() -> None:
    """One would overwrite the other."""
    second = {**TEXT, "name": '"other"'}
    data = registry(
        workflow(
            parameter(**TEXT, target='"6.text"'),
            parameter(**second, target='"6.text"'),
            graph='"g.json"',
        )
    )
    message = f"{ROW}.parameters[1].target: must not be the target of another parameter"
    assert told(data, FILES) == message
