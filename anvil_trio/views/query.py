"""The query parameters of the read-only pages: one table, a value, or the problem with it.

What is not in a page's table, what is malformed and what comes twice is a 400; an alias that is not
configured is a 404 (decision 27). No answer repeats what was asked.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from urllib.parse import parse_qsl

from anvil_trio.config.model import RouterConfig
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.names import Alias, is_correlation_token, is_identifier
from anvil_trio.views.workloads import STATES

__all__ = [
    "IGNORED",
    "PARAMETERS",
    "Kind",
    "Parameter",
    "Values",
    "check_no_query",
    "parse_query",
    "read_query",
]

IGNORED = frozenset({"after", "after_id", "before", "before_id", "limit", "order"})
"""What the vendors' SDKs send to page through a model list; ours fits on one page."""

_MALFORMED = problem(Code.INVALID_REQUEST, message="The query could not be read.")
_UNKNOWN = problem(
    Code.INVALID_REQUEST, message="The query has a parameter that this path does not take."
)
_NOT_FOUND = problem(Code.MODEL_NOT_FOUND, param="model")
_GPU_ROLE = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_DIGITS = re.compile(r"[0-9]{1,12}")
_MOST = 10_000_000


class Kind(Enum):
    """What a parameter's value is."""

    ALIAS = "a configured alias"
    NUMBER = "a whole number"
    FLAG = "0 or 1"
    BOOLEAN = "true or false"
    CORRELATION = "a safe token"
    NAME = "an identifier"
    GPU_ROLE = "a lower-case identifier"
    WORD = "one of a few words"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a page.

    A number is from `least` to `most`; `usual` stands where it is absent.
    """

    name: str
    kind: Kind
    meaning: str
    least: int = 0
    most: int = _MOST
    usual: int | None = None
    words: tuple[str, ...] = ()

    def read(self, text: str) -> str | int | bool | None:
        """The value; None if the text is not one."""
        match self.kind:
            case Kind.NUMBER:
                return _number(text, self.least, self.most)
            case Kind.FLAG:
                return {"0": False, "1": True}.get(text)
            case Kind.BOOLEAN:
                return {"false": False, "true": True}.get(text)
            case _:
                return text if self._is_text(text) else None

    def _is_text(self, text: str) -> bool:
        match self.kind:
            case Kind.CORRELATION:
                return is_correlation_token(text)
            case Kind.NAME:
                return is_identifier(text)
            case Kind.GPU_ROLE:
                return _GPU_ROLE.fullmatch(text) is not None
            case Kind.WORD:
                return text in self.words
            case _:
                return True


def _number(text: str, least: int, most: int) -> int | None:
    if _DIGITS.fullmatch(text) is None:
        return None
    value = int(text)
    return value if least <= value <= most else None


def _count(name: str, meaning: str) -> Parameter:
    return Parameter(name, Kind.NUMBER, meaning)


def _limit(most: int, usual: int) -> Parameter:
    return Parameter("limit", Kind.NUMBER, "How many at most.", 1, most, usual)


_MODEL = Parameter("model", Kind.ALIAS, "Only what belongs to this alias.")
_SESSION = Parameter("session_id", Kind.CORRELATION, "Only this session's requests.")

PARAMETERS: Mapping[str, tuple[Parameter, ...]] = MappingProxyType({
    "models": (_MODEL,),
    "capacity": (
        _MODEL,
        Parameter("gpu_role", Kind.GPU_ROLE, "Only tiers that declare this role."),
        _count("images", "Images of the request that is asked about."),
        _count("videos", "Its videos."),
        _count("input_tokens", "Tokens of its text."),
        _count("image_tokens", "Tokens of all its images together."),
        _count("video_tokens", "Tokens of all its videos together."),
        _count("output_tokens", "Tokens of the answer that it allows."),
    ),
    "capabilities": (_MODEL,),
    "fingerprints": (_MODEL,),
    "stats": (_MODEL, _limit(10_000, 100)),
    "requests": (
        _SESSION,
        Parameter("history", Kind.FLAG, "Requests that have ended; needs `session_id`."),
        Parameter("active", Kind.FLAG, "Requests that run now."),
        Parameter(
            "limit", Kind.NUMBER, "How many at most: of ended ones at most 50.", 1, 200, None
        ),
    ),
    "decisions": (_limit(500, 20),),
    "metrics": (_MODEL, _limit(10_000, 10_000)),
    "workloads": (
        Parameter("owner", Kind.NAME, "Only workloads of this owner."),
        Parameter("kind", Kind.NAME, "Only workloads of this kind."),
        Parameter("state", Kind.WORD, "Only workloads in this state.", words=STATES),
        Parameter("host", Kind.NAME, "Only workloads of this host."),
        Parameter("active_only", Kind.BOOLEAN, "Only what has not ended."),
        Parameter("recent_seconds", Kind.NUMBER, "Only what ended so lately, or runs.", 1, 86_400),
        _limit(1000, 100),
    ),
})
"""By the name of the route. A page that is not here takes no parameter."""


class Values:
    """The parameters that were given, read; asked for by name."""

    def __init__(self, found: Mapping[str, str | int | bool]) -> None:
        self._found = found

    @property
    def only(self) -> Alias | None:
        """`model=`: the one configured alias, or None for all of them."""
        text = self.text("model")
        return None if text is None else Alias(text)

    def text(self, name: str) -> str | None:
        """A text, if it was given."""
        value = self._found.get(name)
        return value if isinstance(value, str) else None

    def number(self, name: str) -> int | None:
        """A number, given or usual."""
        value = self._found.get(name)
        return None if isinstance(value, bool) or not isinstance(value, int) else value

    def flag(self, name: str) -> bool:
        """Whether something was asked for."""
        return self._found.get(name) is True

    @property
    def limit(self) -> int:
        """`limit=`, of a page for which one is usual."""
        limit = self.number("limit")
        assert limit is not None, "this page has no usual limit"
        return limit


def parse_query(page: str, query: bytes, config: RouterConfig) -> Values | Problem:
    """What the page of that name is asked for."""
    fields = read_query(query)
    if isinstance(fields, Problem):
        return fields
    table = {parameter.name: parameter for parameter in PARAMETERS.get(page, ())}
    found: dict[str, str | int | bool] = {}
    for name, text in fields:
        if name not in table:
            if page == "models" and name in IGNORED:
                continue
            return _UNKNOWN
        if name in found:
            return _bad(name, "The query may have each parameter once.")
        value = table[name].read(text)
        if value is None:
            return _bad(name, "A parameter of the query has a value that it cannot have.")
        found[name] = value
    return _resolved(found, table, config)


def check_no_query(query: bytes) -> Problem | None:
    """A problem for any parameter at all."""
    fields = read_query(query)
    if isinstance(fields, Problem):
        return fields
    return _UNKNOWN if fields else None


def read_query(query: bytes) -> list[tuple[str, str]] | Problem:
    """All parameters in order, decoded; a problem if one is not `name=value` in UTF-8."""
    if not query:
        return []
    try:
        return parse_qsl(
            query.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict"
        )
    except ValueError:
        return _MALFORMED


def _resolved(
    found: dict[str, str | int | bool], table: Mapping[str, Parameter], config: RouterConfig
) -> Values | Problem:
    """The values with the alias as it is configured, and with what is usual in place of nothing."""
    for name, parameter in table.items():
        if name not in found:
            if parameter.usual is not None:
                found[name] = parameter.usual
        elif parameter.kind is Kind.ALIAS:
            alias = config.resolve(str(found[name]))
            if alias is None:
                return _NOT_FOUND
            found[name] = alias[0]
    return Values(found)


def _bad(name: str, message: str) -> Problem:
    """`name` is from our own table, never the caller's text."""
    return problem(Code.INVALID_REQUEST, message=message, param=name)
