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
    """Wraps a single label in a list.

    Raises:
        ValueError: it is neither a text nor a list.
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
    # Named like the key of the file, because `Section` knows no aliases.
    label: Annotated[list[str], BeforeValidator(as_list), Field(min_length=1)]

    @property
    def labels(self) -> list[str]:
        """The names of the classes, at least one; a name counts as often as it is there."""
        return self.label

    @property
    def input(self) -> str | tuple[str, str]:
        """The text or pair of texts for a tokenizer; an empty second text counts as none."""
        return (self.text, self.text_pair) if self.text_pair else self.text


def class_data(
    tokenizer: Any, path: str | Path, max_length: int, class_names: Sequence[str]
) -> TrainingData:
    """Tokenizes texts, or pairs of texts, for a classifier.

    Args:
        tokenizer: a fast tokenizer.
        path: a file of JSON lines, each an object with `text`, for pairs `text_pair`, and `label`:
            the name of the class, or a list of names of equal weight, such as the labels of several
            annotators.
        max_length: the maximum length of a row, in tokens; the rest is cut off, of pairs from the
            longer text first.
        class_names: the names of the classes 0, 1, ...

    Raises:
        InputError: the file cannot be read or has no line, or lines are not as above; each fault
            names its line.
    """
    examples = read_examples(path, class_names)
    inputs = [example.input for example in examples]
    columns = tokenizer(inputs, truncation=True, max_length=max_length)
    class_numbers = {name: number for number, name in enumerate(class_names)}
    rows = []
    for position, example in enumerate(examples):
        row = {key: values[position] for key, values in columns.items()}
        row["labels"] = [class_numbers[label] for label in example.labels]
        rows.append(row)
    return TrainingData("labelled texts", rows, answer_collator(tokenizer), class_loss)


def class_loss(outputs: Any, labels: torch.Tensor, **_: Any) -> torch.Tensor:
    """Returns the loss of a classifier.

    Args:
        outputs: the output of a classifier.
        labels: class numbers, shape (rows, labels of a row).
    """
    return mean_loss(outputs.logits, labels)


def order_classes(config: PretrainedConfig, labels: Sequence[str]) -> list[str]:
    """Returns the names of the classes 0, 1, ... of the classifier that is trained.

    A checkpoint that has these classes already keeps their order, so that no class starts with the
    weights of another.

    Args:
        config: the config of the checkpoint to begin with.
        labels: the names of the classes, in the order of new ones.
    """
    own_labels = [str(config.id2label[number]) for number in range(config.num_labels)]
    return own_labels if sorted(own_labels) == sorted(labels) else list(labels)


def read_examples(path: str | Path, class_names: Sequence[str]) -> list[Example]:
    """Reads a file of JSON lines.

    Raises:
        InputError: see `class_data`.
    """
    faults: list[Fault] = []
    examples = []
    for line_number, line in read_numbered_lines(path):
        try:
            examples.append(Example.model_validate_json(line))
        except ValidationError as error:
            faults += [as_fault(detail, str(path), line_number) for detail in error.errors()]
        else:
            faults += unknown_label_faults(examples[-1], class_names, str(path), line_number)
    if faults:
        raise InputError(faults)
    return examples


def unknown_label_faults(
    example: Example, class_names: Sequence[str], file: str, line_number: int
) -> Iterator[Fault]:
    """Yields a fault for each label that is no class."""
    for label in dict.fromkeys(example.labels):
        if label not in class_names:
            problem = f"unknown label {label!r}{nearest_name(label, class_names)}"
            yield Fault(file, f"line {line_number}", problem, one_of(class_names))
