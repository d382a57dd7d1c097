from pathlib import Path
from typing import Any

import pytest
from shards import Cell, asked
from tiny_writers import CHAT_TEMPLATE, THINKS_IF_ASKED, WITHOUT_SYSTEM, save_writer

from biasgrid.inference.checkpoints.fast_tokenizer import FastTokenizer
from biasgrid.inference.models.estimates.prompts import count_prompt_inputs
from biasgrid.inference.models.estimates.texts import ReadingModel, RequestText, TextSample
from biasgrid.inference.models.generation.section import DATE, Generation
from biasgrid.inference.models.prerequisites import write_capabilities

CHOICES: dict[str, Any] = {
    "generation": Generation(max_tokens=4).model_dump(),
    "chat_template": True,
    "date": DATE,
}
TEXTS = [
    RequestText(f"{who} sat by {whom}.", "Who lied?", ["Ann", "the old man", "nobody"], "Be short.")
    for who in ("Ann", "Carl", "The old man")
    for whom in ("Bo", "the river")
]
SAMPLE = TextSample(TEXTS)


def instances_of(texts: list[RequestText]) -> list[dict[str, Any]]:
    rows = []
    for text in texts:
        pair = {"text_pair": text.context or None, "text": text.question}
        rows.append({"system": text.system or None, "candidates": text.words, **pair})
    return rows


@pytest.mark.parametrize("options", ["scored", "parsed", "text"])
@pytest.mark.parametrize(
    "template", [None, CHAT_TEMPLATE, THINKS_IF_ASKED], ids=["plain", "chat", "thinks"]
)
def test_inputs_match_a_shard(tmp_path: Path, template: str | None, options: str) -> None:
    folder = save_writer(tmp_path / "writer", template=template)
    answer = "text" if options == "text" else "choice"
    generation = CHOICES["generation"] | ({"options": options} if answer == "choice" else {})
    choices = CHOICES | {"generation": generation}
    cell = Cell(tmp_path / "cell", "text-generation", asked(instances_of(TEXTS)), folder)
    cell.predict(answer=answer, **choices)
    reader = ReadingModel(FastTokenizer.from_folder(folder), answer, choices)
    estimate = count_prompt_inputs(reader, SAMPLE)
    total = estimate.mean.times(len(TEXTS))
    # With a template, its beginning is shared.
    assert (estimate.shared_tokens > 0) == (cell.timing["sequences"] > len(TEXTS))
    assert cell.timing["sequences"] == total.sequences + bool(estimate.shared_tokens)
    assert cell.timing["tokens"] == pytest.approx(total.tokens + estimate.shared_tokens)


@pytest.mark.parametrize("reuses_keys", [True, False])
@pytest.mark.parametrize("reads_trees", [True, False])
def test_inputs_match_the_capabilities_of_a_model(
    tmp_path: Path, reuses_keys: bool, reads_trees: bool
) -> None:
    folder = save_writer(tmp_path / "writer", template=CHAT_TEMPLATE)
    capabilities = {"reuses_keys": reuses_keys, "reads_trees": reads_trees}
    cell = Cell(tmp_path / "cell", "text-generation", asked(instances_of(TEXTS)), folder)
    facts = {"precision": "float32", "padding": None, **capabilities}
    file = tmp_path / "capabilities.json"
    write_capabilities(file, tmp_path / "cell" / "model.json", facts)
    cell.predict(answer="choice", capabilities=file, **CHOICES)
    reader = ReadingModel(FastTokenizer.from_folder(folder), "choice", CHOICES, capabilities)
    estimate = count_prompt_inputs(reader, SAMPLE)
    sequences, tokens = estimate.mean.times(len(TEXTS))
    assert sequences + bool(estimate.shared_tokens) == pytest.approx(cell.timing["sequences"])
    assert tokens + estimate.shared_tokens == pytest.approx(cell.timing["tokens"])


@pytest.mark.slow
@pytest.mark.parametrize("template", [None, CHAT_TEMPLATE], ids=["plain", "chat"])
def test_many_instances_are_estimated_from_blocks_of_neighbours(
    tmp_path: Path, template: str | None
) -> None:
    texts = [
        RequestText(f"{who} sat by {place}. {who} lied {' '.join(['and lied'] * often)}.", *rest)
        for who in ("Ann", "Carl", "The old man", "Bo")
        for place in ("the river", "the cook", "Ann", "a man", "nobody", "Carl")
        for often in range(1, 31)
        for rest in (
            ("Who lied?", ["Ann", "Carl"], "Be short."),
            ("Who was not a good cook?", ["Ann", "the old man"], ""),
        )
    ]
    folder = save_writer(tmp_path / "writer", template=template, positions=512)
    cell = Cell(tmp_path / "cell", "text-generation", asked(instances_of(texts)), folder)
    cell.predict(answer="choice", **CHOICES)
    sample = TextSample(texts[:4], lambda: [texts])
    assert sum(map(len, sample.blocks)) < 0.6 * len(texts)
    reader = ReadingModel(FastTokenizer.from_folder(folder), "choice", CHOICES)
    estimate = count_prompt_inputs(reader, sample)
    sequences, tokens = estimate.mean.times(len(texts))
    assert sequences < 0.9 * len(texts)
    assert sequences == pytest.approx(cell.timing["sequences"], rel=0.1)
    assert tokens + estimate.shared_tokens == pytest.approx(cell.timing["tokens"], rel=0.1)


@pytest.mark.parametrize("template", [None, WITHOUT_SYSTEM])
def test_texts_that_the_model_cannot_be_asked_count_as_words(
    tmp_path: Path, template: str | None
) -> None:
    tokenizer = None
    if template is not None:
        tokenizer = FastTokenizer.from_folder(save_writer(tmp_path / "writer", template=template))
    estimate = count_prompt_inputs(ReadingModel(tokenizer, "text", CHOICES), SAMPLE)
    assert estimate.mean.sequences == 1
    assert estimate.mean.tokens > 8
    assert estimate.shared_tokens == 0
