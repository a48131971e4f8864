"""What a tier takes at all: gates that every request passes before anything is reserved.

They judge the request by the tier's configuration alone, so their answer is the same whether the
tier is idle, full or down. Types are judged earlier, by the dialect; the output
limit is lowered, not refused, when the request is rendered.
"""

from anvil_trio.config.model import MediaPolicy, Tier
from anvil_trio.dialects.ir import ChatRequest
from anvil_trio.errors import Code, Overflow, Problem, problem

__all__ = ["check"]

_TOO_MANY_IMAGES = "This model does not take that many images."
_TOO_MANY_VIDEOS = "This model does not take that many videos."
_TOO_MUCH_WITH_MEDIA = "Prompt, media and output together are longer than this model's context."


def check(request: ChatRequest, tier: Tier, exhaustion_status: int) -> Problem | None:
    """Why this tier cannot take this request, or None.

    `exhaustion_status` is the operator's status for a tier that cannot serve now, which a tier
    without tools answers to a request with tools.
    """
    return (
        _check_context(request, tier)
        or _check_media(request, tier)
        or _check_tools(request, tier, exhaustion_status)
    )


def _context_of(tier: Tier) -> int | None:
    """The context to judge by; None where it is unknown or the engine judges by itself."""
    return tier.context_limit if tier.context_admission == "estimate" else None


def _check_context(request: ChatRequest, tier: Tier) -> Problem | None:
    context = _context_of(tier)
    if context is None or request.prompt_tokens <= context:
        return None
    overflow = Overflow(request.prompt_tokens, context)
    return problem(Code.CONTEXT_LENGTH_EXCEEDED, param="messages", overflow=overflow)


def _check_media(request: ChatRequest, tier: Tier) -> Problem | None:
    """The operator's limits on images and videos; without a policy the engine judges."""
    policy = tier.media_policy
    if policy is None:
        return None
    if request.media.images > policy.image_limit:
        return _unsupported(_TOO_MANY_IMAGES)
    if request.media.videos > policy.video_limit:
        return _unsupported(_TOO_MANY_VIDEOS)
    context = _context_of(tier)
    tokens = _tokens_with_media(request, policy, tier)
    if context is None or tokens <= context:
        return None
    return problem(
        Code.CONTEXT_LENGTH_EXCEEDED,
        message=_TOO_MUCH_WITH_MEDIA,
        param="messages",
        overflow=Overflow(tokens, context),
    )


def _tokens_with_media(request: ChatRequest, policy: MediaPolicy, tier: Tier) -> int:
    """Prompt, media and output as they would be sent; 0 for a request without media."""
    media = request.media
    if not media.images and not media.videos:
        return 0
    limits = (request.output_limit, tier.max_output_tokens)
    return (
        request.prompt_tokens
        + media.images * policy.image_tokens_estimate
        + media.videos * policy.video_tokens_estimate
        + min((limit for limit in limits if limit is not None), default=0)
    )


def _check_tools(request: ChatRequest, tier: Tier, exhaustion_status: int) -> Problem | None:
    if tier.tool_support or not request.has_tools:
        return None
    return problem(Code.SERVICE_UNAVAILABLE, status=exhaustion_status)


def _unsupported(message: str) -> Problem:
    return problem(Code.UNSUPPORTED_MEDIA, message=message, param="messages")
