"""`[[router.purpose_models]]` and `[[router.audio_routes]]`: services beside chat, no tiers."""

from collections import defaultdict
from collections.abc import Iterator

from anvil_trio.config.model import AudioRoute, PurposeModel
from anvil_trio.config.problems import ConfigProblem, ProblemCode, find_duplicates
from anvil_trio.config.table import Rows, Table, read_rows

__all__ = [
    "find_audio_problems",
    "find_purpose_problems",
    "make_audio_routes",
    "make_purpose_models",
    "read_audio_routes",
    "read_purpose_models",
]


def read_purpose_models(raw: object, path: str) -> Rows:
    """The embedding and rerank models, each checked by itself."""
    return read_rows(PurposeModel, raw, path)


def read_audio_routes(raw: object, path: str) -> Rows:
    """The speech routes, each checked by itself."""
    return read_rows(AudioRoute, raw, path)


def make_purpose_models(models: Rows) -> tuple[PurposeModel, ...]:
    """The models, in the order of the file, of tables without problems."""
    return tuple(PurposeModel.model_validate(dict(model.raw)) for model in models)


def make_audio_routes(routes: Rows) -> tuple[AudioRoute, ...]:
    """The routes, in the order of the file, of tables without problems."""
    return tuple(AudioRoute.model_validate(dict(route.raw)) for route in routes)


def find_purpose_problems(models: Rows) -> Iterator[ConfigProblem]:
    """All that is wrong with the purpose models."""
    yield from models.problems
    keys = [(model, model.get("kind"), model.get("model")) for model in models]
    yield from find_duplicates(
        ((model.at("model"), (kind, name)) for model, kind, name in keys if kind and name),
        "must be unique among the models of its kind",
    )


def find_audio_problems(routes: Rows, path: str, server: Table) -> Iterator[ConfigProblem]:
    """All that is wrong with the audio routes, which only authenticated callers may use."""
    yield from routes.problems
    if routes.tables and not server.has("auth_env"):
        yield ConfigProblem(path, ProblemCode.CONFLICT, "needs server.auth_env")
    for route in routes:
        yield from _check_sample_rate(route)
    yield from _check_defaults(routes, path)


def _check_sample_rate(route: Table) -> Iterator[ConfigProblem]:
    purpose, is_there = route.get("purpose"), route.has("source_sample_rate")
    if purpose == "tts" and not is_there:
        yield route.missing("source_sample_rate", "is required with purpose tts")
    if purpose == "stt" and is_there:
        yield route.conflict("source_sample_rate", "is not allowed with purpose stt")


def _check_defaults(routes: Rows, path: str) -> Iterator[ConfigProblem]:
    defaults = defaultdict[object, list[object]](list)
    for route in routes:
        defaults[route.get("purpose")].append(route.get("default"))
    for purpose in ("stt", "tts"):
        choices = defaults[purpose]
        if len(choices) > 1 and None not in choices and choices.count(True) != 1:
            message = f"must have exactly one default for purpose {purpose}"
            yield ConfigProblem(path, ProblemCode.CONFLICT, message)
