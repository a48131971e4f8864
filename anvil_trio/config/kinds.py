"""How a kind of value is made: pydantic checks the type, strictly, and every word is our own.

pydantic's texts change and may quote input, so that none may reach anybody. Each refusal here is
one error of type `INVALID` whose message is fixed and complete.
"""

from collections.abc import Callable
from enum import Enum
from types import MappingProxyType
from typing import TypeVar, get_args

from pydantic import (
    GetCoreSchemaHandler,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

__all__ = ["INVALID", "Choice", "kind", "must", "refused", "whole"]

T = TypeVar("T")

INVALID = "invalid"


def refused(words: str) -> PydanticCustomError:
    """The error to raise for a value that breaks its rule; it knows nothing of the value."""
    return PydanticCustomError(INVALID, words)


def kind(words: str, fault: Callable[[T], str | None]) -> WrapValidator:
    """Metadata for a kind: `words` if the type is wrong, else what `fault` says of the value.

    TOML's arrays come in as lists; what comes out is a tuple, and a table comes out read-only.
    """

    def check(value: object, validate: ValidatorFunctionWrapHandler) -> object:
        try:
            checked = validate(tuple(value) if isinstance(value, list) else value)
        except ValidationError:
            raise refused(words) from None
        broken = fault(checked)
        if broken is not None:
            raise refused(broken)
        return MappingProxyType(checked) if isinstance(checked, dict) else checked

    return WrapValidator(check)


def must(words: str, holds: Callable[[T], bool]) -> WrapValidator:
    """Metadata for a kind with one rule: `words` say all that the value must be."""

    def fault(value: T) -> str | None:
        return None if holds(value) else words

    return kind(words, fault)


def whole(low: int, high: int) -> WrapValidator:
    """Metadata for a whole number from `low` to `high`, both included."""

    def is_in_range(value: int) -> bool:
        return low <= value <= high

    return must(f"must be a whole number from {low} to {high}", is_in_range)


class Choice:
    """Metadata for one of the words of a Literal or of an enumeration."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Accept exactly the words; an enumeration's word becomes its member."""
        by_word = {str(option): option for option in _options(source)}
        words = f"must be one of: {', '.join(by_word)}"

        def check(value: object) -> object:
            if isinstance(value, str) and value in by_word:
                return by_word[value]
            raise refused(words)

        return core_schema.no_info_plain_validator_function(check)


def _options(source: object) -> tuple[object, ...]:
    if isinstance(source, type) and issubclass(source, Enum):
        return tuple(source)
    return get_args(source)
