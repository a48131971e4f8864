"""The engine's answers to everything that is no chat, by path."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from anvil_trio.demo.chat import Refusal
from anvil_trio.demo.numbers import answer_embeddings, answer_rerank
from anvil_trio.demo.tones import Sounded, answer_hearing, answer_speech

__all__ = ["PATHS", "answer_beside"]

_Answer = Callable[[bytes, bytes, str], Sounded | Refusal]


def _as_json(answer: Callable[[bytes, str], bytes | Refusal]) -> _Answer:
    def answered(_content_type: bytes, body: bytes, model: str) -> Sounded | Refusal:
        said = answer(body, model)
        return said if isinstance(said, Refusal) else Sounded(b"application/json", (said,))

    return answered


PATHS: Mapping[str, _Answer] = MappingProxyType({
    "/v1/embeddings": _as_json(answer_embeddings),
    "/v1/rerank": _as_json(answer_rerank),
    "/v1/audio/transcriptions": answer_hearing,
    "/v1/audio/translations": answer_hearing,
    "/v1/audio/speech": lambda _content_type, body, model: answer_speech(body, model),
})
"""What is answered at each path: a content type, a body and the engine's model go in."""


def answer_beside(path: str, content_type: bytes, body: bytes, model: str) -> Sounded | Refusal:
    """The reply to a request at one of `PATHS`; equal requests get equal bytes."""
    return PATHS[path](content_type, body, model)
