"""Whether a request of a given size would fit a tier: arithmetic on what is declared, no more.

A number that is not known makes what depends on it unknown; it never counts as zero.
"""

from dataclasses import dataclass
from typing import Literal

from anvil_trio.config.model import Tier
from anvil_trio.views.declared import Declared, declared
from anvil_trio.views.shape import Count, Shape

__all__ = ["NOT_ASKED", "Scenario", "Sizes", "project_scenario"]

_NOTE = "Arithmetic on declared limits; nothing is reserved."

MediaSource = Literal["request", "configured_estimate"]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The request that is asked about; None where the caller did not say."""

    images: int | None = None
    videos: int | None = None
    input_tokens: int | None = None
    image_tokens: int | None = None
    video_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def is_asked(self) -> bool:
        """Whether the caller said anything at all."""
        said = (self.images, self.videos, self.input_tokens, self.image_tokens)
        return any(one is not None for one in (*said, self.video_tokens, self.output_tokens))


NOT_ASKED = Sizes()


class Scenario(Shape, frozen=True, kw_only=True):
    """One request's sizes and what they come to; `allowed` is null where a check is open."""

    images: Count
    videos: Count
    input_tokens: Count
    image_tokens: Count | None
    video_tokens: Count | None
    image_tokens_source: MediaSource | None
    video_tokens_source: MediaSource | None
    output_tokens: Count
    context_tokens: Count | None
    within_image_limit: bool | None
    within_video_limit: bool | None
    within_context_limit: bool | None
    allowed: bool | None
    note: str


def project_scenario(tier: Tier, sizes: Sizes) -> Scenario | None:
    """What a request of these sizes comes to; None if none was asked about.

    Images cost what the caller says (decision 27): their tokens depend on their sizes, and a guess
    would make a verdict of it. Videos fall back on the operator's estimate for one video.
    """
    if not sizes.is_asked:
        return None
    limits = declared(tier, "capacity")
    images, videos = sizes.images or 0, sizes.videos or 0
    texts = (sizes.input_tokens or 0) + (sizes.output_tokens or 0)
    image_tokens, image_source = _image_tokens(images, sizes.image_tokens)
    video_tokens, video_source = _video_tokens(videos, sizes.video_tokens, limits)
    is_known = image_tokens is not None and video_tokens is not None
    context = texts + (image_tokens or 0) + (video_tokens or 0) if is_known else None
    checks = (
        _within(images, limits.count("image_limit")),
        _within(videos, limits.count("video_limit")),
        None if context is None else _within(context, tier.context_limit),
    )
    return Scenario(
        images=images,
        videos=videos,
        input_tokens=sizes.input_tokens or 0,
        image_tokens=image_tokens,
        video_tokens=video_tokens,
        image_tokens_source=image_source,
        video_tokens_source=video_source,
        output_tokens=sizes.output_tokens or 0,
        context_tokens=context,
        within_image_limit=checks[0],
        within_video_limit=checks[1],
        within_context_limit=checks[2],
        allowed=_all(checks),
        note=_NOTE,
    )


def _image_tokens(images: int, said: int | None) -> tuple[int | None, MediaSource | None]:
    if said is not None:
        return said, "request"
    return (None, None) if images else (0, None)


def _video_tokens(
    videos: int, said: int | None, limits: Declared
) -> tuple[int | None, MediaSource | None]:
    if said is not None:
        return said, "request"
    if not videos:
        return 0, None
    each = limits.count("video_tokens_estimate")
    return (None, None) if each is None else (videos * each, "configured_estimate")


def _within(amount: int, limit: int | None) -> bool | None:
    """Nothing is within any limit, a declared one or not."""
    if amount == 0:
        return True
    return None if limit is None else amount <= limit


def _all(checks: tuple[bool | None, ...]) -> bool | None:
    if False in checks:
        return False
    return None if None in checks else True
