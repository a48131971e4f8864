"""Counting the tokens of a Messages request: what callers ask, and how engines are asked."""

from anvil_trio.config.model import Tier
from anvil_trio.dialects.ir import ChatRequest
from anvil_trio.dialects.messages_request import parse_request
from anvil_trio.dialects.raw_json import encode, members_of, raw_of
from anvil_trio.errors import Problem

__all__ = ["parse_count", "render_count", "render_question"]

_COUNTED = ("messages", "system", "tools", "tool_choice", "thinking")
"""The fields that count; engines may not know the others."""


def parse_count(body: bytes) -> ChatRequest | Problem:
    """The checked request, which needs no limit, or a 400 that names the field."""
    return parse_request(body, is_count=True)


def render_question(request: ChatRequest, tier: Tier) -> bytes:
    """The body for an engine that counts Messages requests itself."""
    assert request.source is not None, "a Messages request keeps its source"
    members = members_of(request.source)
    model = request.model.strip() if tier.model is None else tier.model
    asked = {name: members[name] for name in _COUNTED if name in members}
    return encode({"model": raw_of(model), **asked})


def render_count(tokens: int) -> bytes:
    """Anthropic's answer."""
    return encode({"input_tokens": tokens})
