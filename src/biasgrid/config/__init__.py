"""The config: its keys, what it can name, and its faults."""

from biasgrid.config.paths import ConfigFolders
from biasgrid.config.reading import (
    days_as_text,
    load_config,
    load_word_lists,
    parse_config,
    read_config,
    read_document,
    shared_template_texts,
    template_texts_digest,
    variant_clusters,
)
from biasgrid.config.sections import Config

__all__ = [
    "Config",
    "ConfigFolders",
    "days_as_text",
    "load_config",
    "load_word_lists",
    "parse_config",
    "read_config",
    "read_document",
    "shared_template_texts",
    "template_texts_digest",
    "variant_clusters",
]
