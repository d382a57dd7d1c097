"""Reads packs in BiaXposer's formats.

What makes other instances than in BiaXposer itself, which never reports what is wrong with its files:

- `|` in a text or a filling is a character like any other; it used to shift the texts after it.
- A group token may have any form. One of the form `<word>` may carry a number, as in `<group:1>`, which used to be
  left in the text. Tokens that begin with `group` are ordinary placeholders; they used to be left in the text.
- A group token in the label (an answer) is filled with the term; it used to be left in the label.
- Fillings are stripped of all white space around them; blank lines, and fillings that are twice among those of a
  token, are dropped. They used to make cases.
- A template that holds no group token is refused; it used to be asked once per term, always with the same answer.
- Templates with the same inputs are refused; there each makes cases of its own. So are target words that hold a
  placeholder, where the task is known; there it stays in them.
- A file below a folder of its own name counts once, and dots in the names of folders are part of these names.
- Cases have a fixed order: templates in reading order, fillings in that of their files, files sorted by name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from biasgrid.base.faults import Fault
from biasgrid.families.counterfactual.biases import check_group_tokens, read_biases
from biasgrid.families.counterfactual.pack import (
    MASK_TOKEN,
    CasePack,
    CasePackFiles,
    Filling,
    Slot,
    read_fillings,
    readable_text,
    split_texts,
)
from biasgrid.families.counterfactual.templates import TaskChecks, check_distinct_templates, read_case_templates
from biasgrid.families.family import OneToken

MOST_CASE_INSTANCES = 2**32 - 1


def read(files: CasePackFiles) -> tuple[CasePack, list[Fault]]:
    """Reads the files of a dataset and returns them with every fault that is in them."""
    faults: list[Fault] = []
    biases = read_biases(files.biases, files.bias_types, faults)
    fillings = read_fillings(files.fillings, faults)
    header, located = read_case_templates(files.templates, biases, fillings, faults)
    group_tokens = header.group_tokens if header else {}
    templates = [each.template for each in located]
    tokens = dict.fromkeys(slot.token for template in templates for slot in template.slots)
    used = {token: texts_of_fillings(fillings.of.get(token, []), list(group_tokens), faults) for token in tokens}
    check_group_tokens(str(files.biases), biases, group_tokens, faults)
    check_distinct_templates(located, faults)
    if header and files.task:
        TaskChecks(files.task, header, used, biases, faults).check(located)
    pack = CasePack(group_tokens, templates, used, biases, files.sample)
    if not faults and pack.instances > MOST_CASE_INSTANCES:
        problem = f"{pack.instances:,} instances"
        faults.append(Fault(str(files.templates), "", problem, f"at most {MOST_CASE_INSTANCES:,}: fewer placeholders"))
    return pack, list(dict.fromkeys(faults))


def texts_of_fillings(fillings: Iterable[Filling], group_tokens: Collection[str], faults: list[Fault]) -> list[str]:
    """Returns the distinct texts of fillings, group tokens without their numbers; reports other placeholders."""
    texts = []
    for filling in fillings:
        (parts,) = split_texts([filling.text], list(group_tokens))
        if any(isinstance(part, Slot) for part in parts):
            problem = f"{filling.text!r} holds a placeholder, which nothing fills"
            faults.append(Fault(filling.file, f"line {filling.line}", problem, "a text, at most with a group token"))
        texts.append(readable_text(parts))
    return list(dict.fromkeys(texts))


def planned_instances(pack: CasePack, one_token: OneToken | None = None) -> PlannedCases:
    """Returns what a pack asks, whatever is one token."""
    return PlannedCases(pack)


SAMPLED_CASES = 16


@dataclass(frozen=True)
class PlannedCases:
    """What a pack asks."""

    pack: CasePack

    @property
    def instances(self) -> int:
        """How many instances there are."""
        if self.pack.sample is None:
            return self.pack.instances
        from biasgrid.families.counterfactual.expand import cases_of_sample

        chosen = cases_of_sample(self.pack, self.pack.sample)
        blocks = self.pack.blocks
        return sum(
            int(chosen[block.first_case : block.first_case + block.cases].sum()) * block.terms for block in blocks
        )

    def sample(self, count: int) -> list[tuple[str, str, Sequence[str]]]:
        """Returns second and first input and targets of `count` instances of cases, spread evenly over the pack."""
        from biasgrid.families.counterfactual.expand import candidates_of, expand_cases

        steps = min(SAMPLED_CASES, self.pack.cases)
        rows = []
        for step in range(steps):
            case = self.pack.cases * step // steps
            instances = expand_cases(self.pack, case, case + 1)
            columns = instances.select("text_pair", "text", *candidates_of(self.pack))
            rows += columns.gather_every(max(1, len(instances) * steps // count)).rows()
        # Every tokenizer writes its mask otherwise; any word can replace that one token.
        return [
            (context or "", text.replace(MASK_TOKEN, "it"), [word for word in words if word is not None])
            for context, text, *words in rows
        ]
