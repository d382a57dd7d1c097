"""Files that decide a checkpoint's numbers: each is read and on record, or refused by its name with
what to do.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_writers import CHAT_TEMPLATE, save_writer
from transformers import AutoTokenizer

from biasgrid.base.faults import UserError
from biasgrid.inference.checkpoints.checkpoint import (
    ModelError,
    load_recorded_model,
    load_recorded_tokenizer,
)
from biasgrid.inference.checkpoints.fetch import make_record
from biasgrid.inference.checkpoints.files import (
    OTHER_FILES,
    PICKLED_WEIGHTS,
    SAFE_WEIGHTS,
    files_that_count,
    without_weights,
)
from biasgrid.inference.checkpoints.inspection import CheckpointUse, inspect_folder
from biasgrid.inference.checkpoints.unsupported import (
    ADAPTERS,
    BY_VERSION,
    OTHER_TOKENIZERS,
    OTHER_WEIGHTS,
    OWN_GENERATE,
    QUANTISED,
    QUANTISED_FILES,
)
from biasgrid.inference.models.scorers.recipe import POOLINGS

PAGE = Path(__file__).parents[3] / "docs/checkpoints.md"
Checkpoints = Callable[[str, str], Path]
CPU = torch.device("cpu")


@pytest.fixture
def folder(tmp_path: Path, tiny_checkpoint: Checkpoints) -> Path:
    """A copy of a checkpoint, to be changed."""
    return Path(shutil.copytree(tiny_checkpoint("bert", "fill-mask"), tmp_path / "checkpoint"))


def record_of(folder: Path, **choices: Any) -> dict[str, Any]:
    source = {"checkpoint": None, "folder": str(folder), "revision": None}
    return make_record(**source, **{"weights": True, "allow_pickle": False} | choices)


def change_json(path: Path, **changes: Any) -> None:
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(content | changes))


def refused(folder: Path, **choices: Any) -> str:
    """Why no record is made of a folder, which must be why it is found fault with."""
    with pytest.raises(ModelError) as told:
        record_of(folder, **choices)
    found = inspect_folder(str(folder), CheckpointUse(**choices))
    assert str(told.value) in [
        f"{folder} {problem}; expected {expected}" for problem, expected in found
    ]
    return str(told.value)


@pytest.mark.parametrize("pattern", ADAPTERS)
@pytest.mark.parametrize("base", [True, False], ids=["beside a base", "alone"])
def test_adapters_are_refused_wherever_they_lie(folder: Path, pattern: str, base: bool) -> None:
    file = folder / pattern.replace("*", "safetensors" if pattern.endswith("*") else "one")
    file.write_text('{"base_model_name_or_path": "org/base"}')
    if not base:
        for name in ("config.json", "model.safetensors"):
            (folder / name).unlink()
    message = refused(folder)
    of = " of org/base" if file.name == "adapter_config.json" else ""
    assert f"contains an adapter{of} ({file.name}), which is not applied" in message
    assert "merge_and_unload().save_pretrained(folder)" in message


def test_a_tokenizer_next_to_an_adapter_is_taken(folder: Path) -> None:
    (folder / "adapter_config.json").write_text("{}")
    assert record_of(folder, weights=False)["tokenizer"]


@pytest.mark.parametrize("file", BY_VERSION)
def test_files_for_some_versions_of_transformers_are_refused(folder: Path, file: str) -> None:
    change_json(folder / file, **{BY_VERSION[file]: ["config.4.0.0.json"]})
    assert f"contains a {file} that names different files for some versions" in refused(folder)


def test_code_that_writes_texts_is_refused_where_it_would_run(folder: Path) -> None:
    (folder / OWN_GENERATE).parent.mkdir()
    (folder / OWN_GENERATE).write_text("")
    assert record_of(folder)["files"]
    assert f"its own code for writing texts ({OWN_GENERATE})" in refused(
        folder, allow_remote_code=True
    )


@pytest.mark.parametrize("patterns", OTHER_WEIGHTS)
def test_weights_of_other_kinds_are_named(folder: Path, patterns: tuple[str, ...]) -> None:
    for pattern in patterns:
        (folder / "model.safetensors").unlink(missing_ok=True)
        file = folder / pattern.replace(
            "*", "fp16" if pattern.startswith(("model.", "pytorch")) else "x"
        )
        file.write_text("")
        what, expected = OTHER_WEIGHTS[patterns]
        assert f"weights {what} only ({file.name}); expected {expected}" in refused(folder)
        file.unlink()


def test_weights_of_other_kinds_are_named_where_there_is_no_config(folder: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        (folder / name).unlink()
    assert refused(folder).startswith(
        f"{folder} contains no config.json; expected a folder with a checkpoint"
    )
    (folder / "model.gguf").write_bytes(b"GGUF")
    assert refused(folder).startswith(
        f"{folder} has weights of llama.cpp only (model.gguf); expected safetensors; or"
    )


@pytest.mark.parametrize("pattern", OTHER_TOKENIZERS)
def test_tokenizers_of_other_kinds_are_named(folder: Path, pattern: str) -> None:
    (folder / "tokenizer.json").rename(folder / pattern.replace("*", "x"))
    assert (
        f"has its tokenizer only in {pattern.replace('*', 'x')}; expected a tokenizer.json"
        in refused(folder)
    )


def test_quantised_weights_are_refused_unless_a_server_loads_them(folder: Path) -> None:
    for file in QUANTISED_FILES:
        (folder / file).write_text("{}")
        check_quantised(folder, file)
        (folder / file).unlink()
    for key in QUANTISED:
        change_json(folder / "config.json", **{key: {"quant_method": "awq"}})
        check_quantised(folder, f"{key}, awq")
        change_json(folder / "config.json", **{key: None})
    change_json(
        folder / "config.json", text_config={"quantization_config": {"quant_method": "fp8"}}
    )
    check_quantised(folder, "quantization_config, fp8")


def check_quantised(folder: Path, how: str) -> None:
    with pytest.raises(ModelError) as told:
        load_recorded_model(record_of(folder), "fill-mask", "AutoModelForMaskedLM", CPU)
    assert f"contains weights that are quantised ({how}); expected the original weights" in str(
        told.value
    )
    assert [problem for problem, _ in inspect_folder(str(folder), CheckpointUse())] == [
        f"contains weights that are quantised ({how})"
    ]
    assert not list(inspect_folder(str(folder), CheckpointUse(served=True)))


@pytest.mark.parametrize(
    "file", ["chat_template.json", "processor_config.json", "chat_template.jinja"]
)
def test_a_chat_template_is_read_wherever_it_is(tmp_path: Path, file: str) -> None:
    folder = save_writer(tmp_path / "writer")
    before = record_of(folder)
    (folder / file).write_text(
        CHAT_TEMPLATE if ".jinja" in file else json.dumps({"chat_template": CHAT_TEMPLATE})
    )
    record = record_of(folder)
    assert load_recorded_tokenizer(record).chat_template == CHAT_TEMPLATE
    assert "chat_template" in record
    assert "chat_template" not in before
    assert str(folder / file) in files_that_count(
        folder, weights=True, allow_pickle=False, allow_remote_code=False
    )
    (folder / file).write_text("{}")
    with pytest.raises(ModelError, match=f"{file} changed since the model's record was made"):
        load_recorded_model(record, "text-generation", "AutoModelForCausalLM", CPU)


def test_a_tokenizers_own_template_comes_first(tmp_path: Path) -> None:
    folder = save_writer(tmp_path / "writer", template=CHAT_TEMPLATE)
    (folder / "chat_template.json").write_text('{"chat_template": "another"}')
    assert load_recorded_tokenizer(record_of(folder)).chat_template == CHAT_TEMPLATE


@pytest.mark.parametrize(
    ("config", "ends"),
    [
        ({"eos_token_id": [5, 7], "temperature": 0.3, "top_k": 5}, [5, 7]),
        ({"eos_token_id": 5, "num_return_sequences": 3, "max_new_tokens": 0}, [5]),
        (
            {
                "cache_implementation": "none such",
                "early_stopping": "x",
                "watermarking_config": {"x": 1},
            },
            None,
        ),
        ({"eos_token_id": -1, "stop_strings": ["."]}, None),
    ],
)
def test_of_a_generation_config_the_end_tokens_are_taken_and_nothing_is_refused(
    tmp_path: Path, config: dict[str, Any], ends: list[int] | None
) -> None:
    folder = save_writer(tmp_path / "writer")
    (folder / "generation_config.json").write_text(
        json.dumps(config | {"transformers_version": "5.0"})
    )
    record = record_of(folder)
    model = load_recorded_model(record, "text-generation", "AutoModelForCausalLM", CPU)
    assert model.generation_config.eos_token_id == ends
    taken = {key: value for key, value in config.items() if key == "eos_token_id"}
    rest = {key: value for key, value in config.items() if key != "eos_token_id"}
    assert record["generation_config"] == {"taken": taken, "not_taken": rest}


def test_without_a_generation_config_the_end_tokens_match_the_model(tmp_path: Path) -> None:
    folder = save_writer(tmp_path / "writer")
    (folder / "generation_config.json").unlink()
    change_json(folder / "config.json", eos_token_id=[1, 9])
    record = record_of(folder)
    assert "generation_config" not in record
    model = load_recorded_model(record, "text-generation", "AutoModelForCausalLM", CPU)
    assert model.generation_config.eos_token_id == [1, 9]
    change_json(folder / "config.json", eos_token_id="</s>")
    with pytest.raises(
        UserError, match="eos_token_id is '</s>' in its config; expected numbers of tokens"
    ):
        load_recorded_model(record_of(folder), "text-generation", "AutoModelForCausalLM", CPU)


def test_further_chat_templates_change_nothing(tmp_path: Path) -> None:
    folder = save_writer(tmp_path / "writer", template=CHAT_TEMPLATE)
    before = record_of(folder)
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates/tool_use.jinja").write_text("another")
    assert record_of(folder) == before
    assert load_recorded_tokenizer(before).get_chat_template() == CHAT_TEMPLATE
    assert AutoTokenizer.from_pretrained(folder).chat_template["tool_use"] == "another"


def test_the_page_lists_every_file_that_the_code_knows() -> None:
    page = PAGE.read_text()
    known = [
        *without_weights(allow_remote_code=True),
        *SAFE_WEIGHTS,
        *PICKLED_WEIGHTS,
        *OTHER_FILES,
        *QUANTISED,
        *QUANTISED_FILES,
    ]
    known += [
        *OTHER_TOKENIZERS,
        OWN_GENERATE,
        *BY_VERSION.values(),
        *BY_VERSION,
        "1_Pooling/config.json",
    ]
    named = [*known, *(name for name in ADAPTERS if name != "adapter_model.*")]
    of_weights = {"tf_model*.h5": "tf_model.h5", "flax_model*.msgpack": "flax_model.msgpack"}
    of_weights |= {
        "model.*.safetensors": "model.fp16.safetensors",
        "pytorch_model.*.bin": "pytorch_model.fp16.bin",
    }
    named += [of_weights.get(name, name) for names in OTHER_WEIGHTS for name in names]
    assert [name for name in named if f"`{name}`" not in page] == []
    named_poolings = [name for name in POOLINGS if f"`{name}`" not in page]
    assert named_poolings == []
