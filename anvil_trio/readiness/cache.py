"""What every probe found last, and what of it is still to be published. Knows no clock and no task.

Results are kept per (tier, member), never per member: equal ids in two tiers share nothing (R007).
Each entry has a generation. An invalidation raises it, and a probe that began before it can no
longer settle anything: a stale good answer never brings a member back (T003).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from anvil_trio.facts import Readiness, Verdict
from anvil_trio.names import DIRECT_MEMBER, MemberId, TierId
from anvil_trio.readiness.verdict import PENDING, Finding, Standing, settle, with_age

__all__ = ["Key", "ProbeCache"]

Key = tuple[TierId, MemberId]

_INVALIDATED = replace(PENDING, reason="probe_invalidated")


@dataclass(slots=True)
class _Entry:
    standing: Standing = field(default_factory=Standing)
    generation: int = 0


class ProbeCache:
    """The last result of every probed member, and what was published of each tier.

    `failures` timeouts in a row make a member unready; a result older than `max_age_s` counts as
    none. A tier is known from the moment when each of its members has a first verdict, or one is
    ready; until then nothing of it is published, so that callers wait for the first answer.
    """

    def __init__(self, keys: Iterable[Key], *, failures: int, max_age_s: float) -> None:
        self._failures, self._max_age_s = failures, max_age_s
        self._tiers: dict[TierId, dict[MemberId, _Entry]] = {}
        for tier_id, member_id in keys:
            self._tiers.setdefault(tier_id, {})[member_id] = _Entry()
        self._published: dict[TierId, Readiness] = {}

    def members(self, tier_id: TierId) -> tuple[MemberId, ...]:
        """The probed members of a tier; none for a tier that is not probed."""
        return tuple(self._tiers.get(tier_id, ()))

    def generation(self, key: Key) -> int:
        """What a probe that begins now must show when it settles."""
        return self._entry(key).generation

    def settle(self, key: Key, generation: int, found: Finding, now: float) -> bool:
        """Take in what a probe found; False, and nothing changes, if it began too early."""
        entry = self._entry(key)
        if entry.generation != generation:
            return False
        entry.standing = settle(entry.standing, found, failures=self._failures, now=now)
        return True

    def invalidate(self, key: Key) -> None:
        """Forget what is known of one member, and what any probe under way is about to find."""
        entry = self._entry(key)
        is_direct = key[1] == DIRECT_MEMBER
        entry.standing = Standing(_INVALIDATED if is_direct else PENDING)
        entry.generation += 1

    def verdict(self, key: Key, now: float) -> Verdict:
        """The verdict that holds at `now`; one that is too old says that nothing is known."""
        return with_age(self._entry(key).standing.verdict, max_age_s=self._max_age_s, now=now)

    def news(self, tier_id: TierId, now: float) -> Readiness | None:
        """What has to be published of a tier, or None if that is what was published last.

        Each call that gives something counts as its publication; generations rise by one.
        """
        last = self._published.get(tier_id)
        verdicts = {m: self.verdict((tier_id, m), now) for m in self._tiers[tier_id]}
        eligible = frozenset(m for m, verdict in verdicts.items() if verdict.is_ready)
        if last is None:
            if not eligible and any(v.checked_at is None for v in verdicts.values()):
                return None
            last = Readiness(generation=0, eligible=frozenset())
        elif eligible == last.eligible:
            return None
        self._published[tier_id] = Readiness(last.generation + 1, eligible)
        return self._published[tier_id]

    def published(self, tier_id: TierId) -> Readiness | None:
        """What was published last of a tier; None while nothing was."""
        return self._published.get(tier_id)

    def next_expiry(self, now: float) -> float:
        """A moment after `now` before which no result that counts, or may yet come, is too old."""
        entries = (entry for members in self._tiers.values() for entry in members.values())
        checked = (entry.standing.verdict.checked_at for entry in entries)
        expiries = (at + self._max_age_s for at in checked if at is not None)
        return min((at for at in expiries if at > now), default=now + self._max_age_s)

    def _entry(self, key: Key) -> _Entry:
        return self._tiers[key[0]][key[1]]
