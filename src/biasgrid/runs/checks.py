"""What is checked before a run: files that its jobs read, words that models do not know, and the
folder of results.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from biasgrid.base.faults import Fault, InputError, UserError, first_few
from biasgrid.base.files import read_made, write_text
from biasgrid.base.references import load_reference
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
INSTANCES_CHECKED = 256
WORDS_LISTED = 5
SPACED_WORDS = re.compile(r"[A-Za-z\u00c0-\u052f\u05d0-\u05ea\u0620-\u06ff]{2,}")
"""Words of two letters or more in scripts that put spaces between words: Latin, Greek, Cyrillic,
Hebrew, Arabic.
"""
SPLIT_TOKENS = 3
"""So many tokens of the median word are reported: in the language of a tokenizer, most words are
one or two.
"""
CONFIGS_NOTE = ".made_with.json"
"""In a folder of results the list of the config files that it is made with."""


def check_inputs(config: Config) -> list[str]:
    """Refuses dumps and training data of selected models that their jobs would refuse.

    Returns:
        Those that were not read: files that are larger than `LARGEST_INPUT`. What is downloaded is
        not there yet.

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
        dump = section.source.origin(dataset)
        if dump is not None and dump["file"] is not None and read:
            lists = [Path(file) for file in config.files(dataset, section.variant or "").subjects]
            # A dump needs no lists.
            known = lists if all(map(Path.is_file, lists)) else []
            path = Path(dump["file"])
            yield path, partial(load_reference(read), path, dump["sha256"], section.task, known)


def training_data(config: Config) -> Iterator[InputReader]:
    """Yields the questions that selected models are trained on; of other data the tokenizer decides
    what is right.
    """
    for model in config.run.models:
        section = config.models[model]
        if (
            section.task == "question-answering"
            and section.train is not None
            and section.train.data is not None
        ):
            yield Path(section.train.data), partial(read_squad, section.train.data)


def refuse_unknown_subjects(config: Config, lists: Mapping[tuple[str, str], Lists]) -> None:
    """Refuses variants of masked models that would ask nothing, as too few subjects are one token
    of their tokenizer.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.

    Raises:
        InputError: with each of them whose tokenizer is at hand.
    """
    tokenizers = {
        variant: question.tokenizer for variant, question in config.needed_variants.items()
    }
    filtered = {variant: content for variant, content in lists.items() if tokenizers.get(variant)}
    source, document = config.origin
    faults = []
    for (dataset, variant), (planned, count) in count_instances(Layout(config), filtered).items():
        tokenizer = tokenizers[dataset, variant]
        problem = (
            "nothing to ask, because too few subjects are a single token of "
            f"the tokenizer {tokenizer!r}"
        )
        expected = (
            "`target_scoring` in the dataset, which scores words of several tokens, or subjects "
            "that the tokenizer knows"
        )
        if refusal := getattr(planned, "refusal", None):
            problem, expected = f"{refusal[0]} (tokenizer {tokenizer!r})", refusal[1]
        if count.exact and (refusal or count.value == 0):
            faults.append(
                Fault(source, f"datasets.{dataset}.variants.{variant}", problem, expected)
            )
    if faults:
        raise InputError(document.with_lines(faults, source))


def sampled_texts(
    config: Config, lists: Mapping[tuple[str, str], Lists]
) -> Iterator[tuple[str, str, Tokenizer, list[str]]]:
    """Yields for each cell whose tokenizer is at hand model, dataset, tokenizer and some of its
    texts.
    """
    layout = Layout(config)
    folders = {
        name: checkpoint_folder(layout.record("models", name), config.models[name].folder)
        for name in config.run.models
    }
    backends = {
        name: backend
        for name, folder in folders.items()
        if folder and (backend := load_backend(folder / "tokenizer.json"))
    }
    cells = [
        (model, dataset, config.question(model, dataset).variant)
        for model, dataset in config.cells()
        if model in backends and not config.models[model].source.brings_instances
    ]
    needed = {(dataset, variant): lists[dataset, variant] for _, dataset, variant in cells}
    samples = {
        variant: of.sample(INSTANCES_CHECKED)
        for variant, (of, _) in count_instances(layout, needed).items()
    }
    for model, dataset, variant in cells:
        yield (
            model,
            dataset,
            backends[model],
            [f"{pair} {text}" for pair, text, _ in samples[dataset, variant]],
        )


def unknown_words(backend: Tokenizer, text: str) -> list[str]:
    """Returns the parts of a text that become the unknown token."""
    ids = {backend.token_to_id(token) for token in UNKNOWN_TOKENS} - {None}
    encoding = backend.encode(text, add_special_tokens=False)
    places = zip(encoding.ids, encoding.offsets, strict=True)
    return [text[begin:end] for number, (begin, end) in places if number in ids]


def warnings_of(config: Config, lists: Mapping[tuple[str, str], Lists]) -> Iterator[str]:
    """Yields a line for each cell some of whose texts hold words that the model's tokenizer does
    not know, or splits.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.
    """
    for model, dataset, backend, texts in sampled_texts(config, lists):
        unknown = [unknown_words(backend, text) for text in texts]
        if any(unknown):
            words = [
                word
                for word, _ in Counter(word for found in unknown for word in found).most_common()
            ]
            yield (
                f"warning: {model} on {dataset}: {sum(map(bool, unknown)) / len(texts):.0%} of the "
                "instances contain text that the tokenizer does "
                f"not know: {first_few([*map(repr, words)], WORDS_LISTED)}"
            )
        tokens = token_counts(backend, texts)
        if tokens and (middle := median(tokens.values())) >= SPLIT_TOKENS:
            words = sorted(tokens, key=lambda word: (-tokens[word], word))
            yield (
                f"warning: {model} on {dataset}: the tokenizer splits half of the words into "
                f"{middle:.3g} tokens or more, such as "
                f"{first_few([*map(repr, words)], WORDS_LISTED)}: check that the model is of the "
                "dataset's language"
            )


def token_counts(backend: Tokenizer, texts: Iterable[str]) -> dict[str, int]:
    """Returns into how many tokens each word of some texts is split; behind a space, as many
    tokenizers ask for it.
    """
    words = {word for text in texts for word in SPACED_WORDS.findall(text)}
    return {word: len(backend.encode(f" {word}", add_special_tokens=False).ids) for word in words}


def check_servers(config: Config, layout: Layout, models: Iterable[str]) -> Iterator[str]:
    """Asks the servers of models that will be asked whether they answer, each once.

    Args:
        config: the config.
        layout: where its results are.
        models: the names of the models.

    Yields:
        What is wrong with a server of which something is kept: that may be all that is needed.

    Raises:
        UserError: with what is wrong with the others.
    """
    refused = []
    for name in sorted(set(models)):
        try:
            config.models[name].source.probe()
        except UserError as error:
            answers = [layout.answers(dataset, name) for dataset in config.run.datasets]
            if any(
                map(
                    Path.exists,
                    [layout.capabilities(name), layout.kept_capabilities(name), *answers],
                )
            ):
                yield f"{name}: {error}"
            else:
                refused.append(f"{name}: {error}")
    if refused:
        raise UserError("\n".join(refused))


def remember_configs(results: str | Path, configs: Sequence[str]) -> None:
    """Notes in a folder of results the config files that it is made with, and refuses to go on
    there with others.

    They are known by their places as seen from the folder: an edited config is the same one, and so
    is one that was moved together with its results.

    Args:
        results: the folder.
        configs: paths of the files, later ones adding to earlier ones.

    Raises:
        UserError: the folder was made with other files, or cannot be written to.
    """
    note = Path(results, CONFIGS_NOTE)
    if not note.exists():
        write_text(
            note, json.dumps([os.path.relpath(config, results) for config in configs]) + "\n"
        )
        return
    made_with = [Path(os.path.normpath(Path(results, config))) for config in noted_configs(note)]
    if len(made_with) == len(configs) and all(map(is_same_file, made_with, map(Path, configs))):
        return
    before, now = (
        " and ".join(os.path.relpath(file) for file in files) for files in (made_with, configs)
    )
    raise UserError(
        f"{results}: made with {before}, but this run uses {now} and would overwrite those "
        f"outputs; set `results` in {now} to a different folder, or remove {note} to use this one"
    )


def noted_configs(note: Path) -> list[str]:
    """Reads which config files a note names.

    Raises:
        UserError: it is damaged.
    """
    names = read_made(note, "a list of config files")
    return [str(name) for name in names] if isinstance(names, list) else []


def is_same_file(first: Path, second: Path) -> bool:
    """Returns whether two paths are the same file, or the same place without a file."""
    return first.absolute() == second.absolute() or (
        first.exists() and second.exists() and first.samefile(second)
    )
