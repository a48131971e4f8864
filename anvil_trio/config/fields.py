"""The kinds of value that a key can have: one type for each, with the words of its rule.

Every field of every table has one of these types. Booleans never count as numbers, and NaN and
infinity are refused by all kinds of number.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import AfterValidator, JsonValue, ValidatorFunctionWrapHandler, WrapValidator

from anvil_trio import names
from anvil_trio.config import urls
from anvil_trio.config.json_values import MAX_JSON_DEPTH, is_json
from anvil_trio.config.kinds import kind, must, refused, whole

__all__ = [
    "AudioUrl",
    "AutoCeiling",
    "Ceiling",
    "ClientLimits",
    "Count",
    "Digest",
    "DirectUrl",
    "EnvName",
    "FilePath",
    "Flag",
    "FreeText",
    "GpuRole",
    "HealthPath",
    "Identifier",
    "JsonTable",
    "KeepaliveSeconds",
    "MediaScopes",
    "MemberUrl",
    "Number",
    "Origin",
    "Origins",
    "Period",
    "Positive",
    "Principal",
    "QualificationRef",
    "Seconds",
    "Text",
    "TierCeiling",
    "TraceUrl",
    "VersionLabel",
    "Words",
]

_MAX_EXACT = 2**53 - 1  # beyond it, readers of our JSON may round
_MAX_SECONDS = 86_400
_CEILING_WORDS = "must be a whole number of at least 1, or auto where there are no replicas"
_MAX_KEEPALIVE_S = 60
_MAX_CLIENTS = 33  # the 32 of an authorization policy, and `_legacy`
_MAX_CLIENT_LIMIT = 1024
_MAX_PRINCIPAL_CHARS = 128
_MAX_PATH_CHARS = 2048
_GPU_ROLE = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_HEALTH_PATH = re.compile(r"/(?!/)[^?#\s\x00-\x1f\x7f-\x9f]*")
_MEDIA_SCOPES = frozenset({
    "media:read",
    "media:submit",
    "media:cancel",
    "media:cross-principal",
    "operator:media",
})


def _no_fault(_: object) -> None:
    return None


def _is_not_empty(text: str) -> bool:
    return bool(text)


def _is_clean(text: str) -> bool:
    return all(char >= " " and char != "\x7f" for char in text)


def _is_path(text: str) -> bool:
    return bool(text) and _is_clean(text)


def _is_principal(text: str) -> bool:
    return 1 <= len(text) <= _MAX_PRINCIPAL_CHARS and _is_clean(text)


def _is_gpu_role(text: str) -> bool:
    return _GPU_ROLE.fullmatch(text) is not None


def _is_health_path(text: str) -> bool:
    return len(text) <= _MAX_PATH_CHARS and _HEALTH_PATH.fullmatch(text) is not None


def _is_ceiling(number: int) -> bool:
    return 1 <= number <= _MAX_EXACT


def _is_auto_or_ceiling(said: int | str) -> bool:
    return isinstance(said, str) or _is_ceiling(said)


def _is_deadline(seconds: float) -> bool:
    return 0 < seconds <= _MAX_SECONDS


def _is_keepalive(seconds: float) -> bool:
    return 0 <= seconds <= _MAX_KEEPALIVE_S


def _is_period(seconds: float) -> bool:
    return 0 < seconds < float("inf")


def _is_measure(number: float) -> bool:
    return 0 <= number < float("inf")


def _are_different(words: tuple[str, ...]) -> bool:
    return len(set(words)) == len(words)


def _are_words(words: tuple[str, ...]) -> bool:
    return all(words) and _are_different(words)


def _are_media_scopes(scopes: tuple[str, ...]) -> bool:
    return bool(scopes) and _are_different(scopes) and _MEDIA_SCOPES.issuperset(scopes)


def _origins_fault(origins: tuple[str, ...]) -> str | None:
    if not _are_different(origins):
        return "must not have an origin twice"
    return next(filter(None, map(urls.origin_fault, origins)), None)


def _client_limits_fault(limits: Mapping[str, int]) -> str | None:
    if len(limits) > _MAX_CLIENTS:
        return f"must have at most {_MAX_CLIENTS} entries"
    if not all(name == names.LEGACY_CLIENT or names.is_identifier(name) for name in limits):
        return "must have keys that are _legacy or match [A-Za-z][A-Za-z0-9_-]{0,63}"
    if not all(1 <= limit <= _MAX_CLIENT_LIMIT for limit in limits.values()):
        return f"must have values that are whole numbers from 1 to {_MAX_CLIENT_LIMIT}"
    return None


def _json_table(value: object, _: ValidatorFunctionWrapHandler) -> Mapping[str, JsonValue]:
    # pydantic's own check of JSON recurses, and refuses to at a depth that nobody promised.
    if isinstance(value, Mapping) and is_json(value):
        return MappingProxyType(dict(value))
    raise refused(
        "must be a table of text, true, false, finite numbers, integers of 64 bits, arrays and"
        f" tables, at most {MAX_JSON_DEPTH} deep"
    )


Flag = Annotated[bool, kind("must be true or false", _no_fault)]
FreeText = Annotated[str, kind("must be text", _no_fault)]
Text = Annotated[str, must("must be text and not empty", _is_not_empty)]
Words = Annotated[
    tuple[str, ...], must("must be an array of different texts, none empty", _are_words)
]
JsonTable = Annotated[Mapping[str, JsonValue], WrapValidator(_json_table)]

EnvName = Annotated[
    str,
    must(
        "must be the name of an environment variable, [A-Z][A-Z0-9_]*, and never a key itself",
        names.is_env_name,
    ),
]
Identifier = Annotated[str, must("must match [A-Za-z][A-Za-z0-9_-]{0,63}", names.is_identifier)]
QualificationRef = Annotated[
    str, must("must match [A-Za-z0-9][A-Za-z0-9_.:-]{0,127}", names.is_qualification_ref)
]
VersionLabel = Annotated[
    str, must("must match [A-Za-z0-9][A-Za-z0-9_.+-]{0,127}", names.is_version_label)
]
Digest = Annotated[str, must("must be sha256: and 64 lower-case hex digits", names.is_digest)]
GpuRole = Annotated[str, must("must match [a-z][a-z0-9_-]{0,63}", _is_gpu_role)]
Principal = Annotated[
    str,
    must(
        f"must be text of 1 to {_MAX_PRINCIPAL_CHARS} characters, none a control character",
        _is_principal,
    ),
]
MediaScopes = Annotated[
    tuple[str, ...],
    must(
        "must be an array of different scopes, at least one, out of: media:read, media:submit,"
        " media:cancel, media:cross-principal, operator:media",
        _are_media_scopes,
    ),
]
ClientLimits = Annotated[
    Mapping[str, int],
    kind("must be a table of client names and whole numbers", _client_limits_fault),
]
FilePath = Annotated[
    str, must("must be a path, not empty and without control characters", _is_path)
]
HealthPath = Annotated[
    str,
    must(
        "must be a path that begins with one /, without ?, #, blanks and control characters, of"
        f" at most {_MAX_PATH_CHARS} characters",
        _is_health_path,
    ),
]

_URL = "must be a URL"
DirectUrl = Annotated[str, kind(_URL, urls.direct_fault)]
MemberUrl = Annotated[str, kind(_URL, urls.member_fault)]
AudioUrl = Annotated[str, kind(_URL, urls.audio_fault)]
TraceUrl = Annotated[str, kind(_URL, urls.trace_fault), AfterValidator(urls.normalise_trace_url)]
Origin = Annotated[str, kind(_URL, urls.origin_fault)]
Origins = Annotated[tuple[str, ...], kind("must be an array of URLs", _origins_fault)]

Count = Annotated[int, whole(0, _MAX_EXACT)]
Positive = Annotated[int, whole(1, _MAX_EXACT)]
Ceiling = Annotated[int, whole(1, 100_000)]
TierCeiling = Annotated[int, must(_CEILING_WORDS, _is_ceiling)]
AutoCeiling = Annotated[int | Literal["auto"], must(_CEILING_WORDS, _is_auto_or_ceiling)]
Number = Annotated[float, must("must be a finite number of at least 0", _is_measure)]
Seconds = Annotated[
    float, must(f"must be a number of seconds above 0 and at most {_MAX_SECONDS}", _is_deadline)
]
KeepaliveSeconds = Annotated[
    float, must(f"must be a number of seconds from 0 to {_MAX_KEEPALIVE_S}", _is_keepalive)
]
Period = Annotated[float, must("must be a finite number of seconds above 0", _is_period)]
