"""What an installation is about, worked out before its first step. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from anvil_trio.installation.journal import Journal
from anvil_trio.installation.protocol import Way

__all__ = ["Look", "Plan", "TierRow", "digest_of", "find_old", "plan_installation"]


@dataclass(frozen=True, slots=True)
class TierRow:
    """One tier of a running router."""

    tier_id: str
    is_quiesced: bool
    is_failed: bool
    """Its actor crashed: nothing runs in it, and it can only be started anew."""
    is_ready: bool


@dataclass(frozen=True, slots=True)
class Look:
    """What a running router says of itself. `started_at` tells one process from the next."""

    installed_sha256: str
    started_at: str
    tiers: tuple[TierRow, ...]

    @property
    def tier_ids(self) -> tuple[str, ...]:
        """Its tiers, in its order."""
        return tuple(row.tier_id for row in self.tiers)

    def quiesced(self, among: Iterable[str]) -> tuple[str, ...]:
        """Those of its tiers that are quiesced and among these."""
        wanted = set(among)
        return tuple(row.tier_id for row in self.tiers if row.is_quiesced and row.tier_id in wanted)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is known before the first step."""

    way: Way
    source: bytes = field(repr=False)
    """The captured bytes: exactly these are written."""
    sha256: str
    desired: tuple[str, ...]
    before: Look | None
    """The router as it was; None: an earlier installation has left it stopped."""
    found: bytes | None = field(repr=False)
    """What the file held before the first step; None: there was none."""
    old: bytes | None = field(repr=False)
    """What it is to hold if this fails."""
    closed: tuple[str, ...]
    """What an earlier installation has closed and not opened."""
    closes: tuple[str, ...]
    """What this one closes, and opens again."""
    drains: tuple[str, ...]
    """What must be empty before the router is stopped."""

    @property
    def opens(self) -> tuple[str, ...]:
        """What is open in the end; the tiers that an operator has closed are not among them."""
        ours = {*self.closed, *self.closes}
        if self.way is Way.HOT:
            return tuple(tier for tier in self.desired if tier in ours)
        kept = () if self.before is None else self.before.quiesced(self.before.tier_ids)
        return tuple(tier for tier in self.desired if tier in ours or tier not in kept)

    def is_at_work(self, now: Look) -> bool:
        """Whether exactly the new configuration is."""
        return now.installed_sha256 == self.sha256 and set(now.tier_ids) == set(self.desired)

    def is_new_process(self, now: Look) -> bool:
        """Whether this router is another one than before."""
        return self.before is None or (now.started_at, now.installed_sha256) != (
            self.before.started_at,
            self.before.installed_sha256,
        )

    def is_old_at_work(self, now: Look) -> bool:
        """Whether the configuration from before is: what the router had, or what its file had."""
        if self.before is not None and now.installed_sha256 == self.before.installed_sha256:
            return set(now.tier_ids) == set(self.before.tier_ids)
        return now.installed_sha256 == digest_of(self.old)


def digest_of(data: bytes | None) -> str | None:
    """The sha256 of a file; None if there is none."""
    return None if data is None else sha256(data).hexdigest()


def find_old(
    found: bytes | None, backup: bytes | None, installed_sha256: str | None, journal: Journal | None
) -> bytes | None:
    """What the file is to hold if the installation fails.

    That is what it holds, unless an earlier one was killed after it had written and before its
    bytes were at work: then it is what that one had found.
    """
    if journal is None or digest_of(found) != journal.new_sha256:
        return found
    if installed_sha256 == journal.new_sha256:
        return found
    if journal.old_sha256 is None:
        return None
    return backup if digest_of(backup) == journal.old_sha256 else found


def plan_installation(
    way: Way,
    source: bytes,
    desired: Sequence[str],
    before: Look | None,
    found: bytes | None,
    backup: bytes | None,
    journal: Journal | None,
) -> Plan:
    """The plan, given what was found on the disk and at the router.

    A tier whose actor crashed is neither closed nor drained. One that is closed already stays as
    its operator wants it, unless an earlier installation was the one who closed it.
    """
    installed = None if before is None else before.installed_sha256
    earlier = () if journal is None else journal.closes
    rows = () if before is None else before.tiers
    is_restart = way is Way.RESTART
    standing = [row for row in rows if not row.is_failed]
    return Plan(
        way=way,
        source=source,
        sha256=sha256(source).hexdigest(),
        desired=tuple(desired),
        before=before,
        found=found,
        old=find_old(found, backup, installed, journal),
        closed=() if before is None else before.quiesced(earlier),
        closes=tuple(row.tier_id for row in standing if is_restart and not row.is_quiesced),
        drains=tuple(row.tier_id for row in standing if is_restart),
    )
