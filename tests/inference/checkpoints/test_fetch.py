"""What is recorded of a checkpoint in a folder, and what is refused."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from biasgrid.base.faults import UserError
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.checkpoints.fetch import make_record
from biasgrid.inference.checkpoints.files import files_that_count

Checkpoints = Callable[[str, str], Path]


@pytest.fixture
def folder(tmp_path: Path, tiny_checkpoint: Checkpoints) -> Path:
    """A copy of a checkpoint, to be changed."""
    return Path(shutil.copytree(tiny_checkpoint("bert", "fill-mask"), tmp_path / "checkpoint"))


def record_of(folder: Path, **choices: Any) -> dict[str, Any]:
    source = {"checkpoint": None, "folder": str(folder), "revision": None}
    return make_record(**source, **{"weights": True, "allow_pickle": False} | choices)


def change_json(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_record_has_the_digest_of_each_file_that_counts(folder: Path) -> None:
    (folder / "README.md").write_text("does not count")
    (folder / "pytorch_model.bin").write_text("does not count beside safe weights")
    (folder / "code.py").write_text("does not count unless it is allowed")
    record = record_of(folder, allow_pickle=True, training={"data": "corpus.txt"})
    names = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    files = {name: sha256((folder / name).read_bytes()).hexdigest() for name in names}
    of_tokenizer = "\n".join(sorted([files["tokenizer.json"], files["tokenizer_config.json"]]))
    assert record == {
        "checkpoint": None,
        "folder": str(folder),
        "requested": None,
        "revision": None,
        "files": files,
        "weights": sha256(files["model.safetensors"].encode()).hexdigest(),
        "tokenizer": sha256(of_tokenizer.encode()).hexdigest(),
        "allow_remote_code": False,
        "training": {"data": "corpus.txt"},
    }


def test_a_record_changes_with_content_and_not_with_time(folder: Path) -> None:
    before = record_of(folder)
    (folder / "config.json").touch()
    assert record_of(folder) == before
    (folder / "config.json").write_text((folder / "config.json").read_text() + " ")
    after = record_of(folder)
    assert [key for key in before if before[key] != after[key]] == ["files"]


@pytest.mark.parametrize("pickled", [True, False])
def test_the_files_that_are_watched_match_the_record(folder: Path, pickled: bool) -> None:
    for name in ("README.md", "code.py", "vocab.txt", "notes.json", "pytorch_model.bin"):
        (folder / name).write_text("")
    (folder / "merges.txt").mkdir()
    if pickled:
        (folder / "model.safetensors").unlink()
    for choices in ({}, {"allow_remote_code": True}, {"weights": False}):
        chosen = {"weights": True, "allow_pickle": True, "allow_remote_code": False} | choices
        files = [str(folder / name) for name in record_of(folder, **chosen)["files"]]
        assert files_that_count(folder, **chosen) == files
    assert (
        files_that_count(folder / "none", weights=True, allow_pickle=True, allow_remote_code=True)
        == []
    )


def test_a_tokenizers_record_needs_no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    record = record_of(folder, weights=False)
    assert "model.safetensors" not in record["files"]
    assert record["weights"] is None


@pytest.mark.parametrize(
    ("gone", "message"),
    [
        (
            "model.safetensors",
            r"has no weights; expected one of model.safetensors, model-\*.safetensors$",
        ),
        (
            "config.json",
            "contains no config.json; expected a folder with a checkpoint: config.json, ",
        ),
        ("tokenizer*.json", "has no tokenizer; expected one of tokenizer.json, vocab.txt, "),
        ("tokenizer.json", "has no tokenizer; expected one of tokenizer.json, vocab.txt, "),
    ],
)
def test_what_a_model_lacks_is_named(folder: Path, gone: str, message: str) -> None:
    for file in folder.glob(gone):
        file.unlink()
    with pytest.raises(ModelError, match=message):
        record_of(folder)


def test_a_config_that_is_not_json_is_named(folder: Path) -> None:
    (folder / "config.json").write_text("{")
    with pytest.raises(
        UserError, match=r"config.json is not JSON \(.*\); expected what transformers wrote"
    ):
        record_of(folder)


def test_pickled_weights_are_taken_only_where_they_are_allowed(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(
        ModelError, match=r"only pytorch_model.bin, which can run code .* set `allow_pickle: true`"
    ):
        record_of(folder)
    assert "pytorch_model.bin" in record_of(folder, allow_pickle=True)["files"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match=r"there is no folder .*nowhere; expected a checkpoint with config.json"
    ):
        record_of(tmp_path / "nowhere")


def test_a_model_that_needs_code_of_its_own_is_taken_only_where_it_is_allowed(folder: Path) -> None:
    change_json(folder / "config.json", model_type="new", auto_map={"AutoConfig": "code.NewConfig"})
    (folder / "code.py").write_text("class NewConfig: ...")
    message = (
        r"runs its own code \(model type 'new' not known to transformers\).* set "
        r"`allow_remote_code: true`"
    )
    with pytest.raises(ModelError, match=message):
        record_of(folder)
    assert "code.py" in record_of(folder, allow_remote_code=True)["files"]
    assert "code.py" not in record_of(folder, weights=False)["files"]


def test_a_tokenizer_that_needs_code_of_its_own_is_taken_only_where_it_is_allowed(
    folder: Path,
) -> None:
    change_json(folder / "config.json", model_type="new")
    auto_map = {"AutoTokenizer": [None, "code.NewTokenizer"]}
    change_json(folder / "tokenizer_config.json", tokenizer_class="NewTokenizer", auto_map=auto_map)
    with pytest.raises(
        ModelError,
        match=r"runs its own code \(tokenizer 'NewTokenizer' not known to transformers\)",
    ):
        record_of(folder, weights=False)
    assert record_of(folder, weights=False, allow_remote_code=True)["allow_remote_code"]


def test_code_of_another_repository_is_refused(folder: Path) -> None:
    change_json(
        folder / "config.json",
        model_type="new",
        auto_map={"AutoConfig": "some/where--code.NewConfig"},
    )
    with pytest.raises(
        ModelError,
        match=r"code from another repository \(some/where--code.NewConfig\), which is not",
    ):
        record_of(folder, allow_remote_code=True)


def test_weights_that_lead_to_files_which_are_not_recorded_are_refused(folder: Path) -> None:
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"layer": "w.bin"}}))
    with pytest.raises(
        ModelError, match=r"index.json names w.bin; expected only model.safetensors"
    ):
        record_of(folder)
    index.write_text(json.dumps({"weight_map": {}}))
    with pytest.raises(
        ModelError, match=r"index.json names no files; expected only model.safetensors"
    ):
        record_of(folder)
    index.unlink()
    change_json(folder / "config.json", transformers_weights="other.safetensors")
    with pytest.raises(ModelError, match=r"config.json names its own weights files"):
        record_of(folder)


def test_a_folder_needs_nothing_of_the_hubs_library(folder: Path) -> None:
    """It takes longer to import than the files of a tiny model take to read."""
    fetched = f"make_record(checkpoint=None, folder={str(folder)!r}, revision=None, weights=True, allow_pickle=False)"
    job = (
        "import sys; from biasgrid.inference.checkpoints.fetch import "
        f"make_record; {fetched}; print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", job], capture_output=True, text=True, check=True)
    assert "huggingface_hub" not in run.stdout.split()
