"""Texts, legends and colours that can be read and distinguished."""

import pytest

from biasgrid.report.figures.drawing.layout import both_ends, panel_columns, shorten_all
from biasgrid.report.figures.drawing.theme import legend_columns, palette


def test_long_texts_are_shortened_and_stay_distinct() -> None:
    short = shorten_all(
        ["spat on the sidewalk at noon", "spat on the sidewalk at night", "slept"], 18
    )
    assert list(short.values()) == ["spat on the sidew…", "spat on the s… (2)", "slept"]


def test_both_ends_keeps_order() -> None:
    assert both_ends(list("abcdefg"), most=5) == ["a", "b", "c", "f", "g"]
    assert both_ends(list("abc"), most=5) == ["a", "b", "c"]


@pytest.mark.parametrize(("length", "columns"), [(5, 5), (24, 4), (40, 2), (200, 1)])
def test_a_legend_has_as_many_columns_as_fit(length: int, columns: int) -> None:
    assert legend_columns(["n" * length] * 13, width=8) == columns
    assert legend_columns(["n" * length], width=8) == 1


@pytest.mark.parametrize("count", [1, 7, 8, 20])
def test_colours_are_distinct(count: int) -> None:
    assert len(set(palette(count))) == count


@pytest.mark.parametrize(("panels", "columns"), [(1, 1), (5, 5), (6, 3), (11, 4), (15, 5)])
def test_lines_of_panels_are_as_long_as_each_other(panels: int, columns: int) -> None:
    assert panel_columns(panels, 5) == columns
