"""The topology document: its bounds, the shape of its parts, and what each rule says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from anvil_trio.config.document import MAX_CONFIG_BYTES
from anvil_trio.topology.document import parse_topology
from anvil_trio.topology.problems import TopologyError
from tests.unit.topology.toml import (
    GPU_ROLE,
    HOST,
    POLICY,
    RESOURCE_A,
    RESOURCE_B,
    RUNTIME,
    TRANSPORT,
    topology,
)

CANARY = "canary-5417"


def told(data, overlay=None):
    """All that is wrong, as path, code and message; empty for a topology."""
    try:
        parse_topology(data, overlay)
    except TopologyError as error:
        found = error
    else:
        return []
    assert str(found) == "\n".join(problem.line for problem in found.problems)
    assert found.__context__ is None or found.__suppress_context__
    return [(problem.path, problem.code.value, problem.message) for problem in found.problems]


def resource(**changes):
    """A topology whose first resource is another one."""
    return topology(resources=({**RESOURCE_A, **changes}, RESOURCE_B))


def host(**changes):
    """A topology whose host is another one."""
    return topology(hosts=({**HOST, **changes},))


def gpu(**changes):
    """A topology whose GPU role is another one."""
    return topology(gpu_roles=({**GPU_ROLE, **changes},))


def transport(**changes):
    """A topology whose transport is another one."""
    return topology(transports=({**TRANSPORT, **changes},))


def head(text):
    """A topology of nothing but its head."""
    return text.encode()


def test_a_whole_topology_loads():
    """Every array, in the order of the document, with its optional keys."""
    parsed = parse_topology(
        topology('command_host = "host:host-one"', 'command_runtime = "runtime:native"')
    )
    assert (parsed.id, parsed.command_host) == ("lab", "host:host-one")
    assert [row.id for row in parsed.resources] == ["resource-a", "resource-b"]
    assert parsed.resource_by_id["resource-b"].role == "second"
    assert parsed.gpu_roles[0].reserve_mib == 1024
    assert parsed.transports[0].allowed_operations == ("status",)
    assert parsed.capacity_policies[0].allow_experimental_model_workloads is False


def test_a_topology_is_frozen_and_hides_where_things_are():
    """Nothing can be changed, and no address is in its repr (R012)."""
    parsed = parse_topology(
        topology(
            hosts=({**HOST, "address": '"10.9.8.7"', "bootstrap": '{ step = "first-step" }'},),
            resources=({**RESOURCE_A, "path": '"/file"'},),
        )
    )
    with pytest.raises(ValidationError):
        parsed.hosts[0].address = "10.0.0.1"  # type: ignore[misc]
    private = (
        "10.9.8.7",
        "127.0.0.1",
        "GPU-",
        "step",
        "file",
        "ssh:",
        "_KEY",
        "SHA256:",
        "'known",
    )
    assert [word for word in private if word in repr(parsed)] == []


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"#" * (MAX_CONFIG_BYTES + 1), "read"),
        (b"\xff", "toml"),
        (b"schema_version = ", "toml"),
        (b"a = " + b"[" * 5000, "toml"),
    ],
    ids=["large", "no utf-8", "no toml", "deep"],
)
def test_a_file_that_is_no_document_is_one_problem(data, code):
    """As a base and as an overlay; nothing else is told of it."""
    for problems in (told(data), told(topology(), data)):
        assert [(path, found) for path, found, _ in problems] == [("", code)]


def test_a_document_may_be_as_large_as_a_configuration():
    """The last byte counts."""
    data = topology()
    assert told(data + b"#" * (MAX_CONFIG_BYTES - len(data))) == []


@pytest.mark.parametrize(
    ("data", "path", "code"),
    [
        (head('id = "a"'), "schema_version", "required"),
        (head('schema_version = 2\nid = "a"'), "schema_version", "version"),
        (head('schema_version = true\nid = "a"'), "schema_version", "version"),
        (head("schema_version = 1"), "id", "required"),
        (head('schema_version = 1\nid = "1"'), "id", "value"),
        (head('schema_version = 1\nid = "a\\n"'), "id", "value"),
        (topology("status = 1"), "status", "unknown"),
        (topology('"a b" = 1'), "(quoted key)", "unknown"),
        (topology('command_host = "host-one"'), "command_host", "value"),
        (topology('command_runtime = "host:native"'), "command_runtime", "value"),
        (head('schema_version = 1\nid = "a"\nhosts = 3'), "hosts", "type"),
        (head('schema_version = 1\nid = "a"\nhosts = [3]'), "hosts[0]", "type"),
        (host(roles=None), "hosts[0].roles", "required"),
        (host(roles='["a", "a"]'), "hosts[0].roles", "value"),
        (host(roles='["1"]'), "hosts[0].roles", "value"),
        (host(os='"plan9"'), "hosts[0].os", "value"),
        (host(address='"host name"'), "hosts[0].address", "host"),
        (host(address='"127.1"'), "hosts[0].address", "host"),
        (host(address='"a:80"'), "hosts[0].address", "host"),
        (host(address='"a/b"'), "hosts[0].address", "host"),
        (host(address='"[::1]"'), "hosts[0].address", "host"),
        (host(address='"Localhost."'), "hosts[0].address", "localhost"),
        (host(bootstrap='"x"'), "hosts[0].bootstrap", "value"),
        (resource(endpoint='"ftp://10.0.0.1"'), "resources[0].endpoint", "url"),
        (resource(endpoint="3"), "resources[0].endpoint", "url"),
        (resource(endpoint='"http://10.0.0.1 "'), "resources[0].endpoint", "url"),
        (resource(endpoint='"http://u:p@10.0.0.1"'), "resources[0].endpoint", "credential"),
        (resource(endpoint='"http://10.0.0.1:0"'), "resources[0].endpoint", "port"),
        (resource(endpoint='"http://010.0.0.1"'), "resources[0].endpoint", "host"),
        (resource(endpoint='"http://localhost"'), "resources[0].endpoint", "localhost"),
        (resource(workload='"game"'), "resources[0].workload", "value"),
        (gpu(uuid='"GPU-1"'), "gpu_roles[0].uuid", "value"),
        (gpu(vram_mib="0"), "gpu_roles[0].vram_mib", "value"),
        (gpu(reserve_mib="24577"), "gpu_roles[0].reserve_mib", "conflict"),
        (transport(kind='"pigeon"'), "transports[0].kind", "value"),
        (transport(endpoint=None), "transports[0].endpoint", "required"),
        (transport(endpoint='"http://10.0.0.1"'), "transports[0].endpoint", "conflict"),
        (transport(kind='"remote"'), "transports[0].endpoint", "conflict"),
        (transport(endpoint='"ssh://u@10.0.0.1"'), "transports[0].endpoint", "credential"),
        (transport(auth_env='"key"'), "transports[0].auth_env", "value"),
        (transport(host_key_fingerprint='"MD5:a"'), "transports[0].host_key_fingerprint", "value"),
    ],
)
def test_each_rule_of_a_part(data, path, code):
    """One fault is one problem, told by its key path and code."""
    assert [(found, kind) for found, kind, _ in told(data)] == [(path, code)]


@pytest.mark.parametrize(
    "key", ["container_id", "device_index", "health", "reachability", "status"]
)
def test_what_a_runtime_is_doing_is_not_declared(key):
    """A topology holds no state."""
    data = topology(runtimes=({**RUNTIME, key: '"x"'},))
    assert [(path, code) for path, code, _ in told(data)] == [(f"runtimes[0].{key}", "unknown")]


@pytest.mark.parametrize(
    "data",
    [
        host(address='"10.0.0.1"'),
        host(address='"::1"'),
        host(address='"node-one.example"'),
        host(os='"macos"', roles="[]"),
        host(bootstrap='{ steps = ["one"] }'),
        resource(endpoint=None),
        resource(endpoint='"https://10.0.0.1/x?y=1"'),
        resource(endpoint_kind='"openai"', path='"engine"', gpu_role='"first-gpu"'),
        gpu(vram_mib=None),
        gpu(reserve_mib="24576"),
        gpu(reserve_mib=None),
        transport(kind='"controller"', endpoint='"https://10.0.0.1:8443/x"'),
        transport(endpoint='"SSH://node-one"', allow_unauthenticated_loopback="true"),
        head('schema_version = 1\nid = "a"'),
    ],
)
def test_what_is_allowed(data):
    """Optional keys are optional, and an endpoint that is no replica's may have a query."""
    assert told(data) == []


OTHER_HOST = {**HOST, "id": '"host-two"'}


@pytest.mark.parametrize(
    ("data", "path", "code"),
    [
        (topology(hosts=(HOST, HOST)), "hosts[1].id", "duplicate"),
        (topology(capacity_policies=(POLICY, POLICY)), "capacity_policies[1].id", "duplicate"),
        (topology(runtimes=(RUNTIME, RUNTIME)), "runtimes[1].id", "duplicate"),
        (topology(gpu_roles=(GPU_ROLE, GPU_ROLE)), "gpu_roles[1].id", "duplicate"),
        (topology(transports=(TRANSPORT, TRANSPORT)), "transports[1].id", "duplicate"),
        (
            topology(resources=(RESOURCE_A, {**RESOURCE_A, "role": '"other"'})),
            "resources[1].id",
            "duplicate",
        ),
        (host(capacity_policy='"none"'), "hosts[0].capacity_policy", "reference"),
        (
            topology(runtimes=(RUNTIME, {**RUNTIME, "id": '"r"', "host": '"none"'})),
            "runtimes[1].host",
            "reference",
        ),
        (resource(runtime='"none"'), "resources[0].runtime", "reference"),
        (resource(gpu_role='"none"'), "resources[0].gpu_role", "reference"),
        (gpu(runtime='"none"'), "gpu_roles[0].runtime", "reference"),
        (transport(runtime='"none"'), "transports[0].runtime", "reference"),
        (topology('command_host = "host:none"'), "command_host", "reference"),
        (topology('command_runtime = "runtime:none"'), "command_runtime", "reference"),
        (
            topology(
                'command_host = "host:host-two"',
                'command_runtime = "runtime:native"',
                hosts=(HOST, OTHER_HOST),
            ),
            "command_runtime",
            "reference",
        ),
        (
            topology(
                hosts=(HOST, OTHER_HOST),
                resources=({**RESOURCE_A, "host": '"host-two"'},),
            ),
            "resources[0].runtime",
            "reference",
        ),
        (
            topology(
                hosts=(HOST, OTHER_HOST),
                runtimes=(RUNTIME, {"id": '"r"', "host": '"host-two"', "role": '"native"'}),
                resources=(
                    {
                        **RESOURCE_A,
                        "host": '"host-two"',
                        "runtime": '"r"',
                        "gpu_role": '"first-gpu"',
                    },
                ),
            ),
            "resources[0].gpu_role",
            "reference",
        ),
    ],
)
def test_each_rule_between_parts(data, path, code):
    """Ids are unique in their array; what is named exists, and belongs to the same host."""
    assert [(found, kind) for found, kind, _ in told(data)] == [(path, code)]


def test_a_host_that_is_not_there_is_told_at_each_place():
    """And the runtime, which is another host's, with it."""
    assert [(path, code) for path, code, _ in told(resource(host='"none"'))] == [
        ("resources[0].host", "reference"),
        ("resources[0].runtime", "reference"),
    ]


def test_a_role_has_one_owner_on_a_host():
    """All that claim it are told; on another host it is another's."""
    twin = {**RESOURCE_B, "role": '"first"'}
    assert [(path, code) for path, code, _ in told(topology(resources=(RESOURCE_A, twin)))] == [
        ("resources[0].role", "ambiguous_owner"),
        ("resources[1].role", "ambiguous_owner"),
    ]
    elsewhere = {**twin, "host": '"host-two"', "runtime": '"r"'}
    runtimes = (RUNTIME, {"id": '"r"', "host": '"host-two"', "role": '"native"'})
    data = topology(hosts=(HOST, OTHER_HOST), runtimes=runtimes, resources=(RESOURCE_A, elsewhere))
    assert told(data) == []


def test_all_problems_of_a_stage_are_told_together():
    """In the order of their key paths; the parts first, then how they belong together."""
    data = topology(
        hosts=({**HOST, "os": '"x"', "capacity_policy": '"none"'},),
        resources=({**RESOURCE_A, "endpoint": '"x"', "y": "1"},),
    )
    assert [path for path, *_ in told(data)] == [
        "hosts[0].os",
        "resources[0].endpoint",
        "resources[0].y",
    ]


def test_no_problem_shows_a_value():
    """R012: whatever is wrong, the canary that stands in its place is not told."""
    for data in (
        head(f'schema_version = "{CANARY}"\nid = "{CANARY} {CANARY}"'),
        host(roles=f'["{CANARY}", "{CANARY}"]', os=f'"{CANARY}"', address=f'"{CANARY}/"'),
        resource(endpoint=f'"{CANARY}"', workload=f'"{CANARY}"'),
        resource(runtime=f'"{CANARY}"', host=f'"{CANARY}"', gpu_role=f'"{CANARY}"'),
        transport(kind=f'"{CANARY}"', auth_env=f'"{CANARY}"'),
        topology(f'"{CANARY} x" = 1'),
    ):
        problems = told(data)
        assert problems
        assert CANARY not in str(problems)


@given(st.binary(max_size=200))
def test_whatever_the_bytes_are_it_is_a_topology_or_a_refusal(data):
    """Nothing else is raised, for a base and for an overlay."""
    told(data)
    told(topology(), data)
