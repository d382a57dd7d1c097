"""Answers computed elsewhere, in a file."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from biasgrid.base.faults import Fault
from biasgrid.base.precomputed_file import first_has_numbers, precomputed_faults
from biasgrid.base.sections import ModelSource


class PrecomputedSource(ModelSource):
    """A file of answers in place of a checkpoint."""

    name = "answers"
    keys = ("answers",)
    fields: ClassVar = {
        "answers": (
            str | None,
            Field(
                None,
                description=(
                    "file with answers computed elsewhere, instead of a checkpoint: `.jsonl`, "
                    "`.csv` or `.parquet`; docs/in-and-out.md has its columns"
                ),
            ),
        )
    }

    def deciding_keys(self) -> dict[str, Any]:
        """Returns the file's path; of its content the record has a digest."""
        return self.files()

    def files(self) -> dict[str, str]:
        """Returns the file."""
        return {"answers": self.section}

    @property
    def precomputed(self) -> Literal["texts", "numbers"]:
        """The content of the file by its first row: texts, or numbers such as probabilities."""
        return "numbers" if first_has_numbers(Path(self.section)) else "texts"

    @property
    def gpus(self) -> int:
        """None, as nobody computes."""
        return 0

    def prompt_faults(
        self,
        prompts: Collection[str],
        prompt_groups: Collection[tuple[str, str]],
        repetitions: int,
        *,
        is_for_one_dataset: bool,
    ) -> Iterable[Fault]:
        """Returns the faults of the file, and requests that it does not answer."""
        return precomputed_faults(
            Path(self.section),
            prompts,
            prompt_groups,
            repetitions,
            is_for_one_dataset=is_for_one_dataset,
        )
