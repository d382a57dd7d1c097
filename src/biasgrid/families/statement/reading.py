"""Reads a pack of statements: templates and the domains of their parameters."""

from __future__ import annotations

from biasgrid.base.faults import Fault
from biasgrid.families.statement.packs.checks import nothing_left, template_faults
from biasgrid.families.statement.packs.domains import read_domains
from biasgrid.families.statement.packs.pack import Pack, PackFiles
from biasgrid.families.statement.packs.templates import negations_of, read_table, templates_of

MOST_INSTANCES = 2**32 - 1


def read(files: PackFiles) -> tuple[Pack, list[Fault]]:
    """Reads the files of a dataset and returns them with every fault that is in them.

    Files that are read as APES reads them have no fault but those at which it fails itself.
    """
    faults: list[Fault] = []
    domains = read_domains(files.domains, files.as_original, faults)
    table = read_table(files.templates, files.as_original, faults)
    templates = templates_of(table, domains, files.as_original, faults)
    negations = negations_of(table, templates, files.as_original, faults)
    known = all(domain in domains for template in templates for domain in template.domains)
    pack = Pack(table.parameters, domains, tuple(templates), negations, files)
    if known and not files.as_original:
        faults += template_faults(table, pack)
    if known and files.repetitions * sum(map(pack.combinations, templates)) > MOST_INSTANCES:
        faults.append(Fault(table.file, "", f"more than {MOST_INSTANCES:,} statements", "fewer parameters or values"))
    if not table.rows and not faults:
        faults.append(Fault(table.file, "", "holds no templates", "a template in each row"))
    if not faults and not files.as_original:
        faults += nothing_left(table, pack)
    return pack, list(dict.fromkeys(faults))
