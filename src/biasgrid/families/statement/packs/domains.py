"""Reads domains: files with a value and its class in each line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.names import alike
from biasgrid.base.text import read_text, readable
from biasgrid.families.statement.packs.pack import UNUSED, Value
from biasgrid.families.texts import SPACING, spacing_problem

FORM = "a value and its class, with a comma between them"
FOLDER = "a folder of domains, files with a value and its class in each line"
Domains = Mapping[str, tuple[Value, ...]]


def read_domains(folder: Path, as_original: bool, faults: list[Fault]) -> Domains:
    """Reads the domains of a folder, by the names of their files without the last ending.

    Args:
        folder: the folder.
        as_original: whether lines are read as APES reads them: fields behind the class are ignored, and values that
            stand twice are kept twice.
        faults: takes what is wrong.

    Returns:
        The domains, and that of parameters that a template leaves out.
    """
    domains: dict[str, tuple[Value, ...]] = {UNUSED: (Value("", ""),)}
    try:
        with readable(folder, FOLDER):
            files = sorted(path for path in folder.iterdir() if not (path.name.startswith(".") or path.is_dir()))
    except InputError as error:
        faults += error.faults
        return domains
    for file in files:
        domain = file.stem
        if domain in domains:
            faults.append(Fault(str(file), "", f"is a second file of the domain {domain!r}", "one file a domain"))
        domains[domain] = read_domain(file, as_original, faults)
    return domains


def read_domain(file: Path, as_original: bool, faults: list[Fault]) -> tuple[Value, ...]:
    """Reads a domain and reports what is wrong with its lines."""
    try:
        lines = read_text(file, "a domain: " + FORM).split("\n")
    except InputError as error:
        faults += error.faults
        return ()
    if not lines[-1]:
        del lines[-1]
    values: list[Value] = []
    for number, line in enumerate(lines, start=1):
        fields = [field.strip() for field in line.split(",")]
        if len(fields) < 2:
            problem = f"{line!r} has no class" if line.strip() else "is blank"
            faults.append(Fault(str(file), f"line {number}", problem, FORM))
            continue
        value = Value(fields[0], fields[1])
        if not as_original:
            faults += value_faults(str(file), number, fields, [each.name for each in values])
        values.append(value)
    if not as_original:
        for what, names in {"value": [each.name for each in values], "class": [each.group for each in values]}.items():
            for name, other in alike(names):
                problem = f"the {what} {name!r} is {other!r} but for case or normal form"
                faults.append(Fault(str(file), "", problem, f"every {what} spelled alike"))
    return tuple(values)


def value_faults(file: str, number: int, fields: list[str], earlier: list[str]) -> list[Fault]:
    """Returns what is wrong with a line of a domain that APES would take."""
    where = f"line {number}"
    if len(fields) > 2:
        return [Fault(file, where, f"{len(fields)} fields", FORM)]
    wrong = [(text, spacing_problem(text)) for text in fields]
    found = [Fault(file, where, f"{text!r} {problem}", SPACING) for text, problem in wrong if problem]
    if fields[0] in earlier:
        found.append(Fault(file, where, f"{fields[0]!r} appears twice", "every value once"))
    if "#" in fields[0]:
        found.append(Fault(file, where, f"{fields[0]!r} holds #, which marks parameters", "a value without it"))
    return found
