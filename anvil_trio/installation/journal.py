"""What an installation leaves behind if it is killed: enough to go on from. Pure.

It stands beside the router's file from before the first step to after the last one. It is taken as
a whole or not at all.
"""

from typing import Final, Literal

import msgspec

from anvil_trio.installation.protocol import Step, Way

__all__ = ["HOW_TO_GO_ON", "MAX_JOURNAL_BYTES", "CorruptJournal", "Journal", "parse_journal"]

MAX_JOURNAL_BYTES = 1_048_576
_SCHEMA: Final = "anvil-serving.router-install/v1"

HOW_TO_GO_ON: Final = (
    "An installation did not end. Run router install-config --confirm again, in the same way and "
    "with the configuration that is wanted: it takes up what was begun, and opens what was closed. "
    "The file beside this one that ends in .bak holds the configuration before it."
)


class CorruptJournal(ValueError):  # noqa: N818 - named by what it is
    """The bytes are no journal. It says nothing of what they hold (R012)."""


class Journal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One installation, with the step that is about to be done."""

    schema: Literal["anvil-serving.router-install/v1"] = _SCHEMA
    how_to_go_on: str = HOW_TO_GO_ON
    way: Way
    step: Step
    old_sha256: str | None
    """Of the file that was there; None: there was none."""
    new_sha256: str
    tiers: tuple[str, ...]
    """Those of the router before it."""
    closes: tuple[str, ...]
    """The tiers that it closes, in that order, and has to open again."""

    @property
    def may_be_down(self) -> bool:
        """Whether it may have been the one who stopped the router."""
        return self.step in {Step.RESTART, Step.AWAIT, Step.RESTART_OLD, Step.AWAIT_OLD}

    def render(self) -> bytes:
        """The file that `parse_journal` reads as this."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"


_DECODER = msgspec.json.Decoder(Journal)


def parse_journal(data: bytes) -> Journal:
    """The journal that `data` holds. Raises CorruptJournal for anything else."""
    if len(data) > MAX_JOURNAL_BYTES:
        raise CorruptJournal
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError):
        raise CorruptJournal from None
