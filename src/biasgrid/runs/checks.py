"""Files that jobs read at the beginning of a run, read when a config is validated as those jobs will read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from biasgrid.base.faults import Fault, InputError, first_few
from biasgrid.base.references import found
from biasgrid.config import Config
from biasgrid.families.family import Lists
from biasgrid.inference.checkpoints.cost import load_backend
from biasgrid.runs.counts import UNKNOWN_TOKENS, checkpoint_folder, count_instances
from biasgrid.runs.layout import Layout
from biasgrid.training.squad import read_squad

if TYPE_CHECKING:
    from tokenizers import Tokenizer


LARGEST_INPUT = 256 * 2**20
"""Up to how many bytes a file is read before its job does: about half a minute."""
InputReader = tuple[Path, Callable[[], Any]]
"""A file, and what reads it."""


def check_inputs(config: Config) -> list[str]:
    """Refuses dumps and training data of selected models that their jobs would refuse.

    Returns:
        Those that were not read: files that are larger than `LARGEST_INPUT`. What is downloaded is not there yet.

    Raises:
        InputError: with the faults of each file.
    """
    faults: list[Fault] = []
    unread: list[str] = []
    for path, read in [*dumps_of(config), *training_data(config)]:
        if path.stat().st_size > LARGEST_INPUT:
            unread.append(str(path))
            continue
        try:
            read()
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)
    return list(dict.fromkeys(unread))


def dumps_of(config: Config) -> Iterator[InputReader]:
    """Yields the dumps of selected cells."""
    for model, dataset in config.cells():
        section, read = config.models[model], config.back_end_of(model).check
        dump = section.predictions[dataset] if section.predictions else None
        if dump is not None and dump.file is not None and read:
            lists = [Path(file) for file in config.files(dataset, section.variant or "").subjects]
            # A dump needs no lists.
            known = lists if all(map(Path.is_file, lists)) else []
            yield Path(dump.file), partial(found(read), Path(dump.file), dump.sha256, section.task, known)


def training_data(config: Config) -> Iterator[InputReader]:
    """Yields the questions that selected models are trained on; of other data the tokenizer decides what is right."""
    for model in config.run.models:
        section = config.models[model]
        if section.task == "question-answering" and section.train is not None and section.train.data is not None:
            yield Path(section.train.data), partial(read_squad, section.train.data)


INSTANCES_CHECKED = 256
WORDS_LISTED = 5


class OutOfVocabulary(NamedTuple):
    """What the tokenizer of a model does not know of a dataset.

    Attributes:
        model, dataset: the cell.
        share: in how many of the instances that were looked at.
        words: the words, the most frequent first.
    """

    model: str
    dataset: str
    share: float
    words: list[str]


def out_of_vocabulary_words(config: Config, lists: Mapping[tuple[str, str], Lists]) -> Iterator[OutOfVocabulary]:
    """Yields the cells of which a sample holds words that the model's tokenizer does not know.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.
    """
    layout = Layout(config)
    backends = {name: backend for name in config.run.models if (backend := backend_of(layout, name))}
    cells = [
        (model, dataset, config.question(model, dataset).variant)
        for model, dataset in config.cells()
        if model in backends and not config.models[model].predictions
    ]
    needed = {(dataset, variant): lists[dataset, variant] for _, dataset, variant in cells}
    samples = {variant: of.sample(INSTANCES_CHECKED) for variant, (of, _) in count_instances(layout, needed).items()}
    for model, dataset, variant in cells:
        texts = [f"{pair} {text}" for pair, text, _ in samples[dataset, variant]]
        unknown = [unknown_words(backends[model], text) for text in texts]
        if any(unknown):
            words = [word for word, _ in Counter(word for found in unknown for word in found).most_common()]
            yield OutOfVocabulary(model, dataset, sum(map(bool, unknown)) / len(texts), words)


def backend_of(layout: Layout, model: str) -> Tokenizer | None:
    """Returns the tokenizer of a model, None where its tokenizer.json is not at hand."""
    folder = checkpoint_folder(layout.record("models", model), layout.config.models[model].folder)
    return load_backend(folder / "tokenizer.json") if folder else None


def unknown_words(backend: Tokenizer, text: str) -> list[str]:
    """Returns the parts of a text for which the unknown token stands."""
    ids = {backend.token_to_id(token) for token in UNKNOWN_TOKENS} - {None}
    encoding = backend.encode(text, add_special_tokens=False)
    places = zip(encoding.ids, encoding.offsets, strict=True)
    return [text[begin:end] for number, (begin, end) in places if number in ids]


def warnings_of(found: Iterable[OutOfVocabulary]) -> Iterator[str]:
    """Words each of them in a line."""
    for model, dataset, share, words in found:
        named = first_few([*map(repr, words)], WORDS_LISTED)
        yield (
            f"warning: {model} on {dataset}: {share:.0%} of the instances have text that the tokenizer does not know: "
            f"{named}"
        )
