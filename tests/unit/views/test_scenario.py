"""The arithmetic of `/v1/models/capacity`."""

import pytest

from anvil_trio.views.scenario import Sizes, project_scenario
from tests.unit.views.samples import direct_tier, read

LIMITS = {"image_limit": 2, "video_limit": 1, "video_tokens_estimate": 1000}


def scenario(limits=LIMITS, **sizes):
    """What a request of these sizes comes to on a tier of 4096 tokens."""
    tier = direct_tier().model_copy(update={"params": {"capacity": limits}})
    return read(project_scenario(tier, Sizes(**sizes)))


def test_nothing_is_computed_unless_it_is_asked():
    """Without sizes there is no scenario; a size of zero is one."""
    assert scenario() is None
    assert scenario(images=0) is not None


@pytest.mark.parametrize(
    "size",
    ["images", "videos", "input_tokens", "image_tokens", "video_tokens", "output_tokens"],
)
def test_each_size_alone_asks(size):
    """Every parameter makes a scenario."""
    assert scenario(**{size: 1}) is not None


def test_a_request_that_fits():
    """All four parts are added up and each is checked."""
    assert scenario(
        images=2, image_tokens=500, videos=1, input_tokens=1500, output_tokens=1096
    ) == {
        "images": 2,
        "videos": 1,
        "input_tokens": 1500,
        "image_tokens": 500,
        "video_tokens": 1000,
        "image_tokens_source": "request",
        "video_tokens_source": "configured_estimate",
        "output_tokens": 1096,
        "context_tokens": 4096,
        "within_image_limit": True,
        "within_video_limit": True,
        "within_context_limit": True,
        "allowed": True,
        "note": "Arithmetic on declared limits; nothing is reserved.",
    }


def test_one_token_too_many_does_not_fit():
    """The context's limit is inclusive, and one failed check forbids."""
    found = scenario(input_tokens=4097)
    assert (found["within_context_limit"], found["allowed"]) == (False, False)
    assert scenario(input_tokens=4096)["allowed"] is True


def test_images_without_their_tokens_leave_the_context_open():
    """Decision 27: source and context are null, and so is `allowed`."""
    found = scenario(images=1, input_tokens=10)
    assert found["image_tokens"] is found["image_tokens_source"] is None
    assert found["context_tokens"] is found["within_context_limit"] is found["allowed"] is None


def test_another_check_may_still_fail():
    """Decision 27: too many images are too many, whatever their tokens."""
    found = scenario(images=3)
    assert (found["within_image_limit"], found["allowed"]) == (False, False)


def test_no_images_cost_nothing():
    """Zero images are zero tokens, of which nobody had to tell."""
    found = scenario(images=0, videos=0)
    assert (found["image_tokens"], found["image_tokens_source"]) == (0, None)
    assert (found["video_tokens"], found["video_tokens_source"]) == (0, None)


def test_videos_cost_what_the_caller_says_else_the_estimate():
    """The caller's number is for all videos, the operator's for each."""
    assert scenario(videos=2)["video_tokens"] == 2000
    told = scenario(videos=2, video_tokens=7)
    assert (told["video_tokens"], told["video_tokens_source"]) == (7, "request")


def test_an_undeclared_limit_is_an_open_check():
    """What is not declared allows nothing and forbids nothing; nothing is within every limit."""
    found = scenario({}, images=1, image_tokens=1, videos=1)
    assert found["within_image_limit"] is found["within_video_limit"] is None
    assert found["video_tokens"] is found["allowed"] is None
    assert scenario({}, images=0)["allowed"] is True


def test_a_tier_of_unknown_context():
    """A context that nobody knows is an open check."""
    tier = direct_tier().model_copy(update={"context_limit": None})
    found = read(project_scenario(tier, Sizes(input_tokens=1)))
    assert (found["within_context_limit"], found["allowed"]) == (None, None)
