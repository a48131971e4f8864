"""The page that argues that nothing is lost, beside the tables that it is about."""

from tests.docs.life_diagram import diagram
from tests.house.tree import ROOT

PAGE = (ROOT / "docs" / "discussion" / "exactly-once.md").read_text(encoding="utf-8")


def test_the_diagram_is_that_of_the_tables() -> None:
    """Each phase with what it holds and how it may end; a new phase or outcome changes the page."""
    shown = PAGE.partition("<!-- life:begin -->")[2].partition("<!-- life:end -->")[0]
    assert shown.strip() == diagram()
