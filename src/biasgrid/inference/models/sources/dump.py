"""Dumps: finished predictions, with the questions that were asked."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from biasgrid.base.addresses import address_digest, public_address
from biasgrid.base.faults import Fault
from biasgrid.base.sections import ModelSource

FORMAT = "unqover"
"""The format of dumps, by the name that families give to it."""


class Dumps(ModelSource):
    """A dump for each dataset."""

    name = "dump"
    keys = ("predictions",)
    named_by = "predictions"
    brings_instances = True

    def has_dataset(self, formats: Collection[str]) -> bool:
        """Whether a family reads UnQover's format."""
        return FORMAT in formats

    def paths(self) -> dict[str, str | None]:
        """Returns the dumps that are files."""
        return {
            f"predictions.{dataset}.file": dump.file
            for dataset, dump in self.model.predictions.items()
        }

    @property
    def addresses(self) -> list[str]:
        """Where dumps are downloaded."""
        return [dump.url for dump in self.model.predictions.values() if dump.url]

    def origin(self, dataset: str) -> dict[str, Any] | None:
        """Returns the file or address of a dump, and its digest.

        An address is its public part and a digest of the whole, which may have a secret.
        """
        dump = self.model.predictions[dataset]
        address = (
            {"url": public_address(dump.url), "address": address_digest(dump.url)}
            if dump.url
            else {"url": None}
        )
        return dict(file=dump.file, sha256=dump.sha256, **address)

    def scoring(self, dataset: str) -> str | None:
        """Returns how the dump of a dataset was scored; None without a dump."""
        dump = self.model.predictions.get(dataset)
        return dump.scoring if dump else None

    def cell_faults(self, name: str, dataset: str, results: str, source: str) -> Iterator[Fault]:
        """Yields a fault if a dump is missing, or in the folder of results."""
        key, dump = f"models.{name}.predictions", self.model.predictions.get(dataset)
        if dump is None:
            problem = (
                f"no dump for the selected dataset {dataset!r}, "
                f"only for {', '.join(self.model.predictions)}"
            )
            yield Fault(source, key, problem, "one for each dataset")
        elif dump.file is not None and not Path(dump.file).is_file():
            problem = f"there is no file {dump.file!r}"
            yield Fault(source, f"{key}.{dataset}.file", problem, "an output.json of UnQover")
        elif dump.file is not None and Path(dump.file).resolve().is_relative_to(
            Path(results).resolve()
        ):
            problem = (
                f"{dump.file!r} is in the folder of results, where files are removed and remade"
            )
            yield Fault(
                source,
                f"{key}.{dataset}.file",
                problem,
                "a file outside that folder: copy it elsewhere",
            )
