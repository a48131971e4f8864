"""What is said of an installation: fixed words, the names of tiers, and nothing else (R012)."""

from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from anvil_trio.cli.envelope import Failure
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.router_client import ORDER_REFUSALS
from anvil_trio.installation.faults import InstallFault
from anvil_trio.installation.installer import Outcome
from anvil_trio.installation.journal import HOW_TO_GO_ON
from anvil_trio.installation.plan import Plan
from anvil_trio.installation.protocol import End

__all__ = [
    "UNFINISHED",
    "explain_code",
    "explain_outcome",
    "project_outcome",
    "render_end",
    "render_names",
    "render_outcome",
]

UNFINISHED = "install_unfinished"
"""The warning that an earlier installation has not ended."""

_USAGE = {
    InstallFault.SETTINGS_INVALID: "router-install.toml cannot be read or is not valid.",
    InstallFault.NO_COMMAND: "--restart needs a restart_command in router-install.toml.",
    InstallFault.LIVE_UNREADABLE: "The router's file, or what is beside it, cannot be read.",
}
_EXECUTION = {
    **{code: failure.message for code, failure in ORDER_REFUSALS.items()},
    InstallFault.LOCKED: "Another command changes what serves on this machine.",
    InstallFault.LIVE_CHANGED: "Somebody else has changed the router's file meanwhile.",
    InstallFault.NOT_WRITTEN: "The router's file could not be replaced.",
    InstallFault.JOURNAL_UNREADABLE: "The journal beside the router's file is damaged.",
    InstallFault.NOT_SAVED: "The lock or the journal could not be written.",
    InstallFault.NOT_DRAINED: "Requests still ran when the time to drain was over.",
    InstallFault.COMMAND_FAILED: "The restart command could not be run, or ended badly.",
    InstallFault.COMMAND_TIMED_OUT: "The restart command did not end in time.",
    InstallFault.NOT_RESTARTED: "No new router with exactly the desired tiers came up in time.",
    InstallFault.MISMATCH: "The router says that another configuration is at work.",
    InstallFault.INTERRUPTED: "It was interrupted.",
}
_NOT_UNDONE = "It failed, and could not be undone in full; the journal beside the file stays."
_TRANSPORT = "The router could not be asked, or did not answer as a router does."

_ENDS = {
    End.INSTALLED: "The new configuration is in the router's file and at work.",
    End.RESTORED: "The configuration from before is in the router's file and at work.",
    End.UNCERTAIN: HOW_TO_GO_ON,
}


def explain_code(code: str) -> Failure:
    """The class and the words of a failure; whatever is not known here came from the transport."""
    if code == InstallFault.NOT_UNDONE:
        return Failure(Exit.TRANSPORT, InstallFault.NOT_UNDONE.value, _NOT_UNDONE)
    for status, known in ((Exit.USAGE, _USAGE), (Exit.EXECUTION, _EXECUTION)):
        words = {str(each): text for each, text in known.items()}
        if code in words:
            return Failure(status, str(code), words[code])
    return Failure(Exit.TRANSPORT, str(code), _TRANSPORT)


def explain_outcome(outcome: Outcome) -> Failure | None:
    """Why an installation is no success, or None; one that is uncertain says only that."""
    if outcome.end is End.INSTALLED:
        return None
    if outcome.end is End.UNCERTAIN or outcome.code is None:
        return explain_code(InstallFault.NOT_UNDONE)
    return explain_code(outcome.code)


def project_outcome(plan: Plan, outcome: Outcome, drain_timeout: float) -> dict[str, JsonValue]:
    """The closed object for machines: the keys of a dry run, and what has become of it."""
    before, after = plan.before, outcome.after
    is_failed = outcome.end is not End.INSTALLED
    rows = () if after is None else after.tiers
    return {
        "applied": not is_failed,
        "dry_run": False,
        "config_sha256": plan.sha256,
        "current_tiers": None if before is None else [*before.tier_ids],
        "desired_tiers": [*plan.desired],
        "drain_timeout": drain_timeout,
        "way": plan.way.value,
        "installed_config_sha256": None if after is None else after.installed_sha256,
        "unavailable_tiers": [row.tier_id for row in rows if not row.is_ready],
        "quiesced_tiers": [*outcome.closed],
        "restored": outcome.end is End.RESTORED if is_failed else None,
        "failed_step": None if outcome.step is None else outcome.step.value,
        "cause": outcome.code,
    }


def render_outcome(data: dict[str, JsonValue]) -> str:
    """The lines of a success, made of nothing but that object."""
    lines = [
        "router config install: done",
        f"config_sha256: {data['config_sha256']}",
        f"way: {data['way']}",
    ]
    for key in ("desired_tiers", "unavailable_tiers"):
        names = data[key]
        assert isinstance(names, list), "these are lists"
        lines.append(f"{key}: {render_names(names)}")
    return "\n".join(lines)


def render_end(outcome: Outcome) -> Sequence[str]:
    """The lines that follow the one of a failure: why, what is so now, and what to do."""
    lines = [_ENDS[outcome.end]]
    if outcome.end is End.UNCERTAIN:
        lines.insert(0, f"cause: {outcome.code}")
        if outcome.closed:
            lines.append(f"still quiesced: {render_names(outcome.closed)}")
    return lines


def render_names(names: Iterable[JsonValue]) -> str:
    """Names in one line; a router's words do not steer a terminal."""
    shown = ", ".join(map(str, names)) or "none"
    return shown if shown.isprintable() else "?"
