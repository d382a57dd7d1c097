"""Reads packs in BiaXposer's formats: bias types with their identity terms, templates and fillings.

Planning a grid imports this module, so it must not import polars.

BiaXposer itself reports no fault of its files, and makes other instances of them in some cases:

- `|` in a text or a filling is a character like any other; it used to shift the texts after it.
- A group token may have any form. One of the form `<word>` may carry a number, as in `<group:1>`,
  which used to be left in the text. Tokens that begin with `group` are ordinary placeholders; they
  used to be left in the text.
- A group token in the label (an answer) is filled with the term; it used to be left in the label.
- Fillings are stripped of all white space around them; blank lines, lines that begin with `#` and
  repeated fillings of a token are dropped. They used to make cases.
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
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, nearest_name, one_of
from biasgrid.base.names import (
    SPACING,
    fold_name,
    normal_form,
    similar_names,
    spacing_problem,
)
from biasgrid.base.records import JsonRecord, list_lines
from biasgrid.families.counterfactual.pack import (
    CASE_PLACEHOLDER,
    JOIN,
    MASK_TOKEN,
    CasePack,
    CasePackFiles,
    Filling,
    Fillings,
    GroupTerms,
    as_json,
    json_type,
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
from biasgrid.families.family import InstanceTexts, TokenCounts

MOST_CASE_INSTANCES = 2**32 - 1
FILLINGS_EXPECTED = "a file with one filling per line, or a folder of such files"


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
    check_distinct_templates(located)
    if header and files.task:
        TaskChecks(files.task, header, texts, biases).check(located)
    pack = CasePack(group_tokens, templates, texts, biases, files.sample)
    # Files with faults may hold less than they should, so their instances are not counted.
    if not faults and pack.instances > MOST_CASE_INSTANCES:
        problem = f"{pack.instances:,} instances"
        expected = f"at most {MOST_CASE_INSTANCES:,}: use fewer placeholders"
        faults.append(Fault(str(files.templates), "", problem, expected))
    return pack, list(dict.fromkeys(faults))


# Groups and their terms


def read_biases(
    path: Path, chosen: Sequence[str] | None, faults: list[Fault]
) -> dict[str, GroupTerms]:
    """Returns the identity terms by bias type and group: `{bias type: {group: [term, ...]}}`.

    Args:
        path: the file.
        chosen: the bias types to return, in the order of the file; None for all.
        faults: list to which faults are added, those of bias types that are not chosen too.
    """
    expected = "an object of bias types: {bias type: {group: [identity term, ...]}}"
    record = read_object(path, expected, faults)
    if record is None:
        return {}
    content = record.values
    if not content:
        record.add_fault("", "no bias types", "at least one bias type")
    check_names(record, "", "bias type", content)
    for name in chosen or ():
        if name not in content:
            problem = f"has no bias type {name!r}{nearest_name(name, content)}"
            record.add_fault("", problem, one_of(content))
    biases = {}
    for name, groups in content.items():
        terms = read_groups_of_bias(record, name, groups)
        if chosen is None or name in chosen:
            biases[name] = terms
    return biases


def read_groups_of_bias(record: JsonRecord, bias_type: str, content: Any) -> GroupTerms:
    """Returns the terms of a bias type by group; empty if the content is no object."""
    if not isinstance(content, dict):
        expected = "an object: {group: [identity term, ...]}"
        record.add_fault(bias_type, f"is {json_type(content)}", expected)
        return {}
    if len(content) < 2:
        count = f"{len(content)} group{'' if len(content) == 1 else 's'}"
        record.add_fault(bias_type, count, "at least two groups to compare")
    check_names(record, bias_type, "group", content)
    groups = {}
    for group, terms in content.items():
        groups[group] = read_terms(record, f"{bias_type}.{group}", terms)
    check_shared_terms(record, bias_type, groups)
    return groups


def check_shared_terms(record: JsonRecord, bias_type: str, groups: GroupTerms) -> None:
    """Adds faults for terms that are in several groups of a bias type."""
    group_of: dict[str, str] = {}
    for group, terms in groups.items():
        for term in dict.fromkeys(map(fold_name, terms)):
            first_group = group_of.setdefault(term, group)
            if first_group != group:
                problem = f"the term {as_json(term)} is already in the group {as_json(first_group)}"
                expected = "each term in only one group of a bias type"
                record.add_fault(f"{bias_type}.{group}", problem, expected)


def read_terms(record: JsonRecord, field: str, content: Any) -> list[str]:
    """Returns the identity terms of a group; those that are no strings are left out."""
    if not isinstance(content, list):
        record.add_fault(field, f"is {json_type(content)}", "a list of identity terms")
        return []
    if not content:
        record.add_fault(field, "no identity terms", "at least one identity term")
    for position, term in enumerate(content):
        place = f"{field}[{position}]"
        problem = term_problem(term)
        if problem:
            record.add_fault(place, problem, "an identity term")
        else:
            check_names(record, place, "term", [term])
    terms = [term for term in content if isinstance(term, str)]
    check_alike(record, field, "term", terms)
    for term, count in Counter(terms).items():
        if count > 1:
            repeated = f"{as_json(term)} appears {count} times"
            record.add_fault(field, repeated, "each term once in a group")
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


def check_names(record: JsonRecord, field: str, noun: str, checked_names: Iterable[str]) -> None:
    """Refuses names that look like other names, that hold `&` as a word, or are badly spaced.

    Args:
        record: the file.
        field: the place of the names.
        noun: `bias type`, `group` or `term`.
        checked_names: the names.
    """
    check_alike(record, field, noun, checked_names)
    for name in checked_names:
        subject = f"the {noun} {as_json(name)}"
        spacing = spacing_problem(name)
        # At the end of a name the sign would make a join with the name that follows it.
        if JOIN in f" {name} ":
            expected = f"no & as a word: {JOIN!r} joins the parts of an intersection"
            record.add_fault(field, f"{subject} contains & as a word", expected)
        elif spacing:
            record.add_fault(field, f"{subject} {spacing}", SPACING)


def check_alike(record: JsonRecord, field: str, noun: str, checked_names: Iterable[str]) -> None:
    """Adds faults for names that differ from an earlier one only in case or their normal form."""
    for name, other in similar_names(checked_names):
        pair = f"{as_json(name)} differs from {as_json(other)}"
        problem = f"the {noun} {pair} only in case or normal form"
        record.add_fault(field, problem, f"each {noun} once")


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


# Fillings


def read_fillings(path: Path | None, faults: list[Fault]) -> Fillings:
    """Returns the fillings of all tokens.

    A file's name without its suffix is a token, and so is every folder that it is in: a folder's
    fillings are those of all files below it, and equal names mean one token. Blank lines, comments
    and repeated fillings of a token are dropped.

    Args:
        path: the folder, or a single file; None for no fillings.
        faults: list to which faults are added.
    """
    before = len(faults)
    fillings_by_token: dict[str, dict[str, Filling]] = {}
    for file, tokens in files_with_tokens(path):
        lines = list_lines(file, FILLINGS_EXPECTED, faults)
        for token in tokens:
            fillings = fillings_by_token.setdefault(token, {})
            for line in lines:
                fillings.setdefault(line.text, Filling(line.text, str(file), line.number))
    for token, fillings in fillings_by_token.items():
        for text, similar in similar_names(fillings, normal_form):
            filling, earlier = fillings[text], fillings[similar]
            problem = (
                f"{text!r} is {similar!r} of {earlier.file}, line {earlier.line}, in a "
                "different Unicode normal form"
            )
            expected = f"each filling of {token!r} once, or all in the normal form NFC"
            faults.append(Fault(filling.file, f"line {filling.line}", problem, expected))
    fillings_by_name = {
        token: list(fillings.values()) for token, fillings in fillings_by_token.items()
    }
    return Fillings(fillings_by_name, complete=len(faults) == before, named=path is not None)


def files_with_tokens(path: Path | None) -> Iterator[tuple[Path, list[str]]]:
    """Yields files of fillings in sorted order, each with the tokens that it fills.

    Args:
        path: a folder, of which dot-files and dot-folders are left out, or a single file; None
            for no files.
    """
    if path is None:
        return
    if not path.is_dir():
        yield path, [path.stem]
        return
    for file in sorted(path.rglob("*")):
        place = file.relative_to(path)
        is_hidden = any(part.startswith(".") for part in place.parts)
        if file.is_file() and not is_hidden:
            # A folder may have the name of a file in it.
            yield file, list(dict.fromkeys([*place.parent.parts, place.stem]))


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


# Plan


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
        from biasgrid.families.counterfactual.ask import cases_of_sample

        chosen = cases_of_sample(self.pack, self.pack.sample)
        instances = 0
        for block in self.pack.blocks:
            cases = chosen[block.first_case : block.first_case + block.cases]
            instances += int(cases.sum()) * block.terms
        return instances

    def sample(self, count: int) -> list[InstanceTexts]:
        """Returns the texts of about `count` instances of cases spread evenly over the pack.

        The text is the first input, and the candidates are the targets.
        """
        from biasgrid.families.counterfactual.ask import candidates_of, expand_cases

        steps = min(SAMPLED_CASES, self.pack.cases)
        rows: list[InstanceTexts] = []
        for step in range(steps):
            case = self.pack.cases * step // steps
            instances = expand_cases(self.pack, case, case + 1)
            columns = instances.select("text_pair", "text", *candidates_of(self.pack))
            every = max(1, len(instances) * steps // count)
            for context, text, *candidates in columns.gather_every(every).rows():
                targets = [word for word in candidates if word is not None]
                # Tokenizers differ in how they write the mask. Any word can replace that token.
                rows.append((context or "", text.replace(MASK_TOKEN, "it"), targets, ""))
        return rows

    def parts(self, part_count: int, part_size: int) -> list[list[InstanceTexts]]:
        """Returns a sample as one part: no model that is asked cases reads several together."""
        return [self.sample(part_size)]
