"""Kinds of value that options have, beyond what click checks of them."""

import click

__all__ = ["SecondsRange", "Sendable"]


class SecondsRange(click.FloatRange):
    """A number within bounds; what is no number at all lies within none."""

    def convert(
        self, value: float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number, or a usage error."""
        number: float = super().convert(value, param, ctx)
        if number != number:  # noqa: PLR0124 - what NaN is known by
            self.fail("", param, ctx)
        return number


class Sendable(click.types.StringParamType):
    """A text that can travel: a command line may hold bytes that are no UTF-8."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """The text, or a usage error."""
        text: str = super().convert(value, param, ctx)
        try:
            text.encode()
        except UnicodeEncodeError:
            self.fail("", param, ctx)
        return text
