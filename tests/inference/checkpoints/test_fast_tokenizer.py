import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_writers import CHAT_TEMPLATE, save_writer
from transformers import AutoTokenizer

from biasgrid.inference.checkpoints.fast_tokenizer import FastTokenizer, load_fast_tokenizer

Checkpoints = Callable[[str, str], Path]
MESSAGES = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "Who lied?"},
]


def test_a_tokenizer_is_loaded_without_the_padding_and_truncation_of_its_training(
    tmp_path: Path, tiny_checkpoint: Checkpoints
) -> None:
    backend = load_fast_tokenizer(tiny_checkpoint("bert", "fill-mask") / "tokenizer.json")
    assert backend is not None
    backend.enable_truncation(4)
    backend.enable_padding(length=90)
    backend.save(str(tmp_path / "tokenizer.json"))
    again = load_fast_tokenizer(tmp_path / "tokenizer.json")
    assert again is not None
    # [CLS] Who lied [SEP] Ann met Carl [SEP]
    assert len(again.encode("Who lied", "Ann met Carl")) == 8


@pytest.mark.parametrize("content", [None, "{}", "no json"])
def test_a_tokenizer_that_cannot_be_loaded_is_none(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    assert load_fast_tokenizer(tmp_path / "tokenizer.json") is None
    assert FastTokenizer.from_folder(tmp_path) is None


@pytest.mark.parametrize("template", [None, CHAT_TEMPLATE])
def test_a_fast_tokenizer_is_like_one_of_transformers(tmp_path: Path, template: str | None) -> None:
    folder = save_writer(tmp_path / "writer", template=template)
    ours, theirs = FastTokenizer.from_folder(folder), AutoTokenizer.from_pretrained(folder)
    assert ours is not None
    assert ours.unk_token_id == theirs.unk_token_id is not None
    assert ours.chat_template == theirs.chat_template
    ids = theirs("Who lied?")["input_ids"]
    assert ours.backend_tokenizer.encode("Who lied?").ids == ids
    assert ours.decode(ids) == theirs.decode(ids)
    if template is not None:
        settings = {"chat_template": ours.get_chat_template(), "add_generation_prompt": True}
        rendered = ours.apply_chat_template(MESSAGES, tokenize=False, **settings)
        assert rendered == theirs.apply_chat_template(MESSAGES, tokenize=False, **settings)


def test_of_several_templates_the_default_is_taken(tmp_path: Path) -> None:
    folder = save_writer(tmp_path / "writer")
    names = ("default", "tool_use")
    templates = [{"name": name, "template": f"{name}: {CHAT_TEMPLATE}"} for name in names]
    file = folder / "tokenizer_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"chat_template": templates}))
    tokenizer = FastTokenizer.from_folder(folder)
    assert tokenizer is not None
    assert tokenizer.get_chat_template() == f"default: {CHAT_TEMPLATE}"


def test_a_checkpoint_with_a_damaged_file_has_no_tokenizer(tmp_path: Path) -> None:
    folder = save_writer(tmp_path / "writer")
    (folder / "tokenizer_config.json").write_text("no json")
    assert FastTokenizer.from_folder(folder) is None
