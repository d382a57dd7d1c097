"""The command that lists the datasets that come with biasgrid."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from rich.text import Text

from biasgrid.cli.output import console, report_errors
from biasgrid.cli.tables import fit_to_width, number_text, terminal_table


@dataclass
class ShippedDataset:
    """A dataset that comes with biasgrid.

    Attributes:
        title: what it is about.
        family: its family.
        language: the language of its texts.
        asks: what models are asked, in a few words.
        rows: how many rows it has, without `limit` and `sample`.
        tasks: the tasks of the models that it is for.
    """

    title: str
    family: str
    language: str
    asks: str
    rows: float
    tasks: list[str] = field(default_factory=list)


def list_datasets() -> None:
    """Lists the datasets that come with biasgrid: what they ask, which models, and how many rows
    they have.

    `try --on`, `init --on` and `datasets` in a config take these names.
    """
    from biasgrid.config.paths import workflow_folder

    with report_errors():
        shipped = shipped_datasets(workflow_folder())
    titles = ["dataset", "about", "family", "language", "models"]
    table = terminal_table(titles, ["rows"], console.width)
    table.columns[0].no_wrap = True  # a name is easily copied only in one piece
    for name, shipped_dataset in shipped.items():
        table.add_row(
            name,
            shipped_dataset.title,
            shipped_dataset.family,
            shipped_dataset.language,
            ", ".join(shipped_dataset.tasks),
            number_text(shipped_dataset.rows),
        )
    console.print(fit_to_width(table, ["about", "models"], console.width, name_titles=titles))
    notes = dict.fromkeys(
        f"\n{shipped_dataset.family}: {shipped_dataset.asks}"
        for shipped_dataset in shipped.values()
    )
    ending = "\nThe control of a dataset, NAME-placebo, is asked with it if there is one."
    console.print(Text("".join([*notes, ending]), style="dim"))


def shipped_datasets(root: Path) -> dict[str, ShippedDataset]:
    """Returns the datasets that come with biasgrid, without controls, by name.

    Args:
        root: the folder that has `config/` and `word_lists/`.
    """
    from biasgrid.cli.quickstart.config import SHIPPED_CONFIGS, built_in_datasets
    from biasgrid.config import load_word_lists, parse_config, read_config
    from biasgrid.runs.counts import instances_to_ask

    offered = built_in_datasets(root, SHIPPED_CONFIGS)
    datasets: dict[str, ShippedDataset] = {}
    for file in SHIPPED_CONFIGS:
        content = read_config(root / "config" / file)
        for section in content["datasets"].values():
            section["sample"] = "all"
        content["run"]["datasets"] = [*content["datasets"]]
        config = parse_config(content | {"word_lists": str(root / "word_lists")}, file)
        lists = load_word_lists(config)
        for model, dataset in config.cells():
            section = config.datasets[dataset]
            if section.control_of is not None or dataset not in offered:
                continue
            if dataset not in datasets:
                instances = lists[dataset, config.question(model, dataset).variant]
                rows = instances_to_ask(config.family_reference(dataset), instances, None).instances
                datasets[dataset] = ShippedDataset(
                    section.title,
                    section.family,
                    section.language,
                    config.family(dataset).asks,
                    rows,
                )
            task = config.models[model].task
            if task not in datasets[dataset].tasks:
                datasets[dataset].tasks.append(task)
    return datasets
