"""Weights that run here: from the hub, from a folder, or trained by the workflow."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from biasgrid.base.sections import ModelSource


class Weights(ModelSource):
    """A checkpoint, which has a record."""

    name = "weights"
    keys: ClassVar[tuple[str, ...]] = ("checkpoint", "folder", "train")
    runs_here = True

    def choices(self) -> dict[str, Any]:
        """Returns all deciding keys, as the record is of the checkpoint alone."""
        return self.deciding_keys()

    def record_source(
        self, training_folder: str, training: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """Returns where the files of the checkpoint are, as arguments of `make_record`."""
        folder = training_folder if self.model.train else self.model.folder
        source = {
            "checkpoint": self.model.checkpoint,
            "revision": self.model.revision,
            "folder": folder,
        }
        allowed = {
            "allow_pickle": self.model.allow_pickle,
            "allow_remote_code": self.model.allow_remote_code,
        }
        return source | {"weights": True} | allowed | {"training": training}

    def paths(self) -> dict[str, str | None]:
        """Returns the model's folder and, for training, its data and the folder of its base."""
        data, base = (
            (self.model.train.data, self.model.train.base) if self.model.train else (None, None)
        )
        return {
            "folder": self.model.folder,
            "train.data": data,
            "train.base.folder": base.folder if base else None,
        }

    @property
    def addresses(self) -> list[str]:
        """The hub, where the checkpoint is fetched from it."""
        return (
            [os.environ.get("HF_ENDPOINT") or "https://huggingface.co"]
            if self.model.checkpoint
            else []
        )
