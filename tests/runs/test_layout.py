from pathlib import Path

from small_grid import read_grid, write_grid

from biasgrid.runs.layout import Layout


def test_the_files_of_a_cell_lie_where_the_rules_put_them(tmp_path: Path) -> None:
    layout = Layout(read_grid(write_grid(tmp_path, results="out")))
    second = layout.shards("people", "one")[1]
    assert second.predictions == Path("out/predictions/people/one/2-of-2.parquet")
    assert second.timing == Path("out/timings/people/one/2-of-2.json")
    assert second.progress == Path("out/.answers/people/one/2-of-2.json")
    assert second.log == Path("out/logs/predict/people/one/2-of-2.log")
    assert layout.instances_of_cell("people", "one") == Path("out/instances/people/qa.parquet")
