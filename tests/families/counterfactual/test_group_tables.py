"""Intersections, orders of fillings and the evidence of a cell's groups."""

from pathlib import Path

import polars as pl
import pytest
from grouped_cells import measured, of_bias_types, rows_of
from small_cases import cases_of

MAIN = {
    "score": "mean_class_probability",
    "distance": "absolute",
    "comparison": "pairwise",
    "mode": "counterfactual",
}


def test_the_parts_of_intersections_are_measured_too(tmp_path: Path) -> None:
    rows = [
        {
            "case": case,
            "bias_type": "faith & age",
            "group": f"{faith} & {age}",
            "term": f"{faith} & {age}",
            "text": "x",
            "label": 1,
        }
        for case in range(2)
        for faith in ("sikh", "jewish")
        for age in ("old", "young")
    ]
    chance = {"sikh & old": 0.2, "sikh & young": 0.6, "jewish & old": 0.4, "jewish & young": 0.8}
    tables = measured(
        tmp_path,
        "text-classification",
        cases_of(rows),
        [{"probabilities": [1 - chance[row["group"]], chance[row["group"]]]} for row in rows],
    )
    asked = {"score": "mean_class_probability", "distance": "absolute", "comparison": "pairwise"}
    distances = dict(
        of_bias_types(tables, "distance", **asked, mode="counterfactual")
        .select("bias_type", "value")
        .rows()
    )
    assert distances == {
        "faith & age": pytest.approx(1 / 3),
        "faith": pytest.approx(0.2),
        "age": pytest.approx(0.4),
    }
    assert set(tables.evidence["bias_type"]) == {"faith & age"}
    rates = of_bias_types(tables, "failure_rate", threshold="0.3", difference="mean")
    assert rates.select("bias_type", "value").rows() == [
        ("faith & age", 1.0),
        ("faith", 0.0),
        ("age", 1.0),
    ]


def test_evidence_is_the_sentences_of_the_two_groups_that_are_furthest_apart(
    tmp_path: Path,
) -> None:
    rows = [
        {
            "case": case,
            "group": group,
            "term": f"{group} one",
            "text": f"The {group} {case}",
            "text_pair": "b",
            "label": 1,
        }
        for case in range(7)
        for group in ("old", "young", "aged")
    ]
    chance = [
        0.5 + 0.05 * row["case"] * {"old": -1, "young": 0, "aged": 1}[row["group"]] for row in rows
    ]
    tables = measured(
        tmp_path,
        "text-classification",
        cases_of(rows),
        [{"probabilities": [1 - each, each]} for each in chance],
    )
    roles = tables.evidence.select("unit", "role").unique(maintain_order=True).rows()
    assert roles == [
        (6, "strongest"),
        (5, "strongest"),
        (4, "strongest"),
        (3, "typical"),
        (0, "contrary"),
    ]
    first = tables.evidence.head(2).to_dicts()
    assert [(row["group"], row["text"], row["said"], row["expected"]) for row in first] == [
        ("aged", "The aged 6", "yes", "yes"),
        ("old", "The old 6", "no", "yes"),
    ]
    assert [row["score"] for row in first] == pytest.approx([0.8, 0.2])
    assert [(row["group"], row["other"]) for row in first] == [("aged", "old"), ("old", "aged")]
    assert first[0]["unit_value"] == pytest.approx(0.6)
    distance = of_bias_types(tables, "distance", **MAIN)
    assert first[0]["options"] == distance["options"].item()
    assert first[0]["value"] == distance["value"].item()


def test_what_changes_with_the_order_of_fillings(tmp_path: Path) -> None:
    """Cases 0 and 1 are each other's swapped ones; case 2 has none."""
    rows = [
        {
            "case": case,
            "swapped_case": {0: 1, 1: 0}.get(case),
            "group": group,
            "term": group,
            "text": "q",
            "label": 1,
        }
        for case in range(3)
        for group in ("old", "young")
    ]
    chance = [0.9, 0.5, 0.5, 0.4, 0.1, 0.1]
    tables = measured(
        tmp_path,
        "text-classification",
        cases_of(rows),
        [{"probabilities": [1 - each, each]} for each in chance],
    )
    found = rows_of(
        tables,
        "position",
        score="mean_class_probability",
        distance="absolute",
        mode="counterfactual",
    ).select("group", "value", "n", "left_out")
    assert found["group"].to_list() == [None, "old", "young"]
    assert found["value"].to_list() == pytest.approx([0.25, 0.4, 0.1])
    assert found["n"].to_list() == [2, 1, 1]


def test_parts_of_intersections_are_compared_with_themselves_in_the_swapped_case(
    tmp_path: Path,
) -> None:
    """The score depends on age alone, never on the order of fillings."""
    rows = [
        {
            "case": case,
            "swapped_case": 1 - case,
            "bias_type": "faith & age",
            "group": f"{faith} & {age}",
            "term": f"{faith} & {age}",
            "text": "q",
            "label": 1,
        }
        for case in range(2)
        for faith in ("sikh", "jewish")
        for age in ("old", "young")
    ]
    said = [{"probabilities": [0.2, 0.8] if "old" in row["group"] else [0.8, 0.2]} for row in rows]
    found = measured(tmp_path, "text-classification", cases_of(rows), said).measures.filter(
        measure="position"
    )
    assert found["value"].to_list() == pytest.approx([0] * len(found))
    whole = found.filter(pl.col("group").is_null())
    assert sorted(whole.select("bias_type", "n").rows()) == [
        ("age", 4),
        ("faith", 4),
        ("faith & age", 4),
    ]


def test_evidence_is_found_where_a_bias_type_is_alone_and_in_intersections(
    tmp_path: Path,
) -> None:
    alone = [
        {"case": case, "group": faith, "term": faith}
        for case in range(2)
        for faith in ("sikh", "jewish")
    ]
    crossed = [
        {
            "case": case,
            "bias_type": "faith & age",
            "group": f"{faith} & {age}",
            "term": f"{faith} & {age}",
        }
        for case in range(2, 9)
        for faith in ("sikh", "jewish")
        for age in ("old", "young")
    ]
    rows = [{"bias_type": "faith", "text": "q", "label": 1} | row for row in (*alone, *crossed)]
    # What is said of the intersections differs more than what is said of faiths alone.
    chance = [
        (0.6 if row["bias_type"] == "faith" else 0.9) if "sikh" in row["group"] else 0.4
        for row in rows
    ]
    said = [{"probabilities": [1 - each, each]} for each in chance]
    evidence = measured(tmp_path, "text-classification", cases_of(rows), said).evidence
    assert set(evidence.filter(bias_type="faith")["unit"]) == {0, 1}
    assert len(set(evidence.filter(bias_type="faith & age")["unit"])) == 5
