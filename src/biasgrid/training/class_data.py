"""Training data of classifiers: texts, or pairs of texts, with their classes, as lines of JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of
from biasgrid.base.messages import as_fault
from biasgrid.base.sections import Section
from biasgrid.training.data import TrainingData, answer_collator, mean_loss, read_numbered_lines

if TYPE_CHECKING:
    import torch
    from transformers import PretrainedConfig


def as_list(label: Any) -> Any:
    """Makes a list of a label that stands alone.

    Raises:
        ValueError: it is something else.
    """
    if isinstance(label, str):
        return [label]
    if isinstance(label, list):
        return label
    raise ValueError("expected the name of a class, or a list of names")


class Example(Section):
    """A text, or a pair of texts, with the names of its classes."""

    text: str
    text_pair: str | None = None
    label: Annotated[list[str], BeforeValidator(as_list), Field(min_length=1)]

    @property
    def input(self) -> str | tuple[str, str]:
        """The input of a tokenizer; an empty second text is none."""
        return (self.text, self.text_pair) if self.text_pair else self.text


def class_data(
    tokenizer: Any, path: str | Path, max_length: int, names: Sequence[str]
) -> TrainingData:
    """Tokenizes texts, or pairs of texts, for a classifier.

    A row's labels are the numbers of its classes.

    Args:
        tokenizer: a fast tokenizer.
        path: a file of JSON lines, each an object with `text`, for pairs `text_pair`, and `label`:
            the name of the class, or a list of names (such as the labels of several annotators),
            which count alike.
        max_length: longest sequence, in tokens; the rest is cut off, of pairs from the longer text
            first.
        names: the names of the classes 0, 1, ...

    Raises:
        InputError: the file cannot be read or has no line, or lines are not as above; each fault
            names its line.
    """
    examples = read_examples(path, names)
    inputs = [example.input for example in examples]
    encoded = tokenizer(inputs, truncation=True, max_length=max_length)
    numbers = {name: number for number, name in enumerate(names)}
    rows = []
    for place, example in enumerate(examples):
        row = {key: values[place] for key, values in encoded.items()}
        row["labels"] = [numbers[name] for name in example.label]
        rows.append(row)
    return TrainingData(rows, answer_collator(tokenizer), class_loss)


def class_loss(outputs: Any, labels: torch.Tensor, **_: Any) -> torch.Tensor:
    """Loss of the classes; labels of shape (rows, classes of a row) hold their numbers."""
    return mean_loss(outputs.logits, labels)


def names_of_classes(config: PretrainedConfig, labels: Sequence[str]) -> list[str]:
    """Returns the names of the classes 0, 1, ... of the classifier that is trained.

    A checkpoint that has these classes already keeps their order: no class begins with the weights
    of another.

    Args:
        config: the config of the checkpoint to begin with.
        labels: the names of the classes.
    """
    own = [str(config.id2label[place]) for place in range(config.num_labels)]
    return own if sorted(own) == sorted(labels) else list(labels)


def read_examples(path: str | Path, names: Sequence[str]) -> list[Example]:
    """Reads a file of JSON lines.

    Raises:
        InputError: see `class_data`.
    """
    faults: list[Fault] = []
    examples = []
    for number, line in read_numbered_lines(path):
        try:
            examples.append(Example.model_validate_json(line))
        except ValidationError as error:
            faults += [as_fault(detail, str(path), number) for detail in error.errors()]
        else:
            faults += unknown_label_faults(examples[-1], names, str(path), number)
    if faults:
        raise InputError(faults)
    return examples


def unknown_label_faults(
    example: Example, names: Sequence[str], file: str, line: int
) -> Iterator[Fault]:
    """Yields faults for labels that are no class."""
    for name in dict.fromkeys(example.label):
        if name not in names:
            problem = f"unknown label {name!r}{nearest_name(name, names)}"
            yield Fault(file, f"line {line}", problem, one_of(names))
