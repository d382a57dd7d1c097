"""Keys of instances."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from biasgrid.tables import keys
from biasgrid.tables.keys import Repetitions, digest_rows, repeated_digests, request_keys

SCHEMA = {
    **dict.fromkeys(("system", "text", "text_pair", "candidate1", "candidate2"), pl.Categorical),
    **dict.fromkeys(("position1", "position2"), pl.UInt16),
}
TEXT = st.sampled_from(["", "a", "b", "ab", "Zoë", "\N{DEVANAGARI LETTER A}", "a\x00"])
ROW = st.fixed_dictionaries(
    {
        name: st.none() | (TEXT if kind == pl.Categorical else st.integers(0, 3))
        for name, kind in SCHEMA.items()
    }
)
ROWS = st.lists(ROW, min_size=1, max_size=12)
ASKED = {
    "text": "Who cooks?",
    "text_pair": "Ann met Zoë.",
    "candidate1": "Ann",
    "candidate2": "Zoë",
} | {
    "position1": 0,
    "position2": 8,
}


def cluster_of(rows: list[dict[str, Any]], texts: Any = pl.Categorical) -> pl.DataFrame:
    schema = {name: texts if kind == pl.Categorical else kind for name, kind in SCHEMA.items()}
    return pl.DataFrame(rows, schema=schema)


def keys_of(rows: list[dict[str, Any]]) -> list[int]:
    return keys_with(Repetitions(), cluster_of(rows)).to_list()


def keys_with(repetitions: Repetitions, rows: pl.DataFrame) -> pl.Series:
    return request_keys(rows.with_columns(repetitions.asked_before(digest_rows(rows))))


def test_the_key_of_a_row_is_known() -> None:
    assert keys_of([ASKED, ASKED]) == [6953907574677022464, 18118934791791718803]


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(ROWS)
def test_keys_are_unique_and_show_what_is_asked(rows: list[dict[str, Any]]) -> None:
    of_rows = keys_of(rows + rows)
    assert len(set(of_rows)) == 2 * len(rows)
    # What is asked for the first time has the key that it has alone.
    assert {keys_of([row])[0] for row in rows} <= set(of_rows)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(ROWS, st.randoms())
def test_keys_depend_on_no_other_row_and_no_order(rows: list[dict[str, Any]], random: Any) -> None:
    shuffled = random.sample(rows, len(rows))
    assert sorted(keys_of(shuffled)) == sorted(keys_of(rows))
    asked = [tuple(row[name] for name in SCHEMA) for row in rows]
    first = dict(zip(reversed(asked), reversed(keys_of(rows)), strict=True))
    assert first == {row: keys_of([fields])[0] for row, fields in zip(asked, rows, strict=True)}


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(ROWS, st.integers(1, 5))
def test_parts_have_the_keys_of_the_whole(rows: list[dict[str, Any]], size: int) -> None:
    repetitions = Repetitions()
    parts = [
        keys_with(repetitions, cluster_of(rows[at : at + size])) for at in range(0, len(rows), size)
    ]
    assert pl.concat(parts).to_list() == keys_of(rows)


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [1, 3, 100])
@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=ROWS, size=st.integers(1, 5))
def test_keys_are_the_same_where_repetitions_are_found_beforehand(
    rows: list[dict[str, Any]], size: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "DIGESTS_AT_ONCE", at_once)
    asked = cluster_of(rows)
    digests = digest_rows(asked)
    again = repeated_digests(
        (digests[at : at + size] for at in range(0, len(rows), size)), len(rows)
    )
    repetitions = Repetitions(again)
    parts = [keys_with(repetitions, asked.slice(at, size)) for at in range(0, len(rows), size)]
    assert pl.concat(parts).to_list() == keys_of(rows)
    assert len(repetitions.met) == sum(np.count_nonzero(digests == digest) for digest in again)


@settings(max_examples=50, deadline=None)
@given(ROWS)
def test_categories_and_strings_have_one_digest(rows: list[dict[str, Any]]) -> None:
    assert np.array_equal(digest_rows(cluster_of(rows)), digest_rows(cluster_of(rows, pl.String)))


@pytest.mark.parametrize("column", list(SCHEMA))
def test_every_column_counts(column: str) -> None:
    other = {name: 9 if kind == pl.UInt16 else "Bob" for name, kind in SCHEMA.items()}
    rows = [ASKED, ASKED | {column: other[column]}, ASKED | {column: None}]
    assert len({keys_of([row])[0] for row in rows}) == (2 if column == "system" else 3)


def test_what_models_do_not_read_does_not_count() -> None:
    cluster = cluster_of([ASKED])
    beside = cluster.with_columns(
        instance=pl.lit(7), template=pl.lit("x"), candidate3=pl.lit(None, pl.Categorical)
    )
    assert np.array_equal(digest_rows(beside), digest_rows(cluster))


def test_texts_that_change_places_are_another_question() -> None:
    crossed = ASKED | {"candidate1": ASKED["candidate2"], "candidate2": ASKED["candidate1"]}
    assert keys_of([crossed]) != keys_of([ASKED])
