"""Schema and documentation of the config, generated from `biasgrid.config`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any, Literal

from pydantic import create_model

from biasgrid.base.sections import Model, Name, Section
from biasgrid.config.registry import BUILT_IN
from biasgrid.config.sections import Config
from biasgrid.families.family import DatasetSection
from biasgrid.inference.models.servers.section import ServerSettings
from biasgrid.tables.docs import markdown_table


def whole_config() -> type[Config]:
    """Returns a config whose fields have the sections of models and datasets as their types.

    `Config` looks sections up by task and family when it validates, so its own schema lacks them.
    """
    model_sections = dict.fromkeys(map(BUILT_IN.model_section, BUILT_IN.tasks))
    models = [section_with_tasks(section) for section in model_sections]
    families = [BUILT_IN.family(name).Section for name in BUILT_IN.families]
    model_field = Config.model_fields["models"]
    dataset_field = Config.model_fields["datasets"]
    fields: dict[str, Any] = {
        "models": (dict[Name, reduce(or_, models)], model_field),  # type: ignore[misc]
        "datasets": (dict[Name, reduce(or_, families)], dataset_field),  # type: ignore[misc]
    }
    return create_model("Config", __base__=Config, __doc__=Config.__doc__, **fields)


def section_with_tasks(section: type[Model]) -> type[Model]:
    """Returns a section of models with the tasks that it is for as the type of `task`."""
    task: Any = Literal[
        tuple(task for task in BUILT_IN.tasks if BUILT_IN.model_section(task) is section)
    ]
    return create_model(
        section.__name__,
        __base__=section,
        __doc__=section.__doc__,
        task=(task, section.model_fields["task"]),
    )


def config_schema() -> dict[str, Any]:
    """Returns the config's JSON schema, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **section_schema(whole_config()),
    }


def section_schema(section: type[Section]) -> dict[str, Any]:
    """Returns the JSON schema of a section; each paragraph of a description is one line."""
    schema = section.model_json_schema()
    for described in (schema, *schema.get("$defs", {}).values()):
        if "description" in described:
            paragraphs = described["description"].split("\n\n")
            described["description"] = "\n\n".join(map(joined_lines, paragraphs))
    return schema


def joined_lines(paragraph: str) -> str:
    """Returns the lines of a paragraph as one."""
    return " ".join(paragraph.split("\n"))


def key_tables() -> str:
    """Returns a table for the top level and each section of the config, in Markdown.

    Keys that several sections share have a table of their own, to which the others refer.
    """
    schema = section_schema(whole_config())
    common = {}
    for section in (ServerSettings, DatasetSection, Model):
        common[section.__name__] = section_schema(section)
    tables = [key_table("The top level", own_keys("The top level", schema, common))]
    for title, definition in sorted((common | schema["$defs"]).items()):
        tables.append(key_table(title, own_keys(title, definition, common)))
    return "\n".join(tables)


def own_keys(
    title: str, section: dict[str, Any], common: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    """Returns a section without the keys of a common section, to which its description refers.

    Args:
        title: the name of the section.
        section: its JSON schema.
        common: the JSON schemas of common sections, by name. The first whose keys the section has
            is taken.
    """
    properties = section["properties"]
    for name, base in common.items():
        if name == title or not properties.keys() >= base["properties"].keys():
            continue
        own = {}
        for key, entry in properties.items():
            if base["properties"].get(key) != entry:
                own[key] = entry
        link = f"[`{name}`](#{name.lower()})"
        description = f"{section['description']} It has the keys of {link} and these."
        return section | {"properties": own, "description": description}
    return section


def key_table(title: str, section: dict[str, Any]) -> str:
    """Returns the table of one section."""
    rows = []
    for key, entry in section["properties"].items():
        required = key in section.get("required", [])
        default = "required" if required else default_text(entry.get("default"))
        rows.append((f"`{key}`", type_text(entry), default, entry.get("description", "")))
    table = markdown_table(("key", "value", "default", "meaning"), rows)
    return f"### {title}\n\n{section.get('description', '')}\n\n{table}"


def default_text(value: Any) -> str:
    """Returns a default value in words."""
    if isinstance(value, dict) and value:
        return "those of its keys"
    if value in (None, {}):
        return "none"
    text = str(value).lower() if isinstance(value, bool) else str(value).replace("\n", "\\n")
    return f"`{text}`"


def type_text(entry: dict[str, Any]) -> str:
    """Returns the type of a key in words, from a JSON schema."""
    if "$ref" in entry:
        _, section = entry["$ref"].rsplit("/", 1)
        return f"section {section}"
    options = entry.get("anyOf", entry.get("oneOf"))
    if options is not None:
        # A key that may be null is optional, which its default says.
        types = [type_text(option) for option in options if option.get("type") != "null"]
        return " or ".join(types)
    if "const" in entry:
        return f"`{entry['const']}`"
    if "enum" in entry:
        return ", ".join(f"`{value}`" for value in entry["enum"])
    if entry["type"] == "array":
        return f"list of {type_text(entry['items'])}"
    if entry["type"] == "object":
        return mapping_text(entry)
    return str({"string": "text", "boolean": "true or false"}.get(entry["type"], entry["type"]))


def mapping_text(entry: dict[str, Any]) -> str:
    """Returns the type of a mapping in words, from its JSON schema."""
    values: dict[str, Any] = entry.get("additionalProperties", {})
    if not values:
        # Pydantic writes constraints on keys as patterns.
        values = next(iter(entry.get("patternProperties", {}).values()), {})
    return f"mapping of names to {type_text(values)}" if values else "mapping"
