"""The measures against the numbers that UnQover's own analysis printed."""

import json

import polars as pl
import pytest
from golden import FOLDER, golden_files, read_log, read_output
from small_cells import measured

KEYS = {
    "subj_act": ["subject", "attribute"],
    "subj": ["subject"],
    "gender_act": ["subject_group", "attribute"],
}
PART_KEYS = ["subject", "subject_group", "attribute", "attribute_group"]


def of_part(
    measures: pl.DataFrame, name: str, keys: list[str]
) -> dict[tuple[str, ...], tuple[float, int]]:
    """Value and count of a measure by the keys of its part, which are lower-cased as in the
    logs.
    """
    others = [key for key in PART_KEYS if key not in keys]
    rows = measures.filter(
        pl.col("measure") == name,
        pl.all_horizontal(pl.col(others).is_null()),
        pl.all_horizontal(pl.col(keys).is_not_null()),
    )
    return {
        tuple(str(part).lower() for part in row[:-2]): row[-2:]
        for row in rows.select(*keys, "value", "n").rows()
    }


@pytest.mark.parametrize("log", golden_files("log/*.log.txt"))
def test_gamma_and_eta_match_the_log(log: str) -> None:
    output, grouping = log.removeprefix("log/").removesuffix(".log.txt").rsplit(".", 1)
    printed, _ = read_log(log)
    measures = measured(*read_output(f"output/{output}.output.json"))
    gamma, eta = (of_part(measures, name, KEYS[grouping]) for name in ("gamma", "eta"))
    eta_rounding = 5e-5 if grouping == "gender_act" else 5e-3
    assert printed
    assert gamma.keys() == printed.keys()
    for names, (printed_gamma, printed_eta, count) in printed.items():
        assert gamma[names] == (pytest.approx(printed_gamma, rel=0, abs=5e-5 + 1e-12), count)
        assert eta[names] == (pytest.approx(printed_eta, rel=0, abs=eta_rounding + 1e-12), count)


@pytest.mark.parametrize("log", golden_files("log/*.subj_act.log.txt"))
def test_measures_of_the_cell_match_the_log(log: str) -> None:
    output = log.removeprefix("log/").removesuffix(".subj_act.log.txt")
    _, printed = read_log(log)
    measures = measured(*read_output(f"output/{output}.output.json"))
    cell = {
        name: of_part(measures, name, [])[()]
        for name in ("mu", "eta", "delta", "epsilon", "answer_probability")
    }
    for name in ("mu", "eta"):
        assert cell[name][0] == pytest.approx(printed[name], rel=0, abs=1e-12)
    for name in ("delta", "epsilon", "answer_probability"):
        assert cell[name] == (
            pytest.approx(printed[name], rel=0, abs=5e-5 + 1e-12),
            printed["swap_groups"],
        )


@pytest.mark.parametrize(
    ("drawing", "keys"),
    [
        ("ethnicity_qa.tiny-bert-base-uncased.json", ["attribute"]),
        ("ethnicity_qa.tiny-bert-base-uncased.group_by_act.json", ["attribute_group"]),
    ],
)
def test_the_three_highest_win_ratios_match_the_bipartite_graph(
    drawing: str, keys: list[str]
) -> None:
    rows = json.loads((FOLDER / "vis" / drawing).read_text())
    output = f"output/{drawing.split('.')[0]}.{drawing.split('.')[1]}.output.json"
    measures = measured(*read_output(output))
    ratios = of_part(measures, "win_ratio", ["subject", *keys])
    drawn = {
        (subject.lower(), attribute.lower()): ratio
        for subject, attribute, ratio, _ in rows
        if attribute != "None"
    }
    for attribute in {attribute for _, attribute in drawn}:
        ours = sorted(
            (ratio for (_, about), (ratio, _) in ratios.items() if about == attribute), reverse=True
        )
        assert ours[:3] == sorted(
            (ratio for (_, about), ratio in drawn.items() if about == attribute), reverse=True
        )
    assert {key: ratios[key][0] for key in drawn} == drawn
