"""What is shown of a topology."""

from anvil_trio.topology.document import parse_topology
from anvil_trio.topology.problems import TopologyCode, TopologyProblem
from anvil_trio.topology.show import project_problems, project_topology, render_topology
from tests.unit.topology.toml import HOST, RESOURCE_A, RESOURCE_B, TRANSPORT, topology

PRIVATE = ("127.0.0.1", "10.9.8.7", "GPU-0", "SHELL_KEY", "known_hosts", "SHA256", "ssh:", "step")


def shown():
    """The projection of a topology that has everything."""
    host = {**HOST, "address": '"10.9.8.7"', "bootstrap": '{ step = "x" }', "os": '"linux"'}
    resources = (RESOURCE_A, {**RESOURCE_B, "endpoint": None, "gpu_role": '"first-gpu"'})
    return project_topology(
        parse_topology(topology(hosts=(host,), resources=resources, transports=(TRANSPORT,)))
    )


def test_names_are_shown_and_where_things_are_is_not():
    """R012: no address, endpoint, path, UUID, key or variable, in the object and in the lines."""
    data = shown()
    assert data["hosts"] == [
        {"id": "host-one", "roles": ["serve"], "capacity_policy": "models", "os": "linux"}
    ]
    assert data["resources"] == [
        {
            "id": "resource-a",
            "role": "first",
            "host": "host-one",
            "runtime": "native",
            "gpu_role": None,
            "workload": None,
            "has_endpoint": True,
        },
        {
            "id": "resource-b",
            "role": "second",
            "host": "host-one",
            "runtime": "native",
            "gpu_role": "first-gpu",
            "workload": None,
            "has_endpoint": False,
        },
    ]
    text = f"{data} {render_topology(data)}"
    assert [word for word in PRIVATE if word in text] == []


def test_each_row_is_a_line():
    """With what it says, and without what it leaves open."""
    assert render_topology(shown()).splitlines() == [
        "topology lab",
        "capacity_policies: models allow_model_workloads=yes",
        "hosts: host-one roles=serve capacity_policy=models os=linux",
        "runtimes: native host=host-one role=native",
        "resources: resource-a role=first host=host-one runtime=native has_endpoint=yes",
        "resources: resource-b role=second host=host-one runtime=native gpu_role=first-gpu",
        "gpu_roles: first-gpu host=host-one runtime=native vram_mib=24576 reserve_mib=1024",
        "transports: shell kind=ssh host=host-one runtime=native",
    ]


def test_problems_are_listed_by_path_message_and_code():
    """None of them is what valid means."""
    problem = TopologyProblem("hosts[0].id", TopologyCode.REQUIRED, "is required")
    assert project_problems([problem]) == {
        "valid": False,
        "errors": [{"path": "hosts[0].id", "message": "is required", "code": "required"}],
    }
    assert project_problems(()) == {"valid": True, "errors": []}
