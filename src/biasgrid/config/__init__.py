"""The config: what may stand in it, and what is wrong with one."""

from biasgrid.config.reading import load_word_lists, parse_config, read_config
from biasgrid.config.sections import Config

__all__ = ["Config", "load_word_lists", "parse_config", "read_config"]
