"""What the engine makes of texts that are no chat: small vectors, and an order of documents."""

import hashlib
import math
import struct
from base64 import b64encode

import msgspec

from anvil_trio.demo.chat import Refusal
from anvil_trio.demo.text import count_tokens

__all__ = ["DIMENSIONS", "answer_embeddings", "answer_rerank", "vector_of"]

DIMENSIONS = 8
_LARGEST = 1 << 15
_TEXT_ONLY = Refusal(400, "The body is not a request of this kind.", "invalid_request_error")


class _Embeddings(msgspec.Struct):
    model: str
    input: str | list[str | int | list[int]]
    encoding_format: str = "float"
    dimensions: int | None = None


class _Rerank(msgspec.Struct):
    model: str
    query: str
    documents: list[str]
    top_n: int | None = None


def vector_of(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A vector of length 1, the same for equal texts in every process."""
    drawn = hashlib.shake_256(text.encode("utf-8", "surrogatepass")).digest(2 * dimensions)
    values = [value / _LARGEST for value in struct.unpack(f"<{dimensions}h", drawn)]
    length = math.hypot(*values) or 1.0
    return [_single(value / length) for value in values]


def answer_embeddings(body: bytes, model: str) -> bytes | Refusal:
    """The reply to a request for embeddings, as numbers or in base64."""
    try:
        asked = msgspec.json.decode(body, type=_Embeddings)
    except msgspec.DecodeError:
        return _TEXT_ONLY
    if asked.model != model:
        return _not_here()
    texts = _texts(asked.input)
    dimensions = asked.dimensions or DIMENSIONS
    if not texts or not 1 <= dimensions <= _LARGEST:
        return _TEXT_ONLY
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": _shown(vector_of(text, dimensions), asked.encoding_format),
        }
        for index, text in enumerate(texts)
    ]
    tokens = sum(map(count_tokens, texts))
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return msgspec.json.encode({"object": "list", "data": data, "model": model, "usage": usage})


def answer_rerank(body: bytes, model: str) -> bytes | Refusal:
    """The reply to a request for an order: the more words a document shares, the earlier it is."""
    try:
        asked = msgspec.json.decode(body, type=_Rerank)
    except msgspec.DecodeError:
        return _TEXT_ONLY
    if asked.model != model:
        return _not_here()
    words = set(asked.query.lower().split())
    scored = [
        (len(words & set(text.lower().split())) / max(len(words), 1), index)
        for index, text in enumerate(asked.documents)
    ]
    scored.sort(key=lambda each: (-each[0], each[1]))
    results = [
        {"index": index, "relevance_score": score}
        for score, index in scored[: asked.top_n or len(scored)]
    ]
    tokens = sum(map(count_tokens, (asked.query, *asked.documents)))
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return msgspec.json.encode({"model": model, "results": results, "usage": usage})


def _not_here() -> Refusal:
    return Refusal(404, "The model does not exist.", "model_not_found")


def _texts(given: str | list[str | int | list[int]]) -> list[str]:
    """What is to be embedded, one by one; tokens are taken for words that are numbers."""
    if isinstance(given, str):
        return [given]
    if all(isinstance(each, int) for each in given):
        return [" ".join(map(str, given))] if given else []
    return [" ".join(map(str, each)) if isinstance(each, list) else str(each) for each in given]


def _shown(vector: list[float], encoding: str) -> list[float] | str:
    if encoding != "base64":
        return vector
    return b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")


def _single(value: float) -> float:
    """The value as it is in single precision, so that both encodings say the same."""
    single: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return single
