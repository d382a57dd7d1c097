"""Reads bias types with their groups and identity terms from JSON, and says what is wrong with them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of
from biasgrid.base.names import SPACING, fold_name, similar_names, spacing_problem
from biasgrid.base.text import read_json
from biasgrid.families.counterfactual.pack import CASE_PLACEHOLDER, JOIN, MASK_TOKEN

JSON_TYPES: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "a truth value",
    int: "an integer",
    float: "a fraction",
    type(None): "null",
}
GroupTerms = dict[str, list[str]]


def read_biases(path: Path, chosen: Sequence[str] | None, faults: list[Fault]) -> dict[str, GroupTerms]:
    """Reads `{bias type: {group: [identity term, ...]}}`; adds what is wrong to the faults.

    Args:
        path: the file.
        chosen: which bias types to return, in the order of the file; None for all.
        faults: where to add what is wrong.
    """
    content = read_object(path, "an object of bias types: {bias type: {group: [identity term, ...]}}", faults)
    if content is None:
        return {}
    if not content:
        faults.append(Fault(str(path), "", "no bias types", "at least one bias type"))
    check_names(str(path), "", "bias type", content, faults)
    for name in chosen or ():
        if name not in content:
            faults.append(
                Fault(str(path), "", f"has no bias type {name!r}{nearest_name(name, content)}", one_of(content))
            )
    biases = {name: read_groups_of_bias(str(path), name, groups, faults) for name, groups in content.items()}
    return {name: groups for name, groups in biases.items() if chosen is None or name in chosen}


def read_groups_of_bias(file: str, bias_type: str, content: Any, faults: list[Fault]) -> GroupTerms:
    """Reads the groups of a bias type."""
    if not isinstance(content, dict):
        faults.append(Fault(file, bias_type, f"is {json_type(content)}", "an object: {group: [identity term, ...]}"))
        return {}
    if len(content) < 2:
        count = f"{len(content)} group{'' if len(content) == 1 else 's'}"
        faults.append(Fault(file, bias_type, count, "at least two groups to compare"))
    check_names(file, bias_type, "group", content, faults)
    groups = {group: read_terms(file, f"{bias_type}.{group}", terms, faults) for group, terms in content.items()}
    group_of: dict[str, str] = {}
    for group, terms in groups.items():
        for term in dict.fromkeys(map(fold_name, terms)):
            other = group_of.setdefault(term, group)
            if other != group:
                problem = f"the term {as_json(term)} is in the group {as_json(other)} too"
                faults.append(Fault(file, f"{bias_type}.{group}", problem, "every term in one group of a bias type"))
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
            faults.append(Fault(file, where, f"{as_json(term)} appears {count} times", "every term once in a group"))
    return terms


def term_problem(term: Any) -> str | None:
    """Words what keeps a value from being an identity term, whatever it is called."""
    if not isinstance(term, str):
        return f"is {json_type(term)}"
    if MASK_TOKEN in term:
        return f"{as_json(term)} holds a mask"
    return f"{as_json(term)} holds a placeholder, which nothing fills" if CASE_PLACEHOLDER.search(term) else None


def check_names(file: str, where: str, what: str, names: Iterable[str], faults: list[Fault]) -> None:
    """Reports names that look like others, and those that could be mistaken for names of an intersection."""
    check_alike(file, where, what, names, faults)
    for name in names:
        # At the end of a name the sign would make a join with the one that follows it.
        if JOIN in f" {name} ":
            expected = f"none there: {JOIN!r} joins the parts of an intersection"
            faults.append(Fault(file, where, f"the {what} {as_json(name)} holds & as a word", expected))
        elif problem := spacing_problem(name):
            faults.append(Fault(file, where, f"the {what} {as_json(name)} {problem}", SPACING))


def check_alike(file: str, where: str, what: str, names: Iterable[str], faults: list[Fault]) -> None:
    """Reports names that are others but for case or their normal form."""
    for name, other in similar_names(names):
        problem = f"the {what} {as_json(name)} is {as_json(other)} but for case or normal form"
        faults.append(Fault(file, where, problem, f"every {what} once"))


def check_group_tokens(file: str, biases: dict[str, GroupTerms], tokens: Collection[str], faults: list[Fault]) -> None:
    """Reports terms that hold what other terms replace."""
    for bias_type, groups in biases.items():
        for group, terms in groups.items():
            for term in terms:
                # What has the form of a placeholder is reported as one.
                held = [token for token in tokens if token in term and not CASE_PLACEHOLDER.search(term)]
                for token in held:
                    problem = f"the term {as_json(term)} holds the group token {token}"
                    faults.append(Fault(file, f"{bias_type}.{group}", problem, "terms without group tokens"))


def json_type(value: Any) -> str:
    """Names the JSON type of a value."""
    return JSON_TYPES[type(value)]


def as_json(value: Any) -> str:
    """Returns a value as JSON has it, for a fault's problem."""
    return json.dumps(value, ensure_ascii=False)


def read_object(path: Path, expected: str, faults: list[Fault]) -> dict[str, Any] | None:
    """Reads a JSON file that holds an object; returns None where it does not, and adds why to the faults."""
    try:
        content = read_json(path, expected)
    except InputError as error:
        faults += error.faults
        return None
    if isinstance(content, dict):
        return content
    faults.append(Fault(str(path), "", f"holds {json_type(content)}", expected))
    return None
