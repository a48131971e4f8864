"""What the operator wants: who is quiesced, and why. Pure.

A tier's intent and its members' are independent: readmitting a tier readmits no member, and a
member may be quiesced in a tier that is.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from anvil_trio.names import MemberId, TierId

__all__ = ["NOT_RESTORED", "Intents", "is_reason"]

NOT_RESTORED = "promotion"
"""The reason of a tier's quiesce that ends with the process: a promotion that broke off."""

_REASON = re.compile(r"[A-Za-z0-9_.-]{1,128}")

Target = tuple[TierId, MemberId | None]


def is_reason(text: str) -> bool:
    """Whether `text` may say why: a code, free of content."""
    return _REASON.fullmatch(text) is not None


def _nobody() -> Mapping[Target, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Intents:
    """Each quiesced tier (member None) and each quiesced member, with the reason it was given."""

    reasons: Mapping[Target, str] = field(default_factory=_nobody)

    def reason(self, tier_id: TierId, member_id: MemberId | None = None) -> str | None:
        """Why it is quiesced; None if it is not."""
        return self.reasons.get((tier_id, member_id))

    def quiesced(self, tier_id: TierId, member_id: MemberId | None, reason: str) -> "Intents":
        """The same with one more quiesced, or quiesced for another reason."""
        return self._with({**self.reasons, (tier_id, member_id): reason})

    def readmitted(self, tier_id: TierId, member_id: MemberId | None) -> "Intents":
        """The same without this one."""
        target = (tier_id, member_id)
        return self._with({each: why for each, why in self.reasons.items() if each != target})

    def lasting(self) -> "Intents":
        """What outlives the process: all but the tiers that a promotion had quiesced."""
        return self._with({
            (tier_id, member_id): why
            for (tier_id, member_id), why in self.reasons.items()
            if member_id is not None or why != NOT_RESTORED
        })

    def known(self, tiers: Mapping[TierId, Collection[MemberId]]) -> "Intents":
        """What is about these tiers and their members; all else is left out."""
        return self._with({
            (tier_id, member_id): why
            for (tier_id, member_id), why in self.reasons.items()
            if tier_id in tiers and (member_id is None or member_id in tiers[tier_id])
        })

    def _with(self, reasons: Mapping[Target, str]) -> "Intents":
        return replace(self, reasons=MappingProxyType(dict(reasons)))
