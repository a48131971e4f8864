"""Why a configuration was not installed: a code, and never what it was about (R012)."""

from enum import StrEnum

__all__ = ["InstallFailed", "InstallFault", "NotBegun"]


class InstallFault(StrEnum):
    """What can go wrong here; a router's own codes are passed on as they are."""

    LOCKED = "lifecycle_locked"
    SETTINGS_INVALID = "install_settings_invalid"
    NO_COMMAND = "restart_command_required"
    LIVE_UNREADABLE = "live_config_unreadable"
    LIVE_CHANGED = "live_config_changed"
    NOT_WRITTEN = "live_config_not_written"
    JOURNAL_UNREADABLE = "install_journal_unreadable"
    NOT_SAVED = "install_not_saved"
    NOT_DRAINED = "not_drained"
    COMMAND_FAILED = "restart_command_failed"
    COMMAND_TIMED_OUT = "restart_command_timed_out"
    NOT_RESTARTED = "router_not_restarted"
    MISMATCH = "installed_config_mismatch"
    INTERRUPTED = "install_interrupted"
    NOT_UNDONE = "install_not_undone"


class InstallFailed(Exception):  # noqa: N818 - named by what happened, as trio does
    """Something was not done. `is_unsure`: or was, and nobody has said so."""

    def __init__(self, code: str, *, is_unsure: bool = False) -> None:
        super().__init__(code)
        self.code = code
        self.is_unsure = is_unsure


class NotBegun(InstallFailed):
    """A step failed before it had any effect, so that there is nothing of it to undo."""
