"""A grid of two datasets in a folder of its own that fits the tiny checkpoints, and what its rules
are given.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml
from extending import write_family_of_all
from project import ROOT

from biasgrid.config import Config, load_word_lists, parse_config, read_config
from biasgrid.runs.inputs.grid import GridInputs
from biasgrid.runs.layout import Layout

TEMPLATES = {
    "qa": [
        "[subj1] sat by [subj2].\tWho [act]?\tWho [act:neg]?",
        "[subj2] met [subj1].\tWho [act]?\tWho [act:neg]?",
    ],
    "lm": ["[subj1] sat by [subj2].\tThe [mask] man [act].\tThe [mask] man [act:neg]."],
}
SUBJECTS = ["Ann", "Carl", "Zoë", "African-American"]
"""The tiny checkpoints' tokenizers have all but the last as one token."""
ATTRIBUTES = [
    ("was a good cook", "can never be a good cook"),
    ("lied", "never lied"),
    ("cooked", "never cooked"),
]
ANSWERING = {"task": "question-answering", "variant": "qa", "kind": "QA"}
SIZES = {"people": 144, "pairs": 24}
"""How many instances models that answer questions are asked."""
MASKED = {"task": "fill-mask", "variant": "lm-tiny", "kind": "LM", "label": "masked"}


def write_word_lists(folder: Path) -> None:
    """Writes templates of both kinds, subjects and attributes."""
    folder.mkdir()
    for kind, lines in TEMPLATES.items():
        (folder / f"{kind}.txt").write_text("\n".join(lines))
    (folder / "subjects.txt").write_text("\n".join(f"[subj] {subject}" for subject in SUBJECTS))
    acts = [line for yes, no in ATTRIBUTES for line in (f"[act] {yes}", f"[act:neg] {no}")]
    (folder / "attributes.txt").write_text("\n".join(acts))


def write_grid(folder: Path, checkpoint: str | None = None, **changes: Any) -> Path:
    """Writes word lists and a config of three models and two datasets, and returns the config's
    path.

    Args:
        folder: where to.
        checkpoint: folder of the checkpoint of all models and of the tokenizer, None for a
            repository of the hub.
        changes: other values of the config's keys.
    """
    write_word_lists(folder / "word_lists")
    dataset = {
        "subjects": ["subjects.txt"],
        "attributes": "attributes.txt",
        "variants": {"qa": {"templates": "qa.txt"}, "lm-tiny": {"templates": "lm.txt"}},
    }
    people, pairs = (
        dataset | {"title": "People"},
        dataset | {"title": "Pairs", "limit": {"subjects": 2}},
    )
    return write_config(folder, people, pairs, checkpoint, **changes)


def write_general_grid(folder: Path, checkpoint: str | None = None, **changes: Any) -> Path:
    """Writes a grid like that of `write_grid`, as many instances included, without a built-in
    family.
    """
    write_family_of_all(folder)
    for name, count in SIZES.items():
        (folder / f"word_lists/{name}.txt").write_text(
            "".join(f"all\tGood day {line}.\n" for line in range(count))
        )
    people, pairs = (
        {"family": "greetings", "title": name.title(), "texts": f"{name}.txt"} for name in SIZES
    )
    plugins = [str(folder / "plugins/greetings.py")]
    return write_config(folder, people, pairs, checkpoint, **({"plugins": plugins} | changes))


def write_config(
    folder: Path,
    people: dict[str, Any],
    pairs: dict[str, Any],
    checkpoint: str | None,
    **changes: Any,
) -> Path:
    """Writes the config of three models and two datasets, and returns its path."""
    source = (
        {"folder": checkpoint} if checkpoint else {"checkpoint": "some/model", "revision": "main"}
    )
    content = {
        "results": str(folder / "results"),
        "word_lists": str(folder / "word_lists"),
        "tokenizers": {"tiny": {"mask": "[MASK]", **source}},
        "models": {
            "one": ANSWERING | {"label": "one"} | source,
            "two": ANSWERING | {"label": "two"} | source,
            "masked": MASKED | source,
        },
        "datasets": {"people": people | {"shards": 2}, "pairs": pairs},
        "run": {"models": ["one", "two", "masked"], "datasets": ["people", "pairs"]},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(content | changes, sort_keys=False))
    return path


def read_grid(path: Path) -> Config:
    return parse_config(read_config(path), str(path))


class JobWildcards(SimpleNamespace):
    """The wildcards of a job."""

    def get(self, name: str, default: Any = None) -> Any:
        return getattr(self, name, default)


def job(**names: str) -> Any:
    """The wildcards of a job, by name."""
    return JobWildcards(**names)


def inputs_of(grid: Config, with_lists: bool = False) -> GridInputs:
    """What rules are given of a config, whose word lists need not be there unless they are read."""
    return GridInputs(grid, Layout(grid), load_word_lists(grid) if with_lists else {}, ROOT)


def small_inputs(folder: Path, **changes: Any) -> GridInputs:
    """What rules are given of a small grid with word lists, in a folder of its own; see
    `write_grid`.
    """
    folder.mkdir(exist_ok=True)
    return inputs_of(read_grid(write_grid(folder, **changes)), with_lists=True)


def general_inputs(folder: Path, **changes: Any) -> GridInputs:
    """The same without a built-in family; see `write_general_grid`."""
    folder.mkdir(exist_ok=True)
    return inputs_of(read_grid(write_general_grid(folder, **changes)), with_lists=True)
