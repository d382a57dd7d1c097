"""A run that begins with results of an earlier version says once which tables it makes again, and what it keeps."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from biasgrid.runs.checks import upgrade_notice


def write(folder: Path, name: str, **columns: list[float]) -> None:
    path = folder / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(columns).write_parquet(path)


def test_tables_with_old_names_are_named_with_the_new_ones(tmp_path: Path) -> None:
    write(tmp_path, "measures/gender/one", subject_cluster=[1.0], value=[1.0])
    write(tmp_path, "predictions/gender/one/1-of-1", instance=[1.0])
    write(tmp_path, "frames/gender/one", frame=[1.0])
    notice = upgrade_notice(tmp_path)
    assert notice is not None
    assert "(frame is cluster, subject_cluster is subject_group): made again are measures;" in notice
    assert "answers of servers, downloaded weights and trained models are kept" in notice
    assert "yours to remove: frames/ (now template_clusters/)" in notice


def test_results_of_this_version_and_answers_kept_give_no_notice(tmp_path: Path) -> None:
    write(tmp_path, "measures/gender/one", subject_group=[1.0], value=[1.0])
    write(tmp_path, ".answers/gender/one/d/e", pieces=[1.0])
    assert upgrade_notice(tmp_path) is None
    assert upgrade_notice(tmp_path / "new") is None


def test_a_table_that_cannot_be_read_is_left_to_those_who_read_it(tmp_path: Path) -> None:
    write(tmp_path, "measures/gender/one", subject_group=[1.0])
    (tmp_path / "measures/gender/one.parquet").write_bytes(b"PAR1")
    assert upgrade_notice(tmp_path) is None
