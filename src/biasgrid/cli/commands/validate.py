"""The command that checks a config and its files."""

from __future__ import annotations

from biasgrid.base.faults import first_few
from biasgrid.cli.options import ConfigPath, WordListsFolder, load_checked_config
from biasgrid.cli.output import console, print_text, report_errors


def validate(config: ConfigPath, word_lists: WordListsFolder = None) -> None:
    """Checks a config, its word lists and other files; asks no model.

    This runs the code of the config's plugins and of probes in Python: validate only what you
    trust.
    """
    from biasgrid.config import load_word_lists
    from biasgrid.config.checks import models_left_out
    from biasgrid.jobs.cell_warnings import gather_warnings
    from biasgrid.runs.checks import (
        LARGEST_INPUT,
        check_inputs,
        list_warnings,
        refuse_foreign_files,
        refuse_unknown_subjects,
        word_warnings,
    )
    from biasgrid.runs.counts import sample_notes

    with report_errors():
        parsed = load_checked_config(config, word_lists)
        refuse_foreign_files(parsed.results)
        lists = load_word_lists(parsed)
        large = check_inputs(parsed)
        refuse_unknown_subjects(parsed, lists)
        warnings = list_warnings(parsed, lists)
        warnings += gather_warnings(word_warnings(parsed, lists))
    cells = len(list(parsed.cells()))
    variants = f"{len(lists)} variant{'s' * (len(lists) != 1)} of datasets"
    console.print(f"{config}: {cells} cell{'s' * (cells != 1)}, {variants}, no faults.")
    for note in sample_notes(parsed, lists):
        print_text(note)
    if parsed.plugins:
        console.print(f"The code of {first_few(parsed.plugins)} was run.")
    for note in [*models_left_out(parsed), *parsed.folders.notes]:
        print_text(note)
    for warning in warnings:
        print_text(warning)
    for file in large:
        print_text(
            f"{file}: larger than {LARGEST_INPUT // 2**20} MiB, so only its job will check it"
        )
