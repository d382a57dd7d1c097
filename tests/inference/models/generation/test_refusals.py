"""What keeps a causal language model from being asked, each with its message."""

from collections.abc import Callable
from pathlib import Path

import pytest
from shards import Cell, asked
from tiny_writers import FORGETS_SYSTEM, WITHOUT_SYSTEM, save_writer
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.models.generation.section import Generation
from biasgrid.training.tiny import make_tokenizer

Cells = Callable[..., Cell]
ROW = {"system": "Be short.", "text": "Is it true? Answer:", "candidates": ["Yes", "No"]}


@pytest.mark.parametrize(
    ("template", "reason"),
    [(WITHOUT_SYSTEM, "No system role"), (FORGETS_SYSTEM, "it leaves it out")],
)
def test_a_template_that_refuses_a_system_text(
    written_cell: Cells, template: str, reason: str
) -> None:
    with pytest.raises(
        ModelError,
        match=rf"chat template takes no system text \({reason}\); expected a template that does",
    ):
        written_cell([ROW], "llama", template).predict()
    assert len(written_cell([ROW | {"system": None}], "llama", template).predict()) == 1


def test_a_template_that_is_none(written_cell: Cells) -> None:
    with pytest.raises(ModelError, match=r"the chat template cannot be used \(.+\)"):
        written_cell([ROW | {"system": None}], "llama", "{% for").predict()


def test_a_prompt_longer_than_the_model_takes(written_cell: Cells) -> None:
    long = ROW | {"text": "Nobody can tell. " * 70}
    with pytest.raises(
        ModelError,
        match=r"tiny: the prompt of instance 1 has \d+ tokens; expected at most 256 together",
    ):
        written_cell([ROW, long]).predict()
    with pytest.raises(
        ModelError, match=r"instance 0 has \d+ tokens and max_tokens 250; expected at most 256"
    ):
        written_cell([ROW]).predict(
            answer="text", generation=Generation(max_tokens=250).model_dump()
        )


def test_an_option_that_the_tokenizer_cannot_write(tmp_path: Path) -> None:
    tokenizer, checkpoint = (
        make_tokenizer(["Be short.", "Is it true? Answer: Yes"]),
        tmp_path / "words",
    )
    sizes = {"vocab_size": len(tokenizer), "n_embd": 8, "n_layer": 1, "n_head": 1}
    AutoModelForCausalLM.from_config(GPT2Config(**sizes)).save_pretrained(checkpoint)
    tokenizer.save_pretrained(checkpoint)
    knowing = Cell(
        tmp_path / "cell",
        "text-generation",
        asked([ROW | {"candidates": ["Yes", "true"]}]),
        checkpoint,
    )
    assert knowing.predict()["tokens"].to_list() == [[1, 1]]
    unknowing = Cell(tmp_path / "other", "text-generation", asked([ROW]), checkpoint)
    with pytest.raises(
        ModelError, match="the model's tokenizer cannot write the option 'No'; expected options of"
    ):
        unknowing.predict()


@pytest.mark.parametrize("answer", ["choice", "text"])
@pytest.mark.parametrize("place", ["text", "candidates"])
def test_tokens_that_the_model_does_not_know(tmp_path: Path, place: str, answer: str) -> None:
    checkpoint = save_writer(tmp_path / "writer")
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    known = len(tokenizer)
    tokenizer.add_tokens(["quokka"])
    tokenizer.save_pretrained(checkpoint)
    row = ROW | (
        {"text": "Is it a quokka?"} if place == "text" else {"candidates": ["Yes", "quokka"]}
    )
    ours = Cell(tmp_path / "cell", "text-generation", asked([ROW, row]), checkpoint)
    if (place, answer) == ("candidates", "text"):
        assert (
            len(ours.predict(answer=answer, generation=Generation(max_tokens=2).model_dump())) == 2
        )
        return
    with pytest.raises(
        ModelError,
        match=rf"instance 1 has the token {known}, but the model knows only {known} tokens",
    ):
        ours.predict(answer=answer)


def test_options_that_are_written_alike(written_cell: Cells) -> None:
    with pytest.raises(
        ModelError,
        match=(
            "gives the options 'A' and ' A' the same tokens; expected options with different tokens"
        ),
    ):
        written_cell([ROW | {"candidates": ["A", " A"]}]).predict()


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_a_model_that_is_an_encoder(
    tmp_path: Path, tiny_checkpoint: Callable[[str, str], Path], architecture: str
) -> None:
    encoder = Cell(
        tmp_path, "text-generation", asked([ROW]), tiny_checkpoint(architecture, "fill-mask")
    )
    message = rf"model tiny is an encoder \({architecture}\).*expected a causal language model"
    with pytest.raises(ModelError, match=message):
        encoder.predict()


def test_an_encoder_with_a_decoder(
    tmp_path: Path, tiny_checkpoint: Callable[[str, str], Path]
) -> None:
    seq2seq = Cell(
        tmp_path, "text-generation", asked([ROW]), tiny_checkpoint("bart", "question-answering")
    )
    with pytest.raises(ModelError, match=r"no weights for the task text-generation|is an encoder"):
        seq2seq.predict()
