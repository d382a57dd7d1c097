"""Reads the prompts and groups of a dataset."""

from __future__ import annotations

from collections.abc import Iterator

from biasgrid.base.faults import Fault
from biasgrid.families.rewriting.asking import Asking, RewritingFiles
from biasgrid.families.rewriting.files.groups import read_groups
from biasgrid.families.rewriting.files.layouts import LAYOUTS, PLACE, read_layout
from biasgrid.families.rewriting.files.prompts import read_prompts


def read(files: RewritingFiles) -> tuple[Asking | None, list[Fault]]:
    """Reads what a dataset asks and returns it with every fault that is in its files."""
    if files.layout:
        prompts, faults = read_layout(files.prompts, files.layout)
    else:
        prompts, faults = read_prompts(files.prompts, files.column)
    template = files.template or (LAYOUTS[files.layout].template if files.layout else PLACE)
    prompts = [template.replace(PLACE, prompt) for prompt in prompts]
    groups, of_groups = read_groups(files.groups)
    faults += of_groups
    if groups is None or not prompts:
        return None, faults
    asking = Asking(files, tuple(prompts), groups)
    return asking, faults or list(nothing_to_rewrite(asking))


def nothing_to_rewrite(asking: Asking) -> Iterator[Fault]:
    """Yields that no text has a word of a group, so that there is nothing to compare."""
    if asking.usable:
        return
    example = next((word for row in asking.groups.rows for sought in row.sought for word in sought), "")
    expected = f"words of {', '.join(asking.groups.names)} in {asking.files.groups}, such as {example!r}"
    if asking.files.rewrite == "system":
        yield Fault("the config", "system", f"no word of a group in {asking.files.system!r}", expected)
    else:
        problem = f"no prompt of {len(asking.prompts):,} has a word of a group"
        yield Fault(str(asking.files.prompts), "", problem, expected)
