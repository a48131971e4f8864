"""The product's own grammars, as tests read what they give: freely."""

from dataclasses import dataclass
from typing import Any, cast

from anvil_trio.conform.chat_grammar import read_chat_stream
from anvil_trio.conform.grammar import GrammarError, named_events
from anvil_trio.conform.messages_grammar import read_messages_stream
from anvil_trio.conform.responses_grammar import read_responses_stream

__all__ = [
    "GrammarError",
    "ResponsesStream",
    "check_responses",
    "events_of",
    "read_chat",
    "read_messages",
]


@dataclass(frozen=True, slots=True)
class ResponsesStream:
    """A Responses stream that keeps the grammar."""

    events: list[dict[str, Any]]
    response: dict[str, Any]

    @property
    def output(self) -> list[dict[str, Any]]:
        """The items of the final response."""
        output: list[dict[str, Any]] = self.response["output"]
        return output

    def without_ids(self) -> dict[str, Any]:
        """The final response without what is made anew for each."""
        kept = {
            k: v for k, v in self.response.items() if k not in {"id", "created_at", "completed_at"}
        }
        kept["output"] = [{k: v for k, v in item.items() if k != "id"} for item in self.output]
        return kept


def read_chat(
    stream: bytes, *, usage_wanted: bool = False, is_relayed: bool = False
) -> dict[str, Any]:
    """The completion, or the error, of a Chat stream. Raises GrammarError."""
    found = read_chat_stream(stream, usage_wanted=usage_wanted, is_relayed=is_relayed)
    return cast("dict[str, Any]", found)


def read_messages(stream: bytes) -> dict[str, Any]:
    """The message, or the error, of a Messages stream. Raises GrammarError."""
    return cast("dict[str, Any]", read_messages_stream(stream))


def events_of(stream: bytes) -> list[dict[str, Any]]:
    """The named events of a stream."""
    return cast("list[dict[str, Any]]", list(named_events(stream)))


def check_responses(stream: bytes) -> ResponsesStream:
    """The events and the response of a Responses stream. Raises GrammarError."""
    found = read_responses_stream(stream)
    return ResponsesStream(
        cast("list[dict[str, Any]]", found.events), cast("dict[str, Any]", found.response)
    )
