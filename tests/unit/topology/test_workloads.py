"""Where models may run."""

import pytest

from anvil_trio.topology.document import parse_topology
from anvil_trio.topology.problems import TopologyError
from tests.unit.topology.toml import HOST, POLICY, RESOURCE_A, topology

EXPERIMENTS = {"id": '"models"', "allow_experimental_model_workloads": "true"}
NOTHING = {"id": '"models"'}


def told(policy, host=HOST, **changes):
    """The codes of a topology of one resource."""
    try:
        parse_topology(
            topology(
                capacity_policies=(policy,), hosts=(host,), resources=({**RESOURCE_A, **changes},)
            )
        )
    except TopologyError as error:
        return [(problem.path, problem.code.value) for problem in error.problems]
    return []


REFUSED = [("resources[0].host", "capacity_policy")]


@pytest.mark.parametrize("workload", ["model", "llm", "stt", "tts"])
def test_a_model_workload_needs_a_policy_that_allows_it(workload):
    """A policy that says nothing, one for experiments, and no policy do not."""
    said = {"workload": f'"{workload}"'}
    assert told(POLICY, **said) == []
    assert told(NOTHING, **said) == REFUSED
    assert told(EXPERIMENTS, **said) == REFUSED
    assert told(POLICY, {**HOST, "capacity_policy": None}, **said) == REFUSED


def test_an_experiment_needs_its_own_permission():
    """Whoever may run models may not yet try them out."""
    said = {"workload": '"experimental-model"'}
    assert told(EXPERIMENTS, **said) == []
    assert told(POLICY, **said) == REFUSED
    assert told(EXPERIMENTS, {**HOST, "capacity_policy": None}, **said) == REFUSED


@pytest.mark.parametrize(
    "changes",
    [{"id": f'"{word}-1"'} for word in ("asr", "embedding", "inference", "LLM", "reranker")]
    + [{"role": f'"the_{word}"'} for word in ("model", "stt", "tts", "Models")]
    + [{"id": f'"{word}_2"'} for word in ("asrs", "embeddings", "llms", "rerankers", "TTS")]
    + [{"role": '"primaryModel"'}, {"role": '"LLMPrimary"'}, {"role": '"theLLM"'}],
)
def test_what_is_called_like_a_model_is_one(changes):
    """Whether it says so or not; to call it a service is a contradiction."""
    assert told(POLICY, **changes) == []
    assert told(NOTHING, **changes) == REFUSED
    assert told(NOTHING, **changes, workload='"service"') == [("resources[0].workload", "conflict")]


@pytest.mark.parametrize(
    "changes",
    [
        *({}, {"id": '"remodeled"'}, {"role": '"llmonitor"'}, {"role": '"tt"'}),
        *({"id": '"modelss"'}, {"role": '"rerank"'}, {"id": '"moDel"'}),
    ],
)
def test_what_is_not_called_so_needs_no_permission(changes):
    """A word inside a word is none; a service or media resource needs nothing."""
    for workload in (None, '"service"', '"media"'):
        assert told(NOTHING, **changes, workload=workload) == []
