"""What is wrong with a checkpoint in a local folder, told from names and headers, before anything is loaded."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.checkpoints.checkpoint import ModelError, first_line
from biasgrid.checkpoints.files import (
    CONFIG,
    PICKLED_WEIGHTS,
    SAFE_WEIGHTS,
    VOCABULARIES,
    matching,
    names_in,
    read_json,
    weights_among,
)

CHECKPOINT = "a folder with a checkpoint: config.json, weights and tokenizer"


class Problem(NamedTuple):
    """What is wrong with a folder, as in `Fault`."""

    problem: str
    expected: str


def look_at(
    folder: str, allow_pickle: bool, classes: Collection[str] = (), scored: Collection[str] = ()
) -> Iterator[Problem]:
    """Yields what keeps a folder from being the checkpoint of a model.

    Args:
        folder: the folder.
        allow_pickle: whether its weights may be pickled files.
        classes: of classifiers, what its classes should be called.
        scored: of scorers, some of its classes.
    """
    names = names_in(folder)
    if CONFIG not in names:
        yield Problem("holds no config.json" if Path(folder).is_dir() else "is not a folder", CHECKPOINT)
        return
    if not matching(names, VOCABULARIES):
        yield Problem("holds no tokenizer", f"one of {', '.join(VOCABULARIES)} beside config.json")
    chosen = weights_among(names, allow_pickle)
    pickled = matching(names, PICKLED_WEIGHTS)
    if not chosen and pickled:
        expected = (
            f"{SAFE_WEIGHTS[0]}, or `allow_pickle: true` if you trust them: they can run code when they are loaded"
        )
        yield Problem(f"holds weights in pickled files only ({', '.join(pickled[:3])})", expected)
    elif not chosen:
        yield Problem("holds no weights", " or ".join(SAFE_WEIGHTS[:2]))
    for name in matching(chosen, ["*.safetensors"]):
        yield from damage_of(Path(folder, name))
    try:
        config = read_json(folder, Path(folder, CONFIG))
    except ModelError as error:
        yield Problem(f"holds a config.json that cannot be read ({first_line(error)})", "what transformers has written")
        return
    yield from class_problems(config, classes, scored)


def damage_of(file: Path) -> Iterator[Problem]:
    """Yields that a file of weights is cut off, or none."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="numpy"):
            pass
    except (SafetensorError, OSError) as error:
        yield Problem(f"holds a {file.name} that is damaged or cut off ({first_line(error)})", "the whole file")


def class_problems(config: dict[str, Any], classes: Collection[str], scored: Collection[str]) -> Iterator[Problem]:
    """Yields that a classifier's classes are called otherwise; upper and lower case are alike."""
    named = config.get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}
    there = [str(name) for name in named.values()] if isinstance(named, dict) else []
    if classes and sorted(name.casefold() for name in there) != sorted(name.casefold() for name in classes):
        expected = "the same names, in any order: see `id2label` in its config.json and `labels` of the model"
        yield Problem(f"holds a classifier of the classes {there}, not {list(classes)}", expected)
    known = {name.casefold() for name in there}
    if missing := [name for name in scored if name.casefold() not in known]:
        expected = "names of `id2label` in its config.json in `scorer.labels` of the model"
        yield Problem(f"holds a classifier of the classes {there}, without {missing}", expected)
