"""Reads packs in BiaXposer's formats: bias types with their identity terms, templates and fillings.

BiaXposer itself reports no fault of its files, and makes other instances of them in some cases:

- `|` in a text or a filling is a character like any other; it used to shift the texts after it.
- A group token may have any form. One of the form `<word>` may carry a number, as in `<group:1>`,
  which used to be left in the text. Tokens that begin with `group` are ordinary placeholders; they
  used to be left in the text.
- A group token in the label (an answer) is filled with the term; it used to be left in the label.
- Fillings are stripped of all white space around them; blank lines and repeated fillings of a
  token are dropped. They used to make cases.
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
    as_json,
    json_type,
    read_fillings,
    read_object,
    readable_text,
    slots_of,
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
    """Reads the files of a dataset and returns them with all of their faults."""
    faults: list[Fault] = []
    biases = read_biases(files.biases, files.bias_types, faults)
    fillings = read_fillings(files.fillings, faults)
    header, located = read_case_templates(files.templates, biases, fillings, faults)
    group_tokens = header.group_tokens if header else {}
    templates = [location.template for location in located]
    slot_tokens = dict.fromkeys(slot.token for template in templates for slot in template.slots)
    texts = {}
    for token in slot_tokens:
        texts[token] = texts_of_fillings(fillings.of.get(token, []), list(group_tokens), faults)
    check_group_tokens(str(files.biases), biases, group_tokens, faults)
    check_distinct_templates(located, faults)
    if header and files.task:
        TaskChecks(files.task, header, texts, biases, faults).check(located)
    pack = CasePack(group_tokens, templates, texts, biases, files.sample)
    # Files with faults may hold less than they should, so their instances are not counted.
    if not faults and pack.instances > MOST_CASE_INSTANCES:
        problem = f"{pack.instances:,} instances"
        expected = f"at most {MOST_CASE_INSTANCES:,}: use fewer placeholders"
        faults.append(Fault(str(files.templates), "", problem, expected))
    return pack, list(dict.fromkeys(faults))


def read_biases(
    path: Path, chosen: Sequence[str] | None, faults: list[Fault]
) -> dict[str, GroupTerms]:
    """Reads bias types: `{bias type: {group: [identity term, ...]}}`.

    Args:
        path: the file.
        chosen: the bias types to return, in the order of the file; None for all.
        faults: the list to which faults are added, those of bias types that are not chosen too.
    """
    expected = "an object of bias types: {bias type: {group: [identity term, ...]}}"
    content = read_object(path, expected, faults)
    if content is None:
        return {}
    file = str(path)
    if not content:
        faults.append(Fault(file, "", "no bias types", "at least one bias type"))
    check_names(file, "", "bias type", content, faults)
    for name in chosen or ():
        if name not in content:
            problem = f"has no bias type {name!r}{nearest_name(name, content)}"
            faults.append(Fault(file, "", problem, one_of(content)))
    biases = {}
    for name, groups in content.items():
        terms = read_groups_of_bias(file, name, groups, faults)
        if chosen is None or name in chosen:
            biases[name] = terms
    return biases


def read_groups_of_bias(file: str, bias_type: str, content: Any, faults: list[Fault]) -> GroupTerms:
    """Reads the groups of a bias type; without groups if the content is no object."""
    if not isinstance(content, dict):
        expected = "an object: {group: [identity term, ...]}"
        faults.append(Fault(file, bias_type, f"is {json_type(content)}", expected))
        return {}
    if len(content) < 2:
        count = f"{len(content)} group{'' if len(content) == 1 else 's'}"
        faults.append(Fault(file, bias_type, count, "at least two groups to compare"))
    check_names(file, bias_type, "group", content, faults)
    groups = {}
    for group, terms in content.items():
        groups[group] = read_terms(file, f"{bias_type}.{group}", terms, faults)
    check_shared_terms(file, bias_type, groups, faults)
    return groups


def check_shared_terms(file: str, bias_type: str, groups: GroupTerms, faults: list[Fault]) -> None:
    """Reports terms that are in several groups of a bias type."""
    group_of: dict[str, str] = {}
    for group, terms in groups.items():
        for term in dict.fromkeys(map(fold_name, terms)):
            first_group = group_of.setdefault(term, group)
            if first_group != group:
                problem = f"the term {as_json(term)} is already in the group {as_json(first_group)}"
                expected = "each term in only one group of a bias type"
                faults.append(Fault(file, f"{bias_type}.{group}", problem, expected))


def read_terms(file: str, where: str, content: Any, faults: list[Fault]) -> list[str]:
    """Reads the identity terms of a group; those that are no strings are left out."""
    if not isinstance(content, list):
        faults.append(Fault(file, where, f"is {json_type(content)}", "a list of identity terms"))
        return []
    if not content:
        faults.append(Fault(file, where, "no identity terms", "at least one identity term"))
    for position, term in enumerate(content):
        place = f"{where}[{position}]"
        problem = term_problem(term)
        if problem:
            faults.append(Fault(file, place, problem, "an identity term"))
        else:
            check_names(file, place, "term", [term], faults)
    terms = [term for term in content if isinstance(term, str)]
    check_alike(file, where, "term", terms, faults)
    for term, count in Counter(terms).items():
        if count > 1:
            repeated = f"{as_json(term)} appears {count} times"
            faults.append(Fault(file, where, repeated, "each term once in a group"))
    return terms


def term_problem(term: Any) -> str | None:
    """Returns the reason why a value is no identity term, None if it is one."""
    if not isinstance(term, str):
        return f"is {json_type(term)}"
    if MASK_TOKEN in term:
        return f"{as_json(term)} contains a mask"
    if CASE_PLACEHOLDER.search(term):
        return f"{as_json(term)} contains a placeholder that nothing fills"
    return None


def check_names(
    file: str, where: str, noun: str, names: Iterable[str], faults: list[Fault]
) -> None:
    """Reports names that look like other names, that hold `&` as a word, or are badly spaced.

    Args:
        file: the file.
        where: the place in the file.
        noun: `bias type`, `group` or `term`.
        names: the names.
        faults: the list to which faults are added.
    """
    check_alike(file, where, noun, names, faults)
    for name in names:
        named = f"the {noun} {as_json(name)}"
        spacing = spacing_problem(name)
        # At the end of a name the sign would make a join with the name that follows it.
        if JOIN in f" {name} ":
            expected = f"no & as a word: {JOIN!r} joins the parts of an intersection"
            faults.append(Fault(file, where, f"{named} contains & as a word", expected))
        elif spacing:
            faults.append(Fault(file, where, f"{named} {spacing}", SPACING))


def check_alike(
    file: str, where: str, noun: str, names: Iterable[str], faults: list[Fault]
) -> None:
    """Reports names that differ from an earlier one only in case or their normal form."""
    for name, other in similar_names(names):
        pair = f"{as_json(name)} differs from {as_json(other)}"
        problem = f"the {noun} {pair} only in case or normal form"
        faults.append(Fault(file, where, problem, f"each {noun} once"))


def check_group_tokens(
    file: str, biases: dict[str, GroupTerms], tokens: Collection[str], faults: list[Fault]
) -> None:
    """Reports identity terms that contain a group token, which another term would replace."""
    for bias_type, groups in biases.items():
        for group, terms in groups.items():
            for term in terms:
                # A term that contains a placeholder is already reported.
                if CASE_PLACEHOLDER.search(term):
                    continue
                for token in tokens:
                    if token in term:
                        problem = f"the term {as_json(term)} contains the group token {token}"
                        where = f"{bias_type}.{group}"
                        faults.append(Fault(file, where, problem, "terms without group tokens"))


def texts_of_fillings(
    fillings: Iterable[Filling], group_tokens: Collection[str], faults: list[Fault]
) -> list[str]:
    """Returns the distinct texts of fillings, their group tokens without numbers.

    Args:
        fillings: the fillings of one token.
        group_tokens: the only placeholders that a filling may contain.
        faults: the list to which faults are added.
    """
    texts = []
    for filling in fillings:
        (parts,) = split_texts([filling.text], list(group_tokens))
        if slots_of([parts]):
            problem = f"{filling.text!r} contains a placeholder that nothing fills"
            expected = "a text with no placeholder other than a group token"
            faults.append(Fault(filling.file, f"line {filling.line}", problem, expected))
        texts.append(readable_text(parts))
    return list(dict.fromkeys(texts))


def planned_instances(pack: CasePack, token_counts: TokenCounts | None = None) -> PlannedCases:
    """Returns the plan of a pack, which does not depend on the tokens of a model."""
    return PlannedCases(pack)


SAMPLED_CASES = 16
"""How many cases `PlannedCases.sample` takes its instances from."""


@dataclass(frozen=True)
class PlannedCases:
    """The instances of a pack before they are made, to plan the requests of a model."""

    pack: CasePack

    @property
    def instances(self) -> int:
        """The number of instances."""
        if self.pack.sample is None:
            return self.pack.instances
        # Planning starts faster without polars.
        from biasgrid.families.counterfactual.expand import cases_of_sample

        chosen = cases_of_sample(self.pack, self.pack.sample)
        instances = 0
        for block in self.pack.blocks:
            cases = chosen[block.first_case : block.first_case + block.cases]
            instances += int(cases.sum()) * block.terms
        return instances

    def sample(self, count: int) -> list[tuple[str, str, Sequence[str]]]:
        """Returns about `count` instances of cases that are spread evenly over the pack.

        Returns:
            For each the second input (empty if there is none), the first input, and the targets.
        """
        from biasgrid.families.counterfactual.expand import candidates_of, expand_cases

        steps = min(SAMPLED_CASES, self.pack.cases)
        rows: list[tuple[str, str, Sequence[str]]] = []
        for step in range(steps):
            case = self.pack.cases * step // steps
            instances = expand_cases(self.pack, case, case + 1)
            columns = instances.select("text_pair", "text", *candidates_of(self.pack))
            every = max(1, len(instances) * steps // count)
            for context, text, *candidates in columns.gather_every(every).rows():
                targets = [word for word in candidates if word is not None]
                # Tokenizers differ in how they write the mask. Any word can replace that token.
                rows.append((context or "", text.replace(MASK_TOKEN, "it"), targets))
        return rows
