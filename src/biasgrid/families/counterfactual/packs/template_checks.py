"""Says what is wrong with templates that can be read, given their fillings, terms and the task of the models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from biasgrid.base.faults import Fault
from biasgrid.families.counterfactual.packs.biases import Groups
from biasgrid.families.counterfactual.packs.json_files import as_json
from biasgrid.families.counterfactual.packs.placeholders import (
    MASK,
    GroupSlot,
    Slot,
    Text,
    slots_of,
    split_texts,
)
from biasgrid.families.counterfactual.packs.templates import Header, Located
from biasgrid.families.white_space import SPACING, spacing_problem

FIRST_MARK = 0x100000
"""Where the private characters begin that stand for holes of a text; no text in any language has them."""

Hole = tuple[str, Sequence[str]]
"""The mark that stands for a hole, and what fills it."""


def check_distinct(located: Iterable[Located], faults: list[Fault]) -> None:
    """Reports templates that ask the same as one before them."""
    first: dict[tuple[Text, ...], Located] = {}
    for one in located:
        other = first.setdefault(one.template.inputs, one)
        if other is not one:
            problem = f"its inputs are those of {other.where} in {other.file}"
            faults.append(Fault(one.file, one.where, problem, "every template once"))


@dataclass(frozen=True)
class TaskChecks:
    """Looks for what models of a task cannot be asked.

    Attributes:
        task: their task.
        header: what the files say of all templates.
        fillings: the fillings by token.
        biases: identity terms by bias type and group.
        faults: where to add what is wrong.
    """

    task: str
    header: Header
    fillings: dict[str, list[str]]
    biases: dict[str, Groups]
    faults: list[Fault]

    def check(self, located: Iterable[Located]) -> None:
        """Checks the templates that are for the task."""
        for one in located:
            template = one.template
            if template.task != self.task:
                continue
            if template.targets is not None:
                self.check_targets(one, template.targets)
                if self.has_inputs(one, 1, "one name, that of the text with the mask"):
                    self.check_masks(one, template.inputs[0])
            if template.answer is not None and self.has_inputs(one, 2, "two names, those of question and context"):
                self.check_answer(one, template.answer, template.inputs[1])

    def has_inputs(self, located: Located, count: int, expected: str) -> bool:
        """Reports another number of inputs than models read; says whether it is right."""
        if len(located.template.inputs) != count:
            names = as_json(self.header.input_names)
            self.faults.append(Fault(located.file, "input_names", f"is {names}", f"{expected}, for {self.task}"))
        return len(located.template.inputs) == count

    def check_masks(self, located: Located, text: Text) -> None:
        """Reports a text that has not exactly one mask, whatever fills it."""
        least = most = 0
        for part in text:
            counts = [filling.count(MASK) for filling in self.fillings[part.token]] if isinstance(part, Slot) else []
            counts += [part.count(MASK)] if isinstance(part, str) else []
            least, most = least + min(counts, default=0), most + max(counts, default=0)
        if (least, most) != (1, 1):
            problem = f"{most} masks" if least == most else f"{least} to {most} masks, by its fillings"
            where = f"{located.where}.{self.header.input_names[0]}"
            self.faults.append(Fault(located.file, where, problem, f"exactly one {MASK}"))

    def check_targets(self, located: Located, targets: Sequence[str]) -> None:
        """Reports target words that stand twice, or that are no words."""
        where = f"{located.where}.{self.header.label_name}"
        for word, count in Counter(targets).items():
            problem = spacing_problem(word)
            (parts,) = split_texts([word], list(self.header.group_tokens))
            if count > 1:
                twice = f"the target word {as_json(word)} appears {count} times"
                self.faults.append(Fault(located.file, where, twice, "every target word once"))
            if problem:
                self.faults.append(Fault(located.file, where, f"the target word {as_json(word)} {problem}", SPACING))
            elif MASK in word or not all(isinstance(part, str) for part in parts):
                held = f"the target word {as_json(word)} holds a placeholder"
                self.faults.append(Fault(located.file, where, held, "only words"))

    def check_answer(self, located: Located, answer: Text, context: Text) -> None:
        """Reports an answer that is not in the context in every instance; capital letters are all one."""
        # Once what has few fillings is filled, the answer often stands there whatever fills the rest.
        slots = sorted(slots_of([answer, context]), key=lambda slot: len(self.fillings[slot.token]))
        parts: list[Slot | GroupSlot] = [*slots, *map(GroupSlot, self.header.group_tokens)]
        marks: dict[Slot | GroupSlot, str] = {part: chr(FIRST_MARK + place) for place, part in enumerate(parts)}
        holes = [(marks[part], self.values(part, marks)) for part in parts]
        found = answer_outside(marked(answer, marks), marked(context, marks), holes)
        if found:
            where = f"{located.where}.{self.header.label_name}"
            problem = f"the answer {found[0]!r} is not in the context {found[1]!r}"
            self.faults.append(Fault(located.file, where, problem, "an answer that is part of the context"))

    def values(self, part: Slot | GroupSlot, marks: dict[Slot | GroupSlot, str]) -> list[str]:
        """Returns what fills a hole, with marks for the group tokens in it."""
        if isinstance(part, GroupSlot):
            named = self.header.group_tokens[part.token]
            chosen = [groups for bias_type, groups in self.biases.items() if named in (None, bias_type)]
            return [term for groups in chosen for terms in groups.values() for term in terms]
        texts = [split_texts([filling], list(self.header.group_tokens))[0] for filling in self.fillings[part.token]]
        return [marked(text, marks) for text in texts]


def marked(text: Text, marks: dict[Slot | GroupSlot, str]) -> str:
    """Returns a text with marks for its holes; placeholders in fillings, which are faults, stay."""
    return "".join(part if isinstance(part, str) else marks.get(part, str(part)) for part in text)


def answer_outside(answer: str, context: str, holes: Sequence[Hole]) -> tuple[str, str] | None:
    """Looks for an instance whose answer does not stand in its context.

    Where the answer stands in the context before all holes are filled, it does so whatever fills them. Fillings may
    hold the marks of holes that follow.

    Returns:
        The answer and the context, None where there is no such instance.
    """
    if answer.casefold() in context.casefold():
        return None
    if not holes:
        return answer, context
    (mark, values), *rest = holes
    for value in values if mark in answer or mark in context else [mark]:
        found = answer_outside(answer.replace(mark, value), context.replace(mark, value), rest)
        if found:
            return found
    return None
