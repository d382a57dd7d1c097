"""Families of datasets, back ends and figures that a config can name: built in or of plugins.

Families of biasgrid itself are entry points, in the same group as those of other packages.
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
from biasgrid.base.references import (
    RUNS,
    describe_failure,
    exists,
    load,
    load_reference,
    stage_module,
)
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
    """The families, back ends and figures that a config can name.

    Attributes:
        families: the references of families, by name.
        back_ends: the entries of back ends, by task and source.
        figures: the references of plugins' figures, by name. The other figures are in
            `biasgrid.report.figures.registry`.
    """

    families: Mapping[str, str]
    back_ends: Mapping[tuple[str, str], RegistryEntry]
    figures: Mapping[str, str]

    def family(self, name: str) -> Family:
        """Returns a family's object `FAMILY`; only its light half is imported."""
        family: Family = load(stage_module(self.families[name], "family")).FAMILY
        return family

    def model_section(self, task: str | None) -> type[Model]:
        """Returns the section of models of a task; for None and unknown tasks, the common one."""
        entries = [entry for (key, _), entry in self.back_ends.items() if key == task]
        section: type[Model] = Model
        for entry in entries:
            if entry.section:
                section = load_reference(entry.section)
                break
        references = [SOURCES[name] for name in section.SOURCES]
        references += [entry.source for entry in entries if entry.source]
        if not references:
            return section
        sources = tuple(map(load_reference, dict.fromkeys(references)))
        return section_with_sources(section, sources)

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
    """Returns a section of models with the keys of their possible sources."""
    fields: dict[str, Any] = {}
    for source in sources:
        fields |= source.fields
    whole = create_model(section.__name__, __base__=section, __doc__=section.__doc__, **fields)
    whole.sources = sources
    return whole


def load_registry(plugins: Sequence[str], source: str) -> Registry:
    """Returns the built-in families, back ends and figures, with those of plugins.

    Args:
        plugins: the paths of Python files and packages that a config names.
        source: the config's file, for messages.

    Raises:
        InputError: with every plugin that cannot be used, and the reason.
        UserError: biasgrid's own families are not installed.
    """
    if not BUILT_IN.families:
        raise UserError(
            f"{Path(__file__).parents[1]} is a copy of biasgrid without its entry points, so it "
            "finds no family of datasets; install it with pip, or run it from a checkout that has "
            "its pyproject.toml"
        )
    references = []
    for entry in entry_points(group=PLUGINS):
        # Families of biasgrid itself are built in.
        if not entry.dist or entry.dist.name != DISTRIBUTION:
            references.append((entry.value, f"entry point {entry.name}"))
    references += [(path, f"plugins[{place}]") for place, path in enumerate(plugins)]
    families, back_ends = dict(BUILT_IN.families), dict(BUILT_IN.back_ends)
    figures: dict[str, str] = {}
    faults: list[Fault] = []
    for reference, key in references:
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
    """A reason why a plugin cannot be used."""


def import_plugin(reference: str) -> ModuleType:
    """Imports the light half of a plugin: the module `family` of a package that has it.

    Raises:
        PluginError: the plugin does not exist, cannot be imported, or fails while it is imported.
    """
    part = stage_module(reference, "family")
    has_family = not part.endswith(".py") or Path(part).is_file()
    try:
        return load(part if has_family else reference)
    except ImportError as error:
        if part.endswith(".py") and not Path(reference).exists():
            raise PluginError("does not exist", "the path of a Python file or package") from None
        problem, expected = f"cannot be imported ({error})", "code that can be imported here"
        raise PluginError(problem, expected) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plugin may raise anything, and end the program
        raise PluginError(describe_failure(error, "while it is being imported"), RUNS) from error


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
            problem = f"has a FAMILY of the type {type(family).__name__}"
            raise PluginError(problem, "an object of a subclass of Family")
        if not (self.families() or self.back_ends() or self.figures()):
            raise PluginError(
                "defines nothing that biasgrid can use", "FAMILY, BACK_ENDS or a function `figure`"
            )
        for entry in self.back_ends().values():
            self.check_class(entry.section, Model)
            self.check_class(entry.source, ModelSource)
        if isinstance(family, Family):
            stages = STAGES | SYNTHETIC_STAGE if family.is_synthetic else STAGES
            for part, names in stages.items():
                self.check_stage(part, names)
        if self.figures() and not hasattr(self.module, "CAPTION"):
            raise PluginError(
                "has a figure without a CAPTION", "text that says what the figure shows"
            )

    def check_class(self, path: str, kind: type) -> None:
        """Refuses a reference to a class that does not exist or is of the wrong kind.

        Args:
            path: the reference, `module:name`; empty if the entry names no class.
            kind: the class of which it must be a subclass.
        """
        if not path:
            return
        module, _, name = path.rpartition(":")
        named_class = getattr(load(module), name, None) if exists(module) else None
        if not (isinstance(named_class, type) and issubclass(named_class, kind)):
            expected = f"a subclass of {kind.__name__}: see docs/extending.md"
            raise PluginError(f"names {path}", expected)
        for source in getattr(named_class, "SOURCES", ()):
            if source not in SOURCES:
                problem = f"names {path}, whose SOURCES includes {source!r}"
                raise PluginError(problem, f"{one_of(SOURCES)}, or none at all")

    def check_stage(self, part: str, function_names: Iterable[str]) -> None:
        """Refuses a family that lacks the module of a stage, or a name in it.

        Files are parsed, modules of installed packages imported.

        Args:
            part: the stage, a key of `STAGES` or `SYNTHETIC_STAGE`.
            function_names: the names that the module must define.

        Raises:
            PluginError: with the first name that is missing, also if the whole module is.
        """
        reference = stage_module(self.reference, part)
        if reference.endswith(".py"):
            defined = top_names(Path(reference))
        elif exists(reference):
            defined = set(dir(load(reference)))
        else:
            defined = set()
        for name in function_names:
            if name not in defined:
                raise PluginError(f"lacks `{name}`", f"it in {reference}: see docs/extending.md")

    def families(self) -> dict[str, str]:
        """Returns the reference of its family, by name."""
        family = getattr(self.module, "FAMILY", None)
        return {family.name: self.reference} if isinstance(family, Family) else {}

    def back_ends(self) -> dict[tuple[str, str], RegistryEntry]:
        """Returns its back ends, by task and source."""
        entries: Mapping[tuple[str, str], RegistryEntry] = getattr(self.module, "BACK_ENDS", {})
        return {key: entry.with_reference(self.reference) for key, entry in entries.items()}

    def figures(self) -> dict[str, str]:
        """Returns the reference of its figure, which is called like its file."""
        return {Path(self.reference).stem: self.reference} if hasattr(self.module, "figure") else {}


def top_names(file: Path) -> set[str]:
    """Returns the names that a Python file defines or imports at its top; empty without a file.

    Raises:
        PluginError: it is not Python.
    """
    if not file.is_file():
        return set()
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError) as error:
        problem = f"includes {file}, which is not Python ({error})"
        raise PluginError(problem, "valid Python") from None
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

    A checkout reads them in its `pyproject.toml`, since its installed metadata may be older. An
    installed package has them in its metadata.
    """
    project: dict[str, Any] = {}
    if PROJECT_FILE.is_file():
        project = tomllib.loads(PROJECT_FILE.read_text("utf-8")).get("project", {})
    if project.get("name") == DISTRIBUTION:
        modules = project["entry-points"][PLUGINS]
        return [EntryPoint(name, module, PLUGINS) for name, module in modules.items()]
    try:
        return list(distribution(DISTRIBUTION).entry_points.select(group=PLUGINS))
    except PackageNotFoundError:
        return []


def add_to_registry(
    entries: dict[Key, Addition], additions: Mapping[Key, Addition], noun: str
) -> None:
    """Adds families, back ends or figures of a plugin; raises PluginError if a name is taken.

    Args:
        entries: the registry's entries; modified in place.
        additions: the plugin's entries.
        noun: a noun for them with its article, for messages.
    """
    for name, value in additions.items():
        if name in entries:
            problem = f"defines {noun} called {name!r}, a name that is already taken"
            raise PluginError(problem, "a unique name")
        entries[name] = value


def built_in_families() -> dict[str, str]:
    """Returns the references of biasgrid's own families by name, in the order of documents."""
    plugins = [Plugin(point.value, import_plugin(point.value)) for point in own_entry_points()]
    families: dict[str, str] = {}
    for plugin in sorted(plugins, key=lambda plugin: plugin.module.FAMILY.place):
        families |= plugin.families()
    return families


BUILT_IN = Registry(built_in_families(), BACK_ENDS, {})
