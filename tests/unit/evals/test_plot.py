"""A plot is small, whole SVG."""

from xml.etree import ElementTree as ET

from anvil_trio.evals.plot import Line, Panel, render_plot

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*panels, labels=("1", "2")):
    """The plot as a tree."""
    return ET.fromstring(render_plot("a < b", list(labels), panels))


def test_lines_are_drawn_from_zero_to_the_greatest_value():
    """The greatest stands at the top, half of it in the middle."""
    tree = drawn(Panel("p", [Line("x", [5.0, 10.0])]))
    (line,) = tree.iter(f"{SVG}polyline")
    (_, y1), (_, y2) = (map(float, point.split(",")) for point in line.get("points").split())
    assert (y1, y2) == (144.0, 44.0)
    texts = [one.text for one in tree.iter(f"{SVG}text")]
    assert texts[0] == "a < b"
    assert {"p", "x", "0", "2.5", "5", "7.5", "10", "1", "2"} <= set(texts)


def test_a_value_that_is_not_known_leaves_a_gap():
    """A line of none is not drawn at all."""
    tree = drawn(Panel("p", [Line("x", [None, 1.0]), Line("y", [None, None], is_dashed=True)]))
    assert len(list(tree.iter(f"{SVG}polyline"))) == 1
    assert len(list(tree.iter(f"{SVG}circle"))) == 1


def test_another_servers_lines_are_dashed():
    """So that the two are told apart without colours."""
    tree = drawn(Panel("p", [Line("x", [1.0, 1.0]), Line("y", [0.0, 0.0], is_dashed=True)]))
    dashes = [one.get("stroke-dasharray") for one in tree.iter(f"{SVG}polyline")]
    assert dashes == [None, "5 3"]


def test_panels_stand_side_by_side_within_the_plot():
    """However many lines they have; a panel of zeros is drawn as well."""
    zeros = Panel("zeros", [Line(f"{n}", [0.0, 0.0]) for n in range(8)])
    tree = drawn(zeros, zeros)
    width, height = float(tree.get("width")), float(tree.get("height"))
    for text in tree.iter(f"{SVG}text"):
        assert 0 <= float(text.get("x")) < width
        assert 0 < float(text.get("y")) < height
    lefts = {float(one.get("x1")) for one in tree.iter(f"{SVG}line")}
    assert len(lefts) == 2
