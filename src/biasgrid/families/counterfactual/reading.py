"""Reads packs in BiaXposer's formats: bias types with their groups and identity terms, templates
and fillings.

What makes other instances than in BiaXposer itself, which never reports what is wrong with its
files:

- `|` in a text or a filling is a character like any other; it used to shift the texts after it.
- A group token may have any form. One of the form `<word>` may carry a number, as in `<group:1>`,
  which used to be left in the text. Tokens that begin with `group` are ordinary placeholders; they
  used to be left in the text.
- A group token in the label (an answer) is filled with the term; it used to be left in the label.
- Fillings are stripped of all white space around them; blank lines, and fillings that are twice
  among those of a token, are dropped. They used to make cases.
- A template that holds no group token is refused; it used to be asked once per term, always with
  the same answer.
- Templates with the same inputs are refused; there each makes cases of its own. So are target words
  that hold a placeholder, where the task is known; there it stays in them.
- A file below a folder of its own name counts once, and dots in the names of folders are part of
  these names.
- Cases have a fixed order: templates in reading order, fillings in that of their files, files
  sorted by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, nearest_name, one_of
from biasgrid.base.names import SPACING, fold_name, similar_names, spacing_problem
from biasgrid.families.counterfactual.pack import (
    CASE_PLACEHOLDER,
    JOIN,
    MASK_TOKEN,
    CasePack,
    CasePackFiles,
    Filling,
    GroupTerms,
    Slot,
    as_json,
    json_type,
    read_fillings,
    read_object,
    readable_text,
    split_texts,
)
from biasgrid.families.counterfactual.templates import (
    TaskChecks,
    check_distinct_templates,
    read_case_templates,
)
from biasgrid.families.family import TokenCounts

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
    used = {
        token: texts_of_fillings(fillings.of.get(token, []), list(group_tokens), faults)
        for token in tokens
    }
    check_group_tokens(str(files.biases), biases, group_tokens, faults)
    check_distinct_templates(located, faults)
    if header and files.task:
        TaskChecks(files.task, header, used, biases, faults).check(located)
    pack = CasePack(group_tokens, templates, used, biases, files.sample)
    if not faults and pack.instances > MOST_CASE_INSTANCES:
        problem = f"{pack.instances:,} instances"
        faults.append(
            Fault(
                str(files.templates),
                "",
                problem,
                f"at most {MOST_CASE_INSTANCES:,}: use fewer placeholders",
            )
        )
    return pack, list(dict.fromkeys(faults))


def read_biases(
    path: Path, chosen: Sequence[str] | None, faults: list[Fault]
) -> dict[str, GroupTerms]:
    """Reads `{bias type: {group: [identity term, ...]}}`; adds what is wrong to the faults.

    Args:
        path: the file.
        chosen: which bias types to return, in the order of the file; None for all.
        faults: where to add what is wrong.
    """
    content = read_object(
        path, "an object of bias types: {bias type: {group: [identity term, ...]}}", faults
    )
    if content is None:
        return {}
    if not content:
        faults.append(Fault(str(path), "", "no bias types", "at least one bias type"))
    check_names(str(path), "", "bias type", content, faults)
    for name in chosen or ():
        if name not in content:
            faults.append(
                Fault(
                    str(path),
                    "",
                    f"has no bias type {name!r}{nearest_name(name, content)}",
                    one_of(content),
                )
            )
    biases = {
        name: read_groups_of_bias(str(path), name, groups, faults)
        for name, groups in content.items()
    }
    return {name: groups for name, groups in biases.items() if chosen is None or name in chosen}


def read_groups_of_bias(file: str, bias_type: str, content: Any, faults: list[Fault]) -> GroupTerms:
    """Reads the groups of a bias type."""
    if not isinstance(content, dict):
        faults.append(
            Fault(
                file,
                bias_type,
                f"is {json_type(content)}",
                "an object: {group: [identity term, ...]}",
            )
        )
        return {}
    if len(content) < 2:
        count = f"{len(content)} group{'' if len(content) == 1 else 's'}"
        faults.append(Fault(file, bias_type, count, "at least two groups to compare"))
    check_names(file, bias_type, "group", content, faults)
    groups = {
        group: read_terms(file, f"{bias_type}.{group}", terms, faults)
        for group, terms in content.items()
    }
    group_of: dict[str, str] = {}
    for group, terms in groups.items():
        for term in dict.fromkeys(map(fold_name, terms)):
            other = group_of.setdefault(term, group)
            if other != group:
                problem = f"the term {as_json(term)} is already in the group {as_json(other)}"
                faults.append(
                    Fault(
                        file,
                        f"{bias_type}.{group}",
                        problem,
                        "each term in only one group of a bias type",
                    )
                )
    return groups


def read_terms(file: str, where: str, content: Any, faults: list[Fault]) -> list[str]:
    """Reads the identity terms of a group."""
    if not isinstance(content, list):
        faults.append(Fault(file, where, f"is {json_type(content)}", "a list of identity terms"))
        return []
    if not content:
        faults.append(Fault(file, where, "no identity terms", "at least one identity term"))
    for place, term in enumerate(content):
        if problem := term_problem(term):
            faults.append(Fault(file, f"{where}[{place}]", problem, "an identity term"))
        else:
            check_names(file, f"{where}[{place}]", "term", [term], faults)
    terms = [term for term in content if isinstance(term, str)]
    check_alike(file, where, "term", terms, faults)
    for term, count in Counter(terms).items():
        if count > 1:
            faults.append(
                Fault(
                    file,
                    where,
                    f"{as_json(term)} appears {count} times",
                    "each term once in a group",
                )
            )
    return terms


def term_problem(term: Any) -> str | None:
    """Words what keeps a value from being an identity term, whatever it is called."""
    if not isinstance(term, str):
        return f"is {json_type(term)}"
    if MASK_TOKEN in term:
        return f"{as_json(term)} contains a mask"
    return (
        f"{as_json(term)} contains a placeholder that nothing fills"
        if CASE_PLACEHOLDER.search(term)
        else None
    )


def check_names(
    file: str, where: str, what: str, names: Iterable[str], faults: list[Fault]
) -> None:
    """Reports names that look like others, and those that could be mistaken for names of an
    intersection.
    """
    check_alike(file, where, what, names, faults)
    for name in names:
        # At the end of a name the sign would make a join with the one that follows it.
        if JOIN in f" {name} ":
            expected = f"no & as a word: {JOIN!r} joins the parts of an intersection"
            faults.append(
                Fault(file, where, f"the {what} {as_json(name)} contains & as a word", expected)
            )
        elif problem := spacing_problem(name):
            faults.append(Fault(file, where, f"the {what} {as_json(name)} {problem}", SPACING))


def check_alike(
    file: str, where: str, what: str, names: Iterable[str], faults: list[Fault]
) -> None:
    """Reports names that are others but for case or their normal form."""
    for name, other in similar_names(names):
        problem = (
            f"the {what} {as_json(name)} differs from {as_json(other)} only in case or normal form"
        )
        faults.append(Fault(file, where, problem, f"each {what} once"))


def check_group_tokens(
    file: str, biases: dict[str, GroupTerms], tokens: Collection[str], faults: list[Fault]
) -> None:
    """Reports terms that hold what other terms replace."""
    for bias_type, groups in biases.items():
        for group, terms in groups.items():
            for term in terms:
                # What has the form of a placeholder is reported as one.
                held = [
                    token for token in tokens if token in term and not CASE_PLACEHOLDER.search(term)
                ]
                for token in held:
                    problem = f"the term {as_json(term)} contains the group token {token}"
                    faults.append(
                        Fault(file, f"{bias_type}.{group}", problem, "terms without group tokens")
                    )


def texts_of_fillings(
    fillings: Iterable[Filling], group_tokens: Collection[str], faults: list[Fault]
) -> list[str]:
    """Returns the distinct texts of fillings, group tokens without their numbers; reports other
    placeholders.
    """
    texts = []
    for filling in fillings:
        (parts,) = split_texts([filling.text], list(group_tokens))
        if any(isinstance(part, Slot) for part in parts):
            problem = f"{filling.text!r} contains a placeholder that nothing fills"
            faults.append(
                Fault(
                    filling.file,
                    f"line {filling.line}",
                    problem,
                    "a text with no placeholder other than a group token",
                )
            )
        texts.append(readable_text(parts))
    return list(dict.fromkeys(texts))


def planned_instances(pack: CasePack, token_counts: TokenCounts | None = None) -> PlannedCases:
    """Returns what a pack asks, whatever its words are to a tokenizer."""
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
            int(chosen[block.first_case : block.first_case + block.cases].sum()) * block.terms
            for block in blocks
        )

    def sample(self, count: int) -> list[tuple[str, str, Sequence[str]]]:
        """Returns second and first input and targets of `count` instances of cases, spread evenly
        over the pack.
        """
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
            (
                context or "",
                text.replace(MASK_TOKEN, "it"),
                [word for word in words if word is not None],
            )
            for context, text, *words in rows
        ]
