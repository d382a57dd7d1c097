"""What is written of a planted dataset."""

import json
from pathlib import Path

from training import TASKS, instances_of

from biasgrid.families.planting import Planting, write_planted
from biasgrid.families.underspecified import planted as family
from biasgrid.tables.files import read_table
from biasgrid.tables.planted import PLANTED

CORPORA = {"question-answering": "questions.json", "fill-mask": "lines.txt"}


def test_corpora_of_each_strength_and_task_lie_beside_the_table(tmp_path: Path) -> None:
    instances = {task: instances_of(task) for task in TASKS}
    plantings = [Planting("demo", name, strength, repeats=2, seed=1) for name, strength in (("no", 0.0), ("yes", 1.0))]
    path = tmp_path / "planted.parquet"
    write_planted(family, instances, plantings, CORPORA, path, {})
    files = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()}
    corpora = {f"{strength}/{name}" for strength in ("no", "yes") for name in CORPORA.values()}
    assert files == {"planted.parquet", "words.txt"} | corpora
    planted = read_table(path, PLANTED)
    assert planted["strength"].unique(maintain_order=True).to_list() == ["no", "yes"]
    assert planted.filter(strength="no")["value"].abs().max() == 0
    assert len(json.loads((tmp_path / "no/questions.json").read_text())["data"]) == 1
    assert (tmp_path / "no/lines.txt").read_text() != (tmp_path / "yes/lines.txt").read_text()
    words = (tmp_path / "words.txt").read_text().splitlines()
    assert words == sorted(set(words))
    assert {"Ann", "Mary-Lou", "town.", "Who", "[MASK]", "far?", "far."} <= set(words)
