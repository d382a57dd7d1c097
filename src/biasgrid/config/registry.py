"""What a config can name: families of datasets, back ends and figures, those here, installed ones
and plugins.

Families of biasgrid itself are entry points of one group with those of other packages.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from pydantic import create_model

from biasgrid.base.faults import Fault, InputError, Problem, UserError, one_of
from biasgrid.base.references import RUNS, how_it_ends, load, load_reference, stage
from biasgrid.base.sections import Model, ModelSource
from biasgrid.families.family import STAGES, SYNTHETIC_STAGE, Family
from biasgrid.inference.models.registry import BACK_ENDS, SOURCES, RegistryEntry
from biasgrid.report.figures.registry import figures

Key = TypeVar("Key")
Addition = TypeVar("Addition")
PLUGINS = "biasgrid.plugins"
"""The group of entry points whose values are the modules of families and of installed plugins."""
DISTRIBUTION = "biasgrid"
PROJECT_FILE = Path(__file__).parents[3] / "pyproject.toml"
"""The file that declares the entry points of biasgrid itself, in a checkout."""


@dataclass(frozen=True)
class Registry:
    """What a config can name.

    Attributes:
        families: the references of families, by name.
        back_ends: where back ends are, by task and source.
        figures: the references of figures of plugins, by name; others are those of
            `biasgrid.report.figures.registry`.
    """

    families: Mapping[str, str]
    back_ends: Mapping[tuple[str, str], RegistryEntry]
    figures: Mapping[str, str]

    def family(self, name: str) -> Family:
        """Returns the light half of a family."""
        family: Family = load(stage(self.families[name], "family")).FAMILY
        return family

    def model_section(self, task: str) -> type[Model]:
        """Returns the section of models of a task; an unknown task has no keys of its own."""
        entries = [entry for (served, _), entry in self.back_ends.items() if served == task]
        section: type[Model] = next(
            (load_reference(entry.section) for entry in entries if entry.section), Model
        )
        sources = [
            *map(SOURCES.__getitem__, section.SOURCES),
            *(entry.source for entry in entries if entry.source),
        ]
        distinct = dict.fromkeys(sources)
        return (
            section_with_sources(section, tuple(map(load_reference, distinct)))
            if sources
            else section
        )

    @property
    def tasks(self) -> list[str]:
        """The tasks that back ends serve."""
        return list(dict.fromkeys(task for task, _ in self.back_ends))

    def figure(self, name: str) -> str:
        """Returns the reference of a figure."""
        return self.figures.get(name) or figures()[name]


@cache
def section_with_sources(
    section: type[Model], sources: tuple[type[ModelSource], ...]
) -> type[Model]:
    """Returns a section of models with the keys of what they may come from."""
    fields: dict[str, Any] = {
        key: field for source in sources for key, field in source.fields.items()
    }
    whole = create_model(section.__name__, __base__=section, __doc__=section.__doc__, **fields)
    whole.sources = sources
    return whole


def registry_of(plugins: Sequence[str], source: str) -> Registry:
    """Returns what is built in, with what plugins add to it.

    Args:
        plugins: the paths of Python files and packages that a config names.
        source: the config's file, for messages.

    Raises:
        InputError: with every plugin that cannot be used, and why.
        UserError: biasgrid's own families are not installed.
    """
    if not BUILT_IN.families:
        raise UserError(
            f"{Path(__file__).parents[1]} is a copy of biasgrid without its entry points, so it "
            "finds no family of datasets; install it with pip, or run it from a checkout that has "
            "its pyproject.toml"
        )
    others = [
        entry
        for entry in entry_points(group=PLUGINS)
        if not entry.dist or entry.dist.name != DISTRIBUTION
    ]
    installed = [(entry.value, f"entry point {entry.name}") for entry in others]
    named = [(path, f"plugins[{place}]") for place, path in enumerate(plugins)]
    families, back_ends, figures = (
        dict(BUILT_IN.families),
        dict(BUILT_IN.back_ends),
        dict[str, str](),
    )
    faults: list[Fault] = []
    for reference, key in [*installed, *named]:
        try:
            plugin = Plugin(reference, import_plugin(reference))
            plugin.check()
            add_to_registry(families, plugin.families(), "a family")
            add_to_registry(back_ends, plugin.back_ends(), "a back end")
            add_to_registry(figures, plugin.figures(), "a figure")
        except PluginError as error:
            faults.append(Fault(source, key, f"{reference!r} {error.problem}", error.expected))
    if faults:
        raise InputError(faults)
    return Registry(families, back_ends, figures)


class PluginError(Problem):
    """What is wrong with a plugin."""


def import_plugin(reference: str) -> ModuleType:
    """Imports the light half of a plugin: of a package its module `family`, if it has one."""
    part = stage(reference, "family")
    try:
        return load(
            part
            if part == reference or not part.endswith(".py") or Path(part).is_file()
            else reference
        )
    except ImportError as error:
        if part.endswith(".py") and not Path(reference).exists():
            raise PluginError("does not exist", "the path of a Python file or package") from None
        raise PluginError(
            f"cannot be imported ({error})", "code that can be imported here"
        ) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plugin may raise anything, and end the program
        raise PluginError(how_it_ends(error, "while it is being imported"), RUNS) from error


@dataclass(frozen=True)
class Plugin:
    """A module that holds a family, a back end, a figure, or several of them.

    Attributes:
        reference: the module's reference.
        module: the module.
    """

    reference: str
    module: ModuleType

    def check(self) -> None:
        """Refuses a plugin that lacks a part.

        Raises:
            PluginError: with the part.
        """
        family = getattr(self.module, "FAMILY", None)
        if family is not None and not isinstance(family, Family):
            raise PluginError(
                f"has a FAMILY of the type {type(family).__name__}",
                "an object of a subclass of Family",
            )
        if not (self.families() or self.back_ends() or self.figures()):
            raise PluginError(
                "defines nothing that biasgrid can use", "FAMILY, BACK_ENDS or a function `figure`"
            )
        for entry in self.back_ends().values():
            self.check_class(entry.section, Model)
            self.check_class(entry.source, ModelSource)
        if isinstance(family, Family):
            for part, names in (STAGES | (SYNTHETIC_STAGE if family.is_synthetic else {})).items():
                self.check_stage(part, names)
        if self.figures() and not hasattr(self.module, "CAPTION"):
            raise PluginError(
                "has a figure without a CAPTION", "text that says what the figure shows"
            )

    def check_class(self, path: str, kind: type) -> None:
        """Refuses an entry that names a class which is not there, or not of the kind that it must
        be.
        """
        found = (
            getattr(load(path.rpartition(":")[0]), path.rpartition(":")[2], None) if path else kind
        )
        if not (isinstance(found, type) and issubclass(found, kind)):
            raise PluginError(
                f"names {path}", f"a subclass of {kind.__name__}: see docs/extending.md"
            )
        if unknown := [name for name in getattr(found, "SOURCES", ()) if name not in SOURCES]:
            raise PluginError(
                f"names {path}, whose SOURCES includes {unknown[0]!r}",
                f"{one_of(SOURCES)}, or none at all",
            )

    def check_stage(self, part: str, names: Iterable[str]) -> None:
        """Refuses a family without one of its functions, which are not imported for that."""
        reference = stage(self.reference, part)
        there = (
            top_names(Path(reference)) if reference.endswith(".py") else set(dir(load(reference)))
        )
        for name in names:
            if name not in there:
                raise PluginError(f"lacks `{name}`", f"it in {reference}: see docs/extending.md")

    def families(self) -> dict[str, str]:
        """Returns the reference of its family, by name."""
        family = getattr(self.module, "FAMILY", None)
        return {family.name: self.reference} if isinstance(family, Family) else {}

    def back_ends(self) -> dict[tuple[str, str], RegistryEntry]:
        """Returns its back ends, by task and source."""
        entries: Mapping[tuple[str, str], RegistryEntry] = getattr(self.module, "BACK_ENDS", {})
        return {key: entry.relative_to(self.reference) for key, entry in entries.items()}

    def figures(self) -> dict[str, str]:
        """Returns the reference of its figure, which is called like its file."""
        return {Path(self.reference).stem: self.reference} if hasattr(self.module, "figure") else {}


def top_names(file: Path) -> set[str]:
    """Returns the names that a Python file defines or imports at its top, none where there is no
    file.

    Raises:
        PluginError: it is not Python.
    """
    if not file.is_file():
        return set()
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise PluginError(
            f"includes {file}, which is not Python ({error})", "valid Python"
        ) from None
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def own_entry_points() -> list[EntryPoint]:
    """Returns the entry points of biasgrid itself.

    A checkout reads them in its `pyproject.toml`, since what was installed of it may be older; an
    installed package has them in its metadata.
    """
    project = (
        tomllib.loads(PROJECT_FILE.read_text("utf-8")).get("project", {})
        if PROJECT_FILE.is_file()
        else {}
    )
    if project.get("name") == DISTRIBUTION:
        return [
            EntryPoint(name, module, PLUGINS)
            for name, module in project["entry-points"][PLUGINS].items()
        ]
    try:
        return list(distribution(DISTRIBUTION).entry_points.select(group=PLUGINS))
    except PackageNotFoundError:
        return []


def add_to_registry(known: dict[Key, Addition], more: Mapping[Key, Addition], what: str) -> None:
    """Adds what a plugin has, unless there is one of that name."""
    for name, value in more.items():
        if name in known:
            raise PluginError(
                f"defines {what} called {name!r}, a name that is already taken", "a unique name"
            )
        known[name] = value


def built_in_families() -> dict[str, str]:
    """Returns the references of biasgrid's own families by name, each in the place that it says it
    has in documents.
    """
    own = [Plugin(point.value, import_plugin(point.value)) for point in own_entry_points()]
    ordered = sorted(own, key=lambda plugin: plugin.module.FAMILY.place)
    return {name: reference for plugin in ordered for name, reference in plugin.families().items()}


BUILT_IN = Registry(built_in_families(), BACK_ENDS, {})
