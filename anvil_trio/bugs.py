"""Where a bug showed itself, in words that may be logged: kind and place, never text (R012)."""

__all__ = ["where_raised"]


def where_raised(error: BaseException) -> dict[str, str]:
    """`kind` and `where` of the first exception of a group, or of `error` itself.

    The kind is its class, the place the module and line that raised it: both are ours or a
    library's. Its message may hold what a client or an engine sent and is left out.
    """
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return {"kind": type(error).__name__, "where": _place(error)}


def _place(error: BaseException) -> str:
    step = error.__traceback__
    if step is None:
        return ""
    while step.tb_next is not None:
        step = step.tb_next
    return f"{step.tb_frame.f_globals.get('__name__', '')}:{step.tb_lineno}"
