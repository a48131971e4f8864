"""What is said of a command line that is not valid: fixed words, never its arguments (R012).

An argument may be a path, a key in the wrong place or a whole prompt; the words below name the
option, which is ours, and never what was given for it.
"""

import click

__all__ = ["BadUsage", "explain"]


class BadUsage(click.UsageError):
    """A command's own objection to its options. `message` is a fixed text of ours."""


def explain(error: click.UsageError) -> str:
    """The lines for stderr: how the command is called, what is wrong, where to read more."""
    lines = [f"Error: {_words(error)}"]
    if error.ctx is not None:
        lines.insert(0, error.ctx.get_usage())
        lines.append(f"Try '{error.ctx.command_path} --help'.")
    return "\n".join(lines)


def _words(error: click.UsageError) -> str:
    match error:
        case BadUsage():
            words = error.message
        case click.NoSuchOption():
            words = "There is no such option."
        case click.BadOptionUsage():
            words = "An option lacks its value, or has one and takes none."
        case click.MissingParameter(param=click.Parameter() as parameter):
            words = f"{_name(parameter)} is missing."
        case click.BadParameter(param=click.Parameter() as parameter):
            words = f"The value of {_name(parameter)} is not valid."
        case click.UsageError(ctx=click.Context(command=click.Group())):
            words = "A command must follow, one of those that --help lists."
        case _:
            words = "There are more arguments than this command takes."
    return words


def _name(parameter: click.Parameter) -> str:
    return max(parameter.opts, key=len)
