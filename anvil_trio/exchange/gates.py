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
    # The context to judge by: none where it is unknown, or the engine judges by itself.
    context = tier.context_limit if tier.context_admission == "estimate" else None
    # Most prompts are far from it, and need not be looked at.
    if context is not None and request.prompt.most > context and request.prompt_tokens > context:
        return _too_long(request.prompt_tokens, context)
    if tier.media_policy is not None:
        refused = _check_media(request, tier, tier.media_policy, context)
        if refused is not None:
            return refused
    if request.has_tools and not tier.tool_support:
        return problem(Code.SERVICE_UNAVAILABLE, status=exhaustion_status)
    return None


def _check_media(
    request: ChatRequest, tier: Tier, policy: MediaPolicy, context: int | None
) -> Problem | None:
    """The operator's limits on images and videos; without a policy the engine judges."""
    if request.media.images > policy.image_limit:
        return _unsupported(_TOO_MANY_IMAGES)
    if request.media.videos > policy.video_limit:
        return _unsupported(_TOO_MANY_VIDEOS)
    tokens = _tokens_with_media(request, policy, tier)
    if context is None or tokens <= context:
        return None
    return _too_long(tokens, context, _TOO_MUCH_WITH_MEDIA)


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


def _too_long(tokens: int, context: int, message: str | None = None) -> Problem:
    return problem(
        Code.CONTEXT_LENGTH_EXCEEDED,
        message=message,
        param="messages",
        overflow=Overflow(tokens, context),
    )


def _unsupported(message: str) -> Problem:
    return problem(Code.UNSUPPORTED_MEDIA, message=message, param="messages")
