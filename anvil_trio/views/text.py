"""How a text that a caller chose is shown to somebody else: whole, or not at all."""

import re

__all__ = ["NOTHING", "REDACTED", "show_text"]

NOTHING = "-"
REDACTED = "[redacted]"

# How the usual kinds of keys begin. A caller's id is no place for one, but callers make mistakes,
# and whoever may read the records is not always the key's owner.
_SECRET = re.compile(
    r"(sk|pk|rk)[-_][A-Za-z0-9]"
    r"|gh[oprsu]_|github_pat_|glpat-|xox[abeoprs]-|hf_[A-Za-z0-9]{16}|AIza[A-Za-z0-9_-]{16}"
    r"|(AKIA|ASIA)[A-Z0-9]{16}|eyJ[A-Za-z0-9_-]+\."
)


def show_text(text: str | None) -> str:
    """The text; `-` where there is none, and a fixed word for what looks like a credential."""
    if text is None:
        return NOTHING
    return REDACTED if _SECRET.match(text) else text
