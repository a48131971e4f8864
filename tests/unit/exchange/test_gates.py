"""What a tier takes at all."""

from types import MappingProxyType

import pytest

from anvil_trio.config.model import MediaPolicy, Tier
from anvil_trio.dialects.ir import ChatRequest, Media, Prompt
from anvil_trio.errors import Code, Overflow, Problem, problem
from anvil_trio.exchange.gates import check

STATUS = 529
POLICY = MediaPolicy(
    image_limit=2, video_limit=1, image_tokens_estimate=100, video_tokens_estimate=1000
)
OVERFLOW = Code.CONTEXT_LENGTH_EXCEEDED


def verdict(
    *,
    tokens: int = 0,
    prompt: Prompt | None = None,
    limit: int | None = None,
    images: int = 0,
    videos: int = 0,
    has_tools: bool = False,
    **tier,
) -> Problem | None:
    """What the gates say of a request with these measures to a tier with these rules."""
    request = ChatRequest(
        model="m",
        stream=False,
        usage_wanted=False,
        fields=MappingProxyType({}),
        prompt=Prompt(tokens) if prompt is None else prompt,
        roles=frozenset(),
        output_limit=limit,
        media=Media(images=images, videos=videos, audios=3, files=3),
        has_tools=has_tools,
    )
    values = {"id": "t", "auth_env": "KEY", "context_limit": 2000, **tier}
    return check(request, Tier(**values), STATUS)


def test_a_plain_request_passes():
    """Nothing to refuse."""
    assert verdict(tokens=10, limit=10, images=9, videos=9) is None


def test_a_prompt_as_long_as_the_context_passes_and_a_longer_one_does_not():
    """R010: the estimate of the prompt alone against the tier's context."""
    assert verdict(tokens=2000, limit=2000) is None
    overflow = Overflow(prompt_tokens=2001, context_tokens=2000)
    assert verdict(tokens=2001) == problem(OVERFLOW, param="messages", overflow=overflow)


def test_only_a_prompt_that_may_be_too_long_is_looked_at():
    """One whose bytes are too few for the context passes unread; else the estimate decides."""

    def count() -> int:
        counted.append(1)
        return 2000

    counted: list[int] = []
    for most, looks in ((2000, 0), (2001, 1)):
        assert verdict(prompt=Prompt(most, count)) is None
        assert len(counted) == looks


def test_an_unknown_context_refuses_nothing():
    """A tier without a limit leaves the judgement to its engine."""
    assert verdict(tokens=10**9, context_limit=None) is None


def test_a_context_that_the_engine_admits_is_not_estimated():
    """Neither for text nor for media."""
    assert verdict(tokens=10**9, context_admission="upstream") is None
    assert (
        verdict(tokens=10**9, images=1, media_policy=POLICY, context_admission="upstream") is None
    )


@pytest.mark.parametrize(("images", "videos"), [(3, 0), (0, 2), (3, 2)])
def test_more_media_than_the_policy_allows_is_a_400_that_names_the_field(images: int, videos: int):
    """Images and videos each have their limit."""
    what = verdict(images=images, videos=videos, media_policy=POLICY)
    assert what is not None
    assert (what.status, what.code, what.param) == (400, Code.UNSUPPORTED_MEDIA, "messages")


def test_a_text_tier_takes_no_media():
    """A policy of zero is how a tier says so."""
    none = MediaPolicy(
        image_limit=0, video_limit=0, image_tokens_estimate=1, video_tokens_estimate=1
    )
    assert verdict(media_policy=none) is None
    assert verdict(images=1, media_policy=none) is not None
    assert verdict(videos=1, media_policy=none) is not None


@pytest.mark.parametrize(
    ("tokens", "limit", "cap", "fits"),
    [
        (800, None, None, True),
        (801, None, None, False),
        (300, 500, None, True),
        (301, 500, None, False),
        (300, None, 500, True),
        (301, None, 500, False),
        (300, 10_000, 500, True),
    ],
)
def test_prompt_media_and_output_must_fit_together(
    tokens: int,
    limit: int | None,
    cap: int | None,
    fits: bool,
):
    """Two images and a video are 1,200 tokens here; the output counts as it will be sent."""
    what = verdict(
        tokens=tokens, limit=limit, images=2, videos=1, media_policy=POLICY, max_output_tokens=cap
    )
    assert (what is None) is fits
    if what is not None:
        assert (what.status, what.code, what.param) == (400, OVERFLOW, "messages")


def test_a_request_without_media_is_judged_by_its_prompt_alone():
    """A policy changes nothing for text, whatever output it asks for."""
    assert verdict(tokens=2000, limit=2000, media_policy=POLICY) is None
    assert verdict(tokens=2000, images=1, media_policy=POLICY, context_limit=None) is None


def test_tools_on_a_tier_without_them_meet_the_exhaustion_status():
    """The operator's status, with a `Retry-After`; a tier with tools takes them."""
    what = verdict(has_tools=True, tool_support=False)
    assert what == problem(Code.SERVICE_UNAVAILABLE, status=STATUS)
    assert what.retry_after_s == 1
    assert verdict(has_tools=True) is None
    assert verdict(tool_support=False) is None


def test_the_first_gate_that_refuses_answers():
    """Context, then media, then tools."""
    for tokens, images, code in (
        (9999, 9, OVERFLOW),
        (1, 9, Code.UNSUPPORTED_MEDIA),
        (1, 1, Code.SERVICE_UNAVAILABLE),
    ):
        what = verdict(
            tokens=tokens, images=images, has_tools=True, tool_support=False, media_policy=POLICY
        )
        assert what is not None
        assert what.code is code
