"""Which resources run models, and whether their host may: said outright, never by accident."""

from collections.abc import Iterator, Mapping

from anvil_trio.topology.model import CapacityPolicy, Resource, Topology
from anvil_trio.topology.problems import TopologyCode, TopologyProblem
from anvil_trio.topology.words import has_any, split_words

__all__ = ["find_workload_problems", "is_model_like"]

_MODEL_WORDS = frozenset({
    *("asr", "embedding", "inference", "llm", "model", "reranker", "stt", "tts"),
})
_MODEL_WORKLOADS = frozenset({"model", "llm", "stt", "tts"})
_EXPERIMENT = "experimental-model"

_CONFLICT = "must not be service where the id or role names a model"
_NOT_ALLOWED = "must be a host whose capacity policy sets allow_model_workloads"
_NO_EXPERIMENTS = "must be a host whose capacity policy sets allow_experimental_model_workloads"


def find_workload_problems(topology: Topology) -> Iterator[TopologyProblem]:
    """The resources that are model workloads and run where none may, or say that they are none."""
    policy_of = _policies(topology)
    for at, resource in enumerate(topology.resources):
        if resource.workload == "service" and is_model_like(resource):
            path = f"resources[{at}].workload"
            yield TopologyProblem(path, TopologyCode.CONFLICT, _CONFLICT)
        message = _objection(resource, policy_of.get(resource.host, CapacityPolicy(id="none")))
        if message is not None:
            path = f"resources[{at}].host"
            yield TopologyProblem(path, TopologyCode.CAPACITY_POLICY, message)


def is_model_like(resource: Resource) -> bool:
    """Whether a word of the resource's id or role is one that models have in their names."""
    return has_any(split_words(f"{resource.id} {resource.role}"), _MODEL_WORDS)


def _objection(resource: Resource, policy: CapacityPolicy) -> str | None:
    """Why the policy of its host forbids a resource, or None. No policy allows nothing."""
    if resource.workload == _EXPERIMENT:
        return None if policy.allow_experimental_model_workloads else _NO_EXPERIMENTS
    is_inferred = resource.workload is None and is_model_like(resource)
    if resource.workload in _MODEL_WORKLOADS or is_inferred:
        return None if policy.allow_model_workloads else _NOT_ALLOWED
    return None


def _policies(topology: Topology) -> Mapping[str, CapacityPolicy]:
    """The policy of each host that has one."""
    by_id = {policy.id: policy for policy in topology.capacity_policies}
    return {
        host.id: by_id[host.capacity_policy]
        for host in topology.hosts
        if host.capacity_policy in by_id
    }
