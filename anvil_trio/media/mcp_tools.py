"""The tools of MCP: names, scopes, arguments and what they answer with, in one table. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import msgspec
from pydantic import JsonValue

from anvil_trio.media.arguments import (
    ARTIFACT_ID,
    JOB_ID,
    SUBMISSION,
    VALIDATION,
    WORKFLOW,
    Argument,
    schema_of,
)
from anvil_trio.media.gateway import MediaScope
from anvil_trio.media.shown import (
    ArtifactShown,
    CapabilitiesShown,
    JobShown,
    Validation,
    WorkflowList,
    WorkflowShown,
)
from anvil_trio.views.shape import Shape

__all__ = ["TOOLS", "Tool", "list_tools"]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. The hints are for whoever decides whether to ask a human first."""

    name: str
    title: str
    description: str
    scope: MediaScope
    arguments: Sequence[Argument]
    answer: type[Shape]
    is_destructive: bool = False

    def described(self) -> dict[str, JsonValue]:
        """The tool as it is listed."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": schema_of(self.arguments),
            "outputSchema": _schema(self.answer),
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.scope is MediaScope.READ,
                "destructiveHint": self.is_destructive,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }


def _schema(shape: type[Shape]) -> dict[str, JsonValue]:
    """The schema of an answer, an object in itself, as the protocol wants it."""
    schema = msgspec.json.schema(shape)
    definitions = schema["$defs"]
    return {**definitions.pop(shape.__name__), "$defs": definitions}


_TABLE = (
    Tool(
        "media_capabilities",
        "Media capabilities",
        "What the media service can make, its limits, and which scopes this credential has.",
        MediaScope.READ,
        (),
        CapabilitiesShown,
    ),
    Tool(
        "media_workflow_list",
        "List media workflows",
        "Every workflow that can be run. Nothing else can.",
        MediaScope.READ,
        (),
        WorkflowList,
    ),
    Tool(
        "media_workflow_show",
        "Show a media workflow",
        "One workflow: its parameters with their bounds, and its quality profiles.",
        MediaScope.READ,
        WORKFLOW,
        WorkflowShown,
    ),
    Tool(
        "media_workflow_validate",
        "Check a submission",
        "Whether a submission would be taken. Nothing is run.",
        MediaScope.READ,
        VALIDATION,
        Validation,
    ),
    Tool(
        "media_workflow_run",
        "Run a media workflow",
        "Start a job, once per idempotency key, and say how it stands. It goes on by itself:"
        " ask media_job_status until isTerminal is true.",
        MediaScope.SUBMIT,
        SUBMISSION,
        JobShown,
    ),
    Tool(
        "media_job_status",
        "Status of a media job",
        "How a job stands, and what it has made.",
        MediaScope.READ,
        JOB_ID,
        JobShown,
    ),
    Tool(
        "media_job_cancel",
        "Cancel a media job",
        "End a job that has not ended yet.",
        MediaScope.CANCEL,
        JOB_ID,
        JobShown,
        is_destructive=True,
    ),
    Tool(
        "media_artifact_inspect",
        "Inspect a media artifact",
        "Type, size and expiry of an artifact, and the URL at which its bytes are."
        " The URL wants the same credential.",
        MediaScope.READ,
        ARTIFACT_ID,
        ArtifactShown,
    ),
)

TOOLS: Mapping[str, Tool] = MappingProxyType({one.name: one for one in _TABLE})


def list_tools() -> list[JsonValue]:
    """All of them, as they are listed."""
    return [one.described() for one in _TABLE]
