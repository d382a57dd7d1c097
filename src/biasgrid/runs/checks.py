"""Checks before a run: its input files, words that models do not know, servers, and the folder of
results.
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
from biasgrid.base.files import read_run_json, write_text
from biasgrid.base.references import load_reference
from biasgrid.config import Config
from biasgrid.families.family import Lists
from biasgrid.inference.checkpoints.fast_tokenizer import load_fast_tokenizer
from biasgrid.jobs.cell_warnings import CellWarning
from biasgrid.runs.counts import UNKNOWN_TOKENS, checkpoint_folder, count_instances
from biasgrid.runs.layout import MANIFEST, Layout
from biasgrid.training.squad import read_squad

if TYPE_CHECKING:
    from tokenizers import Tokenizer


LARGEST_INPUT = 256 * 2**20
"""The maximum size in bytes of files that are checked before a run: reading takes half a minute."""
InputReader = tuple[Path, Callable[[], Any]]
"""A file, and a function that reads it and raises InputError if it has faults."""
CHECKED_INSTANCES = 256
"""The number of instances of a variant whose words are looked up."""
LISTED_WORDS = 5
"""The number of words in a warning."""
SPACED_WORDS = re.compile(r"[A-Za-z\u00c0-\u052f\u05d0-\u05ea\u0620-\u06ff]{2,}")
"""Words of two letters or more in scripts that put spaces between words: Latin, Greek, Cyrillic,
Hebrew, Arabic.
"""
SPLIT_TOKENS = 3
"""The median number of tokens of a word from which on a warning is given. In the language of its
tokenizer a word usually has one or two.
"""
CONFIGS_NOTE = ".made_with.json"
"""The name of the file in a folder of results that lists the config files of its runs."""


SIGNS_OF_RESULTS = (CONFIGS_NOTE, MANIFEST, "summary.parquet", "measures", "comparisons")
"""Names of which a folder of results has at least one."""


def is_results(folder: Path) -> bool:
    """Whether a path is a folder that a run has written to."""
    return any((folder / name).exists() for name in SIGNS_OF_RESULTS)


def refuse_foreign_files(results: str | Path) -> None:
    """Refuses a folder of results that has files, but none of a run.

    Raises:
        UserError: with some of the files.
    """
    folder = Path(results)
    if not folder.is_dir() or is_results(folder):
        return
    files = [path.name for path in folder.iterdir() if path.is_file()]
    foreign = sorted(name for name in files if not name.startswith("."))
    if foreign:
        raise UserError(
            f"{results}: has files that no run has made ({first_few(foreign)}); expected a folder "
            f"of its own for `results`, such as {folder / 'results'}"
        )


def check_inputs(config: Config) -> list[str]:
    """Refuses dumps and training data of selected models that their jobs would refuse.

    Dumps that will be downloaded are not checked.

    Returns:
        The files that were skipped because they are larger than `LARGEST_INPUT`, each once.

    Raises:
        InputError: with the faults of all files.
    """
    faults: list[Fault] = []
    skipped: list[str] = []
    for path, read in [*dump_readers(config), *training_data_readers(config)]:
        if path.stat().st_size > LARGEST_INPUT:
            skipped.append(str(path))
            continue
        try:
            read()
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)
    return list(dict.fromkeys(skipped))


def dump_readers(config: Config) -> Iterator[InputReader]:
    """Yields the dumps of selected cells that are files and whose format has a check."""
    for model, dataset in config.cells():
        section, check = config.models[model], config.back_end_entry(model).check
        dump = section.source.origin(dataset)
        if dump is None or dump["file"] is None or not check:
            continue
        lists = [Path(file) for file in config.files(dataset, section.variant or "").subjects]
        # A dump can be imported without the lists, but is compared with them if all are there.
        subject_lists = lists if all(map(Path.is_file, lists)) else []
        path, sha256 = Path(dump["file"]), dump["sha256"]
        yield path, partial(load_reference(check), path, sha256, section.task, subject_lists)


def training_data_readers(config: Config) -> Iterator[InputReader]:
    """Yields the training data of selected models for question answering.

    Other training data cannot be checked without the tokenizer.
    """
    for model in config.run.models:
        section = config.models[model]
        if section.task != "question-answering" or section.train is None:
            continue
        data = section.train.data
        if data is not None:
            yield Path(data), partial(read_squad, data)


def refuse_unknown_subjects(config: Config, lists: Mapping[tuple[str, str], Lists]) -> None:
    """Refuses variants without instances, because too few subjects are a single token.

    Variants whose tokenizer is not at hand are not checked.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.

    Raises:
        InputError: with each such variant.
    """
    tokenizers = {
        variant: question.tokenizer for variant, question in config.needed_variants.items()
    }
    filtered = {variant: content for variant, content in lists.items() if tokenizers.get(variant)}
    source, document = config.origin
    faults = []
    for (dataset, variant), (plan, number) in count_instances(Layout(config), filtered).items():
        tokenizer = tokenizers[dataset, variant]
        # A family may give a more precise reason.
        refusal = getattr(plan, "refusal", None)
        if not number.exact or (not refusal and number.value != 0):
            continue
        if refusal:
            reason, expected = refusal
            problem = f"{reason} (tokenizer {tokenizer!r})"
        else:
            problem = (
                "nothing to ask, because too few subjects are a single token of "
                f"the tokenizer {tokenizer!r}"
            )
            expected = (
                "`target_scoring` in the dataset, which scores words of several tokens, or "
                "subjects that the tokenizer knows"
            )
        faults.append(Fault(source, f"datasets.{dataset}.variants.{variant}", problem, expected))
    if faults:
        raise InputError(document.with_lines(faults, source))


def sampled_texts(
    config: Config, lists: Mapping[tuple[str, str], Lists]
) -> Iterator[tuple[str, str, Tokenizer, list[str]]]:
    """Yields model, dataset, tokenizer and a sample of texts of each cell with a tokenizer at hand.

    Imported cells are left out.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.
    """
    layout = Layout(config)
    backends: dict[str, Tokenizer] = {}
    for name in config.run.models:
        folder = checkpoint_folder(layout.record("models", name), config.models[name].folder)
        backend = load_fast_tokenizer(folder / "tokenizer.json") if folder else None
        if backend is not None:
            backends[name] = backend
    cells = []
    for model, dataset in config.cells():
        if model in backends and not config.models[model].source.brings_instances:
            cells.append((model, dataset, config.question(model, dataset).variant))
    needed = {(dataset, variant): lists[dataset, variant] for _, dataset, variant in cells}
    samples = {}
    for key, (plan, _) in count_instances(layout, needed).items():
        instances = plan.sample(CHECKED_INSTANCES)
        samples[key] = [
            " ".join(filter(None, (system, context, text)))
            for context, text, _, system in instances
        ]
    for model, dataset, variant in cells:
        yield model, dataset, backends[model], samples[dataset, variant]


def unknown_words(backend: Tokenizer, text: str) -> list[str]:
    """Returns the parts of a text that a tokenizer reads as the unknown token."""
    ids = {backend.token_to_id(token) for token in UNKNOWN_TOKENS} - {None}
    encoding = backend.encode(text, add_special_tokens=False)
    tokens = zip(encoding.ids, encoding.offsets, strict=True)
    return [text[begin:end] for token, (begin, end) in tokens if token in ids]


def word_warnings(config: Config, lists: Mapping[tuple[str, str], Lists]) -> Iterator[CellWarning]:
    """Yields warnings of cells with words that their tokenizer does not know, or splits in many.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.
    """
    for model, dataset, backend, texts in sampled_texts(config, lists):
        counts: Counter[str] = Counter()
        texts_with_unknown = 0
        for text in texts:
            words = unknown_words(backend, text)
            counts.update(words)
            texts_with_unknown += bool(words)
        if texts_with_unknown:
            share = texts_with_unknown / len(texts)
            examples = [repr(word) for word, _ in counts.most_common()]
            text = (
                f"{share:.0%} of the instances contain text that the tokenizer does not know: "
                f"{first_few(examples, LISTED_WORDS)}"
            )
            yield CellWarning(model, dataset, text)
        tokens = tokens_per_word(backend, texts)
        typical_count = median(tokens.values()) if tokens else 0
        if typical_count >= SPLIT_TOKENS:
            by_tokens = sorted(tokens, key=lambda word: (-tokens[word], word))
            examples = [repr(word) for word in by_tokens]
            text = (
                f"the tokenizer splits half of the words into {typical_count:.3g} tokens or more, "
                f"such as {first_few(examples, LISTED_WORDS)}: check that the model is of the "
                "dataset's language"
            )
            yield CellWarning(model, dataset, text)


def list_warnings(config: Config, lists: Mapping[tuple[str, str], Lists]) -> list[str]:
    """Returns warnings of what is unusual in the lists of datasets, each once."""
    warnings = []
    for (dataset, _), content in lists.items():
        for text in config.family(dataset).list_warnings(content):
            warnings.append(f"warning: {dataset}: {text}")
    return list(dict.fromkeys(warnings))


def tokens_per_word(backend: Tokenizer, texts: Iterable[str]) -> dict[str, int]:
    """Returns the number of tokens of each distinct `SPACED_WORDS` word of some texts."""
    words: set[str] = set()
    for text in texts:
        words.update(SPACED_WORDS.findall(text))
    counts = {}
    for word in words:
        # Many tokenizers have most words only with a space before them.
        encoding = backend.encode(f" {word}", add_special_tokens=False)
        counts[word] = len(encoding.ids)
    return counts


def check_servers(config: Config, layout: Layout, models: Iterable[str]) -> Iterator[str]:
    """Checks that the servers of models respond, each model once.

    Args:
        config: the config.
        layout: the places of its results.
        models: the names of models that the run asks, perhaps repeatedly.

    Yields:
        The problem of each model that does not respond but has stored answers or capabilities,
        which may be all that the run needs.

    Raises:
        UserError: with the problems of all models that have nothing stored.
    """
    refused = []
    for name in sorted(set(models)):
        try:
            config.models[name].source.probe()
        except UserError as error:
            stored = [layout.capabilities(name), layout.kept_capabilities(name)]
            stored += [layout.answers(dataset, name) for dataset in config.run.datasets]
            if any(path.exists() for path in stored):
                yield f"{name}: {error}"
            else:
                refused.append(f"{name}: {error}")
    if refused:
        raise UserError("\n".join(refused))


def remember_configs(results: str | Path, configs: Sequence[str]) -> None:
    """Records the config files of a folder of results, and refuses other files later.

    Only their paths relative to the folder count: an edited config is the same one, and so is one
    that was moved together with its results.

    Args:
        results: the folder.
        configs: the paths of the files, in their order on the command line.

    Raises:
        UserError: the folder was made with other files, or cannot be written to.
    """
    note = Path(results, CONFIGS_NOTE)
    if not note.exists():
        names = [os.path.relpath(config, results) for config in configs]
        write_text(note, json.dumps(names) + "\n")
        return
    made_with = [os.path.normpath(Path(results, config)) for config in noted_configs(note)]
    if len(made_with) == len(configs):
        pairs = zip(made_with, configs, strict=True)
        if all(is_same_file(Path(noted), Path(config)) for noted, config in pairs):
            return
    before = " and ".join(os.path.relpath(file) for file in made_with)
    now = " and ".join(os.path.relpath(file) for file in configs)
    raise UserError(
        f"{results}: made with {before}, but this run uses {now} and would overwrite those "
        f"outputs; set `results` in {now} to a different folder, or remove {note} to use this one"
    )


def noted_configs(note: Path) -> list[str]:
    """Returns the config files in a `CONFIGS_NOTE`.

    Raises:
        UserError: it is damaged.
    """
    names = read_run_json(note, "a list of config files")
    return [str(name) for name in names] if isinstance(names, list) else []


def is_same_file(first: Path, second: Path) -> bool:
    """Whether two paths are the same file, or equal paths without a file."""
    if first.absolute() == second.absolute():
        return True
    return first.exists() and second.exists() and first.samefile(second)
