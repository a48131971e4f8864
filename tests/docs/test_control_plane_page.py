"""docs/cli/control-plane.md: its commands are the manifest's, its examples the program's."""

import json
import re
from collections.abc import Mapping

from pydantic import BaseModel

from anvil_trio.cli import router_client, transition, transition_reply
from anvil_trio.cli.envelope import Failure
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.install_words import explain_code
from anvil_trio.cli.main import PROGRAM, anvil_serving
from anvil_trio.cli.router_client import ORDER_REFUSALS
from anvil_trio.cli.spec import MANIFEST_PATH, Authority, manifest
from anvil_trio.cli.transition_reply import Row, render_rows
from anvil_trio.installation.faults import InstallFault
from anvil_trio.installation.settings import InstallSettings, parse_settings
from anvil_trio.topology.codes import RefusalCode
from anvil_trio.topology.document import _ARRAYS, parse_topology
from anvil_trio.topology.model import TopologyHead
from anvil_trio.topology.result import explain_refusal, project_result, render_result
from anvil_trio.topology.snapshot import Refused, Snapshot, TopologyBytes, validate_snapshot
from tests.docs.test_configuration_examples import COMPLETE
from tests.house.tree import ROOT

PAGE = (ROOT / "docs" / "cli" / "control-plane.md").read_text(encoding="utf-8")
MANIFEST = json.loads((ROOT / MANIFEST_PATH).read_text(encoding="utf-8"))
HERE = ("router", "topology")


def block(mark):
    """The code block below a marker comment."""
    (found,) = re.findall(rf"<!-- {mark} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def rows(head):
    """The cells of the table whose head begins with a word."""
    table = PAGE[PAGE.index(f"\n| {head} |") :].strip().split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in table]


def words(cell):
    """What a cell shows in code type."""
    return re.findall(r"`([^`]+)`", cell)


def test_the_commands_of_the_page_are_those_of_the_manifest():
    """T013: each with its authority and its options, in the order of the manifest."""
    documented = [
        (words(command)[0], authority, words(options))
        for command, authority, options in rows("command")
    ]
    assert documented == [
        (
            entry["command"],
            entry["authority"],
            [option["name"] for option in entry["options"]],
        )
        for entry in MANIFEST["commands"]
        if entry["command"].split()[1] in HERE
    ]


def test_every_authority_is_explained():
    """By its word, in the sentence below the table."""
    assert [word for word in Authority if f"`{word.value}`" not in PAGE] == []


def test_the_exit_statuses_are_those_of_the_manifest():
    """T013: docs/cli.md has a row for each, and the manifest a name."""
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert sorted(MANIFEST["exits"].values()) == sorted(Exit)
    assert [int(row) for row in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)] == sorted(Exit)


def test_the_topology_of_the_page_is_that_of_the_configuration_page():
    """Its two resources are the members of the first complete example; nothing but loopback."""
    data = block("topology").encode()
    urls = [row.endpoint or "" for row in parse_topology(data).resources]
    assert all(url.startswith("http://127.0.0.1:") for url in urls)
    found = validate_snapshot(COMPLETE[0].encode(), TopologyBytes(data))
    assert isinstance(found, Snapshot)
    shown = project_result(found)
    assert list(json.loads(block("result"))) == [
        "schema_version",
        "valid",
        "error_code",
        "config_sha256",
        "tier_count",
        "replica_tier_count",
        "replica_member_count",
        "deployment_identity_source",
        "runtime_deployment_identity_verified",
    ]
    assert json.loads(block("result")) == {**shown, "config_sha256": "0" * 64}
    refused = project_result(Refused(RefusalCode.ENDPOINT_MISMATCH, None))
    assert f"```text\n{render_result(shown)}\n{render_result(refused)}\n```" in PAGE


def test_the_settings_of_an_installation_are_those_of_the_program():
    """Every key is shown, with values that are taken; the bounds are their defaults."""
    found = parse_settings(block("install-settings").encode())
    assert found.model_fields_set == set(InstallSettings.model_fields)
    assert found == InstallSettings(restart_command=found.restart_command)


def test_every_code_of_an_installation_is_on_the_page():
    """In the row of its exit status."""
    listed = {int(status): words(codes) for status, codes in rows("status | codes")}
    for code in InstallFault:
        assert code in listed[explain_code(code).status]
    activation = {code for code in ORDER_REFUSALS if code.startswith("activation_")}
    assert activation <= {*listed[1]}


def test_the_codes_of_the_page_are_the_nine():
    """In the order in which they are tried, in their own words."""
    assert [(words(code)[0], text) for code, text in rows("code")] == [
        (code.value, explain_refusal(code)) for code in RefusalCode
    ]


def test_the_tables_of_the_page_are_the_topology_s():
    """Every key of every array, in the order of the model."""
    models: Mapping[str, type[BaseModel]] = {"at the top": TopologyHead, **_ARRAYS}
    assert [(name.strip("`"), words(keys)) for name, keys, _ in rows("table")] == [
        (name, list(model.model_fields)) for name, model in models.items()
    ]


def test_no_command_of_the_page_is_missing_from_the_program():
    """What is called in its examples exists."""
    known = {" ".join(spec.words) for spec in manifest(anvil_serving, PROGRAM)}
    called = re.findall(r"^anvil-serving (?:router|topology) [a-z-]+", PAGE, re.MULTILINE)
    assert called
    assert set(called) <= known


def test_the_codes_of_orders_are_those_of_the_code():
    """Each failure that an order can end with has its row, with its status."""
    declared = {
        each.code: each.status
        for module in (router_client, transition, transition_reply)
        for each in (*vars(module).values(), *router_client.ORDER_REFUSALS.values())
        if isinstance(each, Failure)
    }
    told = {words(code)[0]: int(status) for status, code, _ in rows("exit")}
    made_on_the_way = {"router_http_error", "router_response_oversized"}
    assert told.keys() == declared.keys() | made_on_the_way
    assert {code: told[code] for code in declared} == declared


def test_the_rows_of_a_status_are_lines_as_shown():
    """The example is what three rows are rendered as."""
    a = Row("primary", "quiesced", "driver-update", 0, draining=False, member_id="a")
    b = Row("primary", "admitting", None, 3, draining=False, member_id="b")
    tier = Row("primary", "admitting", None, 3, draining=False, ready=True, members=[a, b])
    assert "```text\n" + "\n".join(render_rows([tier])) + "\n```" in PAGE
