"""Random cells of all families, and all that two trees of this project make of them.

Before a family is rewritten, keep what the old tree makes; then compare what the new tree makes:

    PYTHONPATH=OLD/src python tests/helpers/random_cells.py old.pkl
    PYTHONPATH=NEW/src python tests/helpers/random_cells.py new.pkl pairs probe
    python tests/helpers/random_cells.py --compare old.pkl new.pkl

Names behind the file limit the run to some families; a comparison is of the families that both
files have. Both runs must use the same version of this file and of those that it imports: copy them
where the trees have different ones. `--seeds` sets how many random datasets each family has.

Every random dataset is written as a user would write it: word lists, some with a damaged line, and
a config. Its lists are read and expanded, its answers drawn at random, and each stage of a run
makes its tables of them, as far as the content of its page. Only stages and modules of the core are
imported, so that families may have any files. A part of a cell that fails is kept as the text of
its exception.

A comparison prints how much is equal, and exits with 1 after the first differences if anything is
not. Values are equal if Python writes them alike: numbers to the last bit, NaN as NaN. Columns of
tables may be in any order, rows may not; categories are compared as texts.
"""

from __future__ import annotations

import argparse
import contextlib
import pickle
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from random_draws import MODELS, Draws, RandomDataset, damage, write_json_lines
from random_items import write_cases, write_decisions, write_pairs, write_questions
from random_lists import write_probe, write_prompts, write_statements, write_underspecified
from random_stages import CellStages, Part, error_text, fault_rows, texts_part

from biasgrid.base.faults import InputError
from biasgrid.config import parse_config

WRITERS = {
    "pairs": write_pairs,
    "decision": write_decisions,
    "multiple_choice": write_questions,
    "counterfactual": write_cases,
    "statement": write_statements,
    "probe": write_probe,
    "rewriting": write_prompts,
    "underspecified": write_underspecified,
}
"""What writes a random dataset of each family."""
SEEDS = {"pairs": 48, "decision": 48, "multiple_choice": 32, "statement": 32, "probe": 52}
USUAL_SEEDS = 40
"""How many random datasets a family has that is not in `SEEDS`."""
DATASET = "data"
CONFIG = "config.yaml"
DAMAGED = 0.15
"""The share of datasets of which a line is damaged."""
FIRST_DIFFERENCES = 12
LONGEST_VALUE = 160
Cells = dict[str, dict[str, Part]]
"""All parts of each cell, by the family, seed and model of the cell and the name of the part."""


def random_cells(family: str, seeds: int) -> Cells:
    """Returns all that is made of random datasets of a family.

    Args:
        family: a key of `WRITERS`.
        seeds: the number of datasets, each of which has a cell or two.
    """
    cells: Cells = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        # Messages and options name files, so that their paths must not depend on the folder.
        write_json_lines(Path("texts.jsonl"), [{"prompt": "?", "response": "?"}])
        write_json_lines(Path("numbers.jsonl"), [{"prompt": "?", "probabilities": {"?": 1.0}}])
        for seed in range(seeds):
            cells |= cells_of_seed(family, seed)
    return cells


def cells_of_seed(family: str, seed: int) -> Cells:
    """Returns the cells of a random dataset; a faulty config has one that only has faults."""
    draws = Draws(family, seed)
    # Modules keep what they have read by its path, so that each dataset needs a folder of its own.
    folder = Path(f"{family}-{seed}")
    dataset = WRITERS[family](folder, draws, seed)
    if draws.is_drawn(DAMAGED):
        damage(folder, draws)
    name = f"{family} {seed}"
    try:
        grid = parse_config(content_of_config(family, folder, dataset, draws), CONFIG)
    except InputError as error:
        return {name: {"faults": fault_rows(error.faults)}}
    cells = {}
    for model, _ in grid.cells():
        stages = CellStages(grid, model, DATASET, folder, Draws(family, seed, model))
        cells[f"{name} {model}"] = parts_of_stages(stages)
    return cells


def content_of_config(
    family: str, folder: Path, dataset: RandomDataset, draws: Draws
) -> dict[str, Any]:
    """Returns the content of a config with one dataset and all models."""
    section = {"family": family, "title": "Random", **dataset.section}
    statistics = draws.keys(0.3, level=0.9, fdr="by", seed=7)
    return {
        "word_lists": str(folder),
        "statistics": {"permutations": 199} | statistics,
        "tokenizers": {"tiny": {"mask": "[MASK]", "checkpoint": "org/tiny", "revision": "main"}},
        "models": MODELS,
        "datasets": {DATASET: section},
        "run": {"models": list(dataset.models), "datasets": [DATASET]},
        **dataset.config,
    }


def parts_of_stages(stages: CellStages) -> dict[str, Part]:
    """Returns what each stage makes; the stages behind one that fails are left out."""
    parts: dict[str, Part] = {}
    try:
        for name, part in stages.parts():
            parts[name] = part
    except Exception as error:
        parts["error"] = texts_part([error_text(error)])
    return parts


def row_count(part: Part) -> int:
    """Returns the number of rows of a part."""
    return max(map(len, part.columns.values()), default=0)


def differences_of_parts(old: Part, new: Part) -> Iterator[str]:
    """Yields each value that differs, after differences in columns, types and numbers of rows."""
    for name in sorted(old.types.keys() | new.types.keys()):
        types = old.types.get(name, "no column"), new.types.get(name, "no column")
        if types[0] != types[1]:
            yield f"column {name}: {types[0]} -> {types[1]}"
    counts = row_count(old), row_count(new)
    if counts[0] != counts[1]:
        yield f"{counts[0]} rows -> {counts[1]} rows"
    for row, name in different_places(old, new):
        values = [part.columns[name][row] for part in (old, new)]
        before, after = (repr(value)[:LONGEST_VALUE] for value in values)
        yield f"column {name}, row {row}: {before} -> {after}"


def different_places(old: Part, new: Part) -> list[tuple[int, str]]:
    """Returns row and column of the values that differ, of rows and columns that both have."""
    places = []
    for name in sorted(old.columns.keys() & new.columns.keys()):
        ours, theirs = old.columns[name], new.columns[name]
        if repr(ours) == repr(theirs):
            continue
        for row, (value, other) in enumerate(zip(ours, theirs, strict=False)):
            if repr(value) != repr(other):
                places.append((row, name))
    return sorted(places)


def equal_rows(old: Part, new: Part) -> int:
    """Returns how many rows of two parts are the same; none if their columns or types differ."""
    if old.types != new.types:
        return 0
    different = {row for row, _ in different_places(old, new)}
    return min(row_count(old), row_count(new)) - len(different)


def compare_family(family: str, old: Cells, new: Cells) -> list[str]:
    """Prints how much of a family is equal and returns all differences."""
    differences = []
    rows: Counter[str] = Counter()
    equal: Counter[str] = Counter()
    same_cells = 0
    names = list(dict.fromkeys([*old, *new]))
    for cell in names:
        ours, theirs = old.get(cell, {}), new.get(cell, {})
        of_cell = []
        for part in dict.fromkeys([*ours, *theirs]):
            pair = ours.get(part, Part({}, {})), theirs.get(part, Part({}, {}))
            rows[part] += max(map(row_count, pair))
            equal[part] += equal_rows(*pair)
            of_cell += [f"{cell}, {part}: {text}" for text in differences_of_parts(*pair)]
        same_cells += not of_cell
        differences += of_cell
    print(f"{family}: {same_cells} of {len(names)} cells are equal")
    for part, count in sorted(rows.items()):
        print(f"  {part}: {equal[part]} of {count} rows")
    return differences


def compare_files(old: Path, new: Path) -> int:
    """Prints what differs between two files; returns 1 if anything does, else 0."""
    ours, theirs = (pickle.loads(path.read_bytes()) for path in (old, new))
    shared = [family for family in ours if family in theirs]
    count = 0
    for family in shared:
        differences = compare_family(family, ours[family], theirs[family])
        for line in differences[:FIRST_DIFFERENCES]:
            print(f"  {line}")
        count += len(differences)
    print(f"{count} differences in {', '.join(shared)}")
    return 1 if count or not shared else 0


def print_counts(family: str, cells: Cells) -> None:
    """Prints how many rows of each part there are, and why cells have failed."""
    rows: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for parts in cells.values():
        for name, part in parts.items():
            rows[name] += row_count(part)
        if "error" in parts:
            errors[parts["error"].columns["value"][0][:LONGEST_VALUE]] += 1
    counts = ", ".join(f"{name} {count}" for name, count in rows.items())
    print(f"{family}: cells {len(cells)}, {counts}", flush=True)
    for text, count in errors.most_common():
        print(f"  {count} x {text}", flush=True)


def write_file(path: Path, families: Sequence[str], seeds: int | None) -> None:
    """Writes what this tree makes of random cells of some families."""
    made: Mapping[str, Cells] = {}
    for family in families:
        cells = random_cells(family, seeds or SEEDS.get(family, USUAL_SEEDS))
        print_counts(family, cells)
        made = {**made, family: cells}
    path.write_bytes(pickle.dumps(made))


def main() -> int:
    """Runs the command line; returns its exit status."""
    parser = argparse.ArgumentParser(description="Random cells of all families; see this file.")
    parser.add_argument("--compare", action="store_true", help="compare two files")
    parser.add_argument("--seeds", type=int, help="number of random datasets of each family")
    parser.add_argument("file", type=Path, help="file to write, or the old one of two")
    parser.add_argument("names", nargs="*", help="families; or the new file")
    arguments = parser.parse_intermixed_args()
    if arguments.compare:
        return compare_files(arguments.file, Path(*arguments.names))
    unknown = [name for name in arguments.names if name not in WRITERS]
    if unknown:
        parser.error(f"unknown family {unknown[0]!r}; expected some of {', '.join(WRITERS)}")
    write_file(arguments.file.absolute(), arguments.names or list(WRITERS), arguments.seeds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
