import re
from pathlib import Path

import pytest
from small_grid import read_grid, write_grid

from biasgrid.layout import OUTPUTS, Layout

ROOT = Path(__file__).parents[1]


def test_an_output_of_every_rule_is_known() -> None:
    texts = [path.read_text() for path in (ROOT / "rules").glob("*.smk")]
    assert {name for text in texts for name in re.findall(r"^rule (\w+):", text, flags=re.MULTILINE)} == set(OUTPUTS)


@pytest.mark.parametrize(
    ("log", "output"),
    [
        ("summary.log", "summary.parquet"),
        ("fetch_model/gpt-3.5.log", "models/gpt-3.5.json"),
        ("predict/people/one/1-of-2.log", "predictions/people/one/1-of-2.parquet"),
        ("another/people.log", None),
    ],
)
def test_outputs_are_found_by_their_logs(tmp_path: Path, log: str, output: str | None) -> None:
    layout = Layout(read_grid(write_grid(tmp_path)))
    assert layout.output_of(layout.logs / log) == (None if output is None else layout.results / output)


def test_the_files_of_a_cell_lie_where_the_rules_put_them(tmp_path: Path) -> None:
    layout = Layout(read_grid(write_grid(tmp_path, results="out")))
    second = layout.shards("people", "one")[1]
    assert second.predictions == Path("out/predictions/people/one/2-of-2.parquet")
    assert second.timing == Path("out/timings/people/one/2-of-2.json")
    assert second.progress == Path("out/.parts/people/one/2-of-2/progress.json")
    assert second.log == Path("out/logs/predict/people/one/2-of-2.log")
    assert layout.output_of(second.log) == second.predictions
    assert layout.instances_of_cell("people", "one") == Path("out/instances/people/qa.parquet")
