"""Which of MCP's two manners a message is made in."""

import base64

import pytest

from anvil_trio.media.json_rpc import Message, RpcCode, RpcError
from anvil_trio.media.mcp_manner import (
    CLASSIC,
    STATELESS,
    VERSIONS,
    Manner,
    McpHeaders,
    agreed_version,
    manner_of,
    needs_session,
    takes_batches,
)

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META = {VERSION: STATELESS, CAPABILITIES: {}}
NOTHING = McpHeaders()


def message(meta=META, method="tools/call", **params):
    """A call of a tool with this `_meta`."""
    return Message(method, {"_meta": meta, "name": "tool", **params}, 1)


def code_of(found):
    """The number of an error."""
    assert isinstance(found, RpcError)
    return found.code


def test_a_request_that_stands_for_itself():
    """Its version and its client's capabilities are all that it must say."""
    assert manner_of(message(), NOTHING) == Manner(STATELESS)
    assert manner_of(message(), NOTHING).is_stateless  # type: ignore[union-attr]
    said = McpHeaders(versions=[STATELESS], methods=["tools/call"], names=["tool"])
    assert manner_of(message(), said) == Manner(STATELESS)


@pytest.mark.parametrize(
    "meta",
    [
        None,
        5,
        {VERSION: STATELESS},
        {VERSION: 5, CAPABILITIES: {}},
        {VERSION: STATELESS, CAPABILITIES: []},
    ],
)
def test_what_meta_must_say(meta):
    """Without both it is -32602, whatever the header says of the version."""
    for said in (NOTHING, McpHeaders(versions=[STATELESS])):
        found = manner_of(message(meta), said)
        assert code_of(found) is RpcCode.INVALID_PARAMS
        assert found.data == {"code": "missing_meta"}  # type: ignore[union-attr]


def test_no_meta_and_no_header_is_no_manner():
    """A request that says nothing is refused as one without `_meta`, also for `initialize`'s."""
    assert code_of(manner_of(Message("tools/list", {}, 1), NOTHING)) is RpcCode.INVALID_PARAMS


@pytest.mark.parametrize("version", ["2025-11-25", "2099-01-01", ""])
def test_another_version_in_meta_is_not_spoken(version):
    """-32022 names all that are, also where the version is one of the handshake's."""
    found = manner_of(message({VERSION: version, CAPABILITIES: {}}), NOTHING)
    assert code_of(found) is RpcCode.UNSUPPORTED_PROTOCOL_VERSION
    assert found.data == {"supported": [*VERSIONS]}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "said",
    [
        McpHeaders(versions=["2025-11-25"]),
        McpHeaders(versions=[STATELESS, STATELESS]),
        McpHeaders(methods=["tools/list"]),
        McpHeaders(methods=["tools/call", "tools/call"]),
        McpHeaders(names=["other"]),
        McpHeaders(names=["tool", "tool"]),
        McpHeaders(names=["=?base64?!?="]),
        McpHeaders(names=["=?base64?/w==?="]),
    ],
)
def test_a_header_says_what_the_body_says(said):
    """One that says something else, or comes twice, is -32020: somebody would read the other."""
    assert code_of(manner_of(message(), said)) is RpcCode.HEADER_MISMATCH


def test_a_name_may_be_wrapped():
    """What cannot travel in a header as it is comes as base64."""
    wrapped = f"=?base64?{base64.b64encode('é'.encode()).decode()}?="
    assert manner_of(message(name="é"), McpHeaders(names=[wrapped])) == Manner(STATELESS)


@pytest.mark.parametrize("version", CLASSIC)
def test_the_header_of_the_handshake(version):
    """Each version that a handshake can come to is a manner of its own."""
    found = manner_of(Message("ping", {"_meta": {"progressToken": 1}}, 1), McpHeaders([version]))
    assert found == Manner(version)
    assert not found.is_stateless


def test_a_header_of_another_version_is_not_spoken():
    """Neither a handshake's nor the stateless one."""
    found = manner_of(Message("ping", {}, 1), McpHeaders(["2099-01-01"]))
    assert code_of(found) is RpcCode.UNSUPPORTED_PROTOCOL_VERSION


def test_a_session_stands_for_the_handshake():
    """Where the version is older than its header, and for the handshake itself."""
    assert manner_of(Message("ping", {}, 1), McpHeaders(has_session=True)) == Manner("2025-03-26")
    assert manner_of(Message("initialize", {}, 1), NOTHING) == Manner("2025-03-26")
    assert [needs_session(each) for each in CLASSIC] == [True, True, False, False]


@pytest.mark.parametrize(
    ("wanted", "agreed"),
    [*zip(CLASSIC, CLASSIC, strict=True), (STATELESS, CLASSIC[-1]), ("", CLASSIC[-1])],
)
def test_a_handshake_comes_to_a_version(wanted, agreed):
    """The client's if it can be spoken, else the newest of its kind."""
    assert agreed_version({"protocolVersion": wanted}) == agreed


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 5}])
def test_a_handshake_names_a_version(params):
    """Without one there is nothing to agree on."""
    assert code_of(agreed_version(params)) is RpcCode.INVALID_PARAMS


@pytest.mark.parametrize(
    ("said", "takes"),
    [
        (NOTHING, False),
        (McpHeaders(has_session=True), True),
        (McpHeaders(["2025-03-26"]), True),
        (McpHeaders(["2024-11-05"]), True),
        (McpHeaders(["2025-06-18"], has_session=True), False),
        (McpHeaders([STATELESS]), False),
    ],
)
def test_batches_are_of_the_older_versions(said, takes):
    """The newer ones have taken them out."""
    assert takes_batches(said) is takes
