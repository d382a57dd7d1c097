"""The back ends by the task that they serve: found by name, so that another one changes nothing of these."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from biasgrid.engine.back_end import BackEnd


class Entry(NamedTuple):
    """Where a back end is, as `module:class`, and the kind of its answers, a module of `tables.answers`."""

    path: str
    answers: str


BACK_ENDS = {
    "fill-mask": Entry("biasgrid.models.fill_mask:FillMask", "choice"),
    "question-answering": Entry("biasgrid.models.question_answering:QuestionAnswering", "span"),
    "text-classification": Entry("biasgrid.models.text_classification:TextClassification", "choice"),
}


def back_end_of(task: str) -> type[BackEnd]:
    """Imports the back end of a task."""
    module, name = BACK_ENDS[task].path.split(":")
    back_end: type[BackEnd] = getattr(import_module(module), name)
    return back_end


def modules_of(task: str) -> list[str]:
    """Returns the modules that answer a task, which are found by their names, as `code_digest` takes them."""
    entry = BACK_ENDS[task]
    return [entry.path.split(":")[0].removeprefix("biasgrid."), f"tables.answers.{entry.answers}"]
