"""Why an operation on serves was not done: a code, and never what it was about (R012)."""

from enum import StrEnum

__all__ = ["Fault", "LifecycleFailed"]


class Fault(StrEnum):
    """What can go wrong here; a router's own codes are passed on as they are."""

    LOCKED = "lifecycle_locked"
    UNFINISHED = "operation_unfinished"
    UNREADABLE = "operation_unreadable"
    NOT_SAVED = "operation_not_saved"
    NOTHING_TO_RESUME = "nothing_to_resume"
    NOTHING_TO_ROLL_BACK = "nothing_to_roll_back"
    NO_SERVE = "serve_unknown"
    PORT_IN_USE = "serve_port_in_use"
    NOT_STARTED = "serve_not_started"
    EXITED = "serve_exited"
    NOT_HEALTHY = "serve_not_healthy"
    MISMATCH = "serve_process_mismatch"
    NOT_STOPPED = "serve_not_stopped"
    GPU_FULL = "gpu_memory_exceeded"
    NO_DOCKER = "docker_unavailable"
    DOCKER_FAILED = "docker_failed"
    GATE_FAILED = "gate_failed"
    NOT_DRAINED = "not_drained"
    NOT_READMITTED = "not_readmitted"
    NO_ROUTER = "router_unreachable"
    NOT_THE_CONFIG = "router_config_mismatch"
    NOT_INSTALLED = "router_config_not_installed"


class LifecycleFailed(Exception):  # noqa: N818 - named by what happened, as trio does
    """Something was not done; `code` is all that is said of it."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = str(code)
