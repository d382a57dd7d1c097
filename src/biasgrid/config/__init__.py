"""The config: its keys, what it can name, and its faults."""

from biasgrid.config.paths import ConfigFolders
from biasgrid.config.reading import (
    clusters_of_variant,
    days_as_text,
    digest_of_templates,
    load_config,
    load_word_lists,
    parse_config,
    read_config,
    read_document,
    texts_of_templates,
)
from biasgrid.config.sections import Config

__all__ = [
    "Config",
    "ConfigFolders",
    "clusters_of_variant",
    "days_as_text",
    "digest_of_templates",
    "load_config",
    "load_word_lists",
    "parse_config",
    "read_config",
    "read_document",
    "texts_of_templates",
]
