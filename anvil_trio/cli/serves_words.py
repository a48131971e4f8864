"""What is said when an operation on serves was not done: a status and fixed words for each code."""

from anvil_trio.cli.envelope import Failure
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.router_client import ORDER_REFUSALS
from anvil_trio.cli.router_orders import ACTIVATION_REFUSED
from anvil_trio.lifecycle.faults import Fault
from anvil_trio.lifecycle.guard import LifecycleRefusal

__all__ = [
    "CONFIRM",
    "EVENTS_INVALID",
    "MANIFEST_INVALID",
    "NO_SUCH_ALIAS",
    "PROFILES_INVALID",
    "UNKNOWN_GROUP",
    "UNKNOWN_NAME",
    "explain_failure",
]

CONFIRM = Failure(
    Exit.SAFETY, "confirmation_required", "This changes what runs on this machine; add --confirm."
)
MANIFEST_INVALID = Failure(
    Exit.USAGE, "serves_manifest_invalid", "The serves files cannot be read or are not valid."
)
PROFILES_INVALID = Failure(
    Exit.USAGE, "serve_profiles_invalid", "The profiles cannot be read or are not valid."
)
EVENTS_INVALID = Failure(
    Exit.USAGE, "serve_events_invalid", "The event settings cannot be read or are not valid."
)
UNKNOWN_NAME = Failure(
    Exit.USAGE, "serves_name_unknown", "The serves files have nothing of that name and kind."
)
UNKNOWN_GROUP = Failure(Exit.USAGE, "serves_group_unknown", "The serves files have no such group.")
NO_SUCH_ALIAS = Failure(Exit.USAGE, "alias_unknown", "The configuration has no such alias.")

_EXECUTION = {
    **{code: failure.message for code, failure in ORDER_REFUSALS.items()},
    Fault.LOCKED.value: "Another command is changing serves; nothing was done.",
    Fault.UNFINISHED.value: "An operation broke off; take it up or roll it back first.",
    Fault.UNREADABLE.value: "A journal, or a configuration kept with it, is damaged.",
    Fault.NOT_SAVED.value: "It could not be written down, so it was not done.",
    Fault.NOTHING_TO_RESUME.value: "The plan has no operation that broke off.",
    Fault.NOTHING_TO_ROLL_BACK.value: "The plan has no operation that could be rolled back.",
    Fault.NO_SERVE.value: "The serves files lack a serve that the operation is about.",
    Fault.PORT_IN_USE.value: "Something else listens on the port of the serve.",
    Fault.NOT_STARTED.value: "The command of the serve could not be started.",
    Fault.EXITED.value: "The serve ended before it was healthy; its log says more.",
    Fault.NOT_HEALTHY.value: "The serve is not healthy in time.",
    Fault.MISMATCH.value: "The pid file means another process; nothing was sent to that.",
    Fault.NOT_STOPPED.value: "The serve did not end, even when it was killed.",
    Fault.GPU_FULL.value: "A GPU has no room for the serve beside what runs.",
    Fault.NO_DOCKER.value: "This machine has no docker command.",
    Fault.DOCKER_FAILED.value: "The docker command did not do it.",
    Fault.GATE_FAILED.value: "The gate of the plan did not pass.",
    Fault.NOT_DRAINED.value: "Requests still ran when the time for draining was over.",
    Fault.NOT_READMITTED.value: "A tier was not ready, so it was not opened.",
    Fault.NOT_THE_CONFIG.value: "The router runs another configuration than that file holds.",
    Fault.NOT_INSTALLED.value: "The router's configuration could not be replaced.",
    ACTIVATION_REFUSED: "The router did not put the configuration to work.",
    "invalid_transition": "The router has no such tier.",
    "server_busy": "The router is busy with other orders.",
    "transition_failed": "The router could not do it.",
    "serve_backer_missing": "No serve stands behind the tier of that alias.",
    "serve_backer_ambiguous": "Several serves stand behind the tier of that alias; name one.",
}
_TRANSPORT = {
    Fault.NO_ROUTER.value: "The router did not answer.",
    "router_access_denied": "The router does not accept this token.",
    "router_http_error": "The router did not do what was asked.",
    "router_response_invalid": "The router's answer could not be read.",
    "router_response_oversized": "The router's answer is too large.",
}
_USAGE = {
    "invalid_router_url": "The router's URL must be http or https, and its host a literal loopback "
    "or private address.",
    "router_token_required": "ANVIL_ROUTER_TOKEN must hold the router's operator token.",
}
_CLASSES = ((Exit.EXECUTION, _EXECUTION), (Exit.TRANSPORT, _TRANSPORT), (Exit.USAGE, _USAGE))


def explain_failure(code: str, *, refused_as: Exit = Exit.EXECUTION) -> Failure:
    """The failure of that code. What the guard refuses (T012) has its code for words.

    `refused_as` is the status of the guard's refusals, which the commands do not share.
    """
    if code in set(LifecycleRefusal):
        return Failure(refused_as, code, code)
    for status, words in _CLASSES:
        if code in words:
            return Failure(status, code, words[code])
    raise AssertionError("a code without words")
