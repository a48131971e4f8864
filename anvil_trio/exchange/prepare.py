"""From a body to a request that may be sent: parse, alias, gates, render; nothing is reserved."""

import msgspec

from anvil_trio.actors.messages import RefusalReason, Refused
from anvil_trio.decisions.builder import RecordBuilder
from anvil_trio.dialects.ir import ChatRequest, ClientDialect, RenderedRequest
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.gates import check
from anvil_trio.exchange.generation import Generation, Route

__all__ = ["Prepared", "prepare"]


class Prepared(msgspec.Struct, frozen=True):
    """A request that passed every gate, ready for any member of its tier (R010)."""

    route: Route
    request: ChatRequest
    rendered: RenderedRequest


def prepare(
    body: bytes, dialect: ClientDialect, generation: Generation, record: RecordBuilder
) -> Prepared | Problem | Refused:
    """The request and its one tier, or why it cannot be served; the record learns on the way.

    Refused while the engine that owns the tier's metadata has not said what it serves: a request
    that names no model, or was checked by no context, is never sent.
    """
    record.request_bytes = len(body)
    request = dialect.parse_request(body)
    if isinstance(request, Problem):
        return request
    route = generation.resolve(request.model)
    if route is None:
        record.unknown_model()
        return problem(Code.MODEL_NOT_FOUND, param="model")
    record.routed(route.alias, route.tier)
    if route.tier.is_upstream_owned and route.tier.model is None:
        return Refused(RefusalReason.NOT_READY)
    record.prompt = request.prompt
    refusal = check(request, route.tier, generation.config.router.exhaustion_status)
    if refusal is not None:
        return refusal
    rendered = dialect.render_request(request, route.tier)
    if isinstance(rendered, Problem):
        return rendered
    record.output_limit = rendered.output_limit
    record.dropped_fields = rendered.dropped_fields
    return Prepared(route, request, rendered)
