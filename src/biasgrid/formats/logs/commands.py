"""Commands for logs of other harnesses; each returns the lines that it prints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ConfigFile = Annotated[Path, typer.Option("--config", help="config with the datasets")]
LoggedDatasets = Annotated[
    list[str] | None,
    typer.Option("--dataset", help="dataset that the log answers; may be repeated"),
]
Tasks = Annotated[
    list[str] | None, typer.Option("--task", help="task of the log; may be repeated; default: all")
]
AnswersFile = Annotated[
    Path, typer.Option(help="JSONL file to write, for the key `answers` of a model")
]


def import_lm_eval(
    folder: Annotated[Path, typer.Argument(help="the folder of samples_*.jsonl, or one such file")],
    config: ConfigFile,
    out: AnswersFile,
    dataset: LoggedDatasets = None,
    task: Tasks = None,
) -> list[str]:
    """Writes samples of lm-evaluation-harness (--log_samples) as precomputed responses."""
    from biasgrid.formats.logs.lm_eval import read_logs
    from biasgrid.formats.logs.matching import import_logs

    return import_logs(read_logs(folder), task or [], config, dataset or [], out)


def import_inspect(
    file: Annotated[Path, typer.Argument(help="the log, .eval or .json")],
    config: ConfigFile,
    out: AnswersFile,
    dataset: LoggedDatasets = None,
) -> list[str]:
    """Writes the log of an evaluation by Inspect as precomputed responses."""
    from biasgrid.formats.logs.inspect_ai import read_inspect_log
    from biasgrid.formats.logs.matching import import_logs

    return import_logs([read_inspect_log(file)], [], config, dataset or [], out)


def import_eee(
    file: Annotated[Path, typer.Argument(help="the instance file, .jsonl")],
    config: ConfigFile,
    out: AnswersFile,
    dataset: LoggedDatasets = None,
    task: Tasks = None,
) -> list[str]:
    """Writes an instance file of Every Eval Ever as precomputed responses."""
    from biasgrid.formats.logs.every_eval_ever import read_instance_files
    from biasgrid.formats.logs.matching import import_logs

    return import_logs(read_instance_files(file), task or [], config, dataset or [], out)


def export_lm_eval(
    config: Annotated[Path, typer.Argument(help="config with the datasets")],
    out: Annotated[
        Path, typer.Option(help="the folder to write, for --include_path of the harness")
    ],
    dataset: LoggedDatasets = None,
) -> list[str]:
    """Writes datasets as tasks of lm-evaluation-harness, whose samples `import lm-eval` reads."""
    from biasgrid.formats.logs.matching import ImportedDatasets, import_config
    from biasgrid.formats.logs.tasks import export_tasks

    datasets = ImportedDatasets.from_config(import_config(config, dataset or []))
    return export_tasks(datasets, out)


def export_eee(
    results: Annotated[Path, typer.Argument(help="folder of results, such as results/demo")],
    model: Annotated[str, typer.Option(help="name of the model")],
    out: Annotated[Path, typer.Option(help="the folder to write")],
    organization: Annotated[
        str, typer.Option(help="organization that measured, as named in the record")
    ],
    relationship: Annotated[
        str,
        typer.Option(
            help=(
                "relationship to the maker of the model: first_party, third_party, collaborative "
                "or other"
            )
        ),
    ] = "third_party",
) -> list[str]:
    """Writes the headline numbers of a model as records of Every Eval Ever (schema 0.3.0), with
    their intervals.
    """
    from biasgrid.formats.logs.records import export_records

    return export_records(results, model, out, organization, relationship)
