"""Looks for private text and undocumented keys on every page; imported anew for each mutant."""

import msgspec

from tests.support.documented import PAGE, find_faults, read_schemas
from tests.support.pages import KEY, leaking_verdicts, pages, running
from tests.unit.views.samples import CANARY

SCHEMAS = read_schemas(PAGE.read_text(encoding="utf-8"))


def hunt(_seed: int) -> None:
    """Raise if a page shows what it must not."""
    for made in (pages(), pages(leaking_verdicts()), pages(session_id=KEY)):
        for name, page in made.items():
            body = msgspec.json.encode(page)
            assert CANARY not in body.decode().lower(), name
            value = msgspec.json.decode(body)
            assert not list(find_faults(value, type(page).__name__, SCHEMAS)), name
        workloads = msgspec.json.encode(made["workloads"]).decode()
        assert running().gateway_request_id not in workloads
