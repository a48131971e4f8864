"""What every page is made of: closed structs, whose fields are all that can be shown (R012).

A struct is the one list of its keys. Pages are built from structs, and so are the schemas of
`/openapi.json` and of docs/observability.md, so that none of them can say something else.
"""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

__all__ = ["ABSENT", "Absent", "Count", "Shape"]

Absent = UnsetType
"""The type of a key that is left out of some replies; null is something else: not known."""

ABSENT = UNSET

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
"""A number that every JSON reader keeps exact."""


class Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A JSON object with these keys and no others, in this order."""
