"""What mkdocs makes the site of: every document where it stands in the repository, and the files
they link to.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

FOLDERS = ("docs", "config", "word_lists", "benchmarks", "tests")
"""Where documents are, besides the top."""
LINK = re.compile(r"\]\(([^)#:\s]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replaces the files of `docs/` by those of the repository, so that links lead where they lead
    there.
    """
    root = Path(config.config_file_path).parent
    documents = [
        *root.glob("*.md"),
        *(path for folder in FOLDERS for path in root.glob(f"{folder}/**/*.md")),
    ]
    linked = {
        (path.parent / link).resolve()
        for path in documents
        for link in LINK.findall(path.read_text())
    }
    shown = {*documents, *(path for path in linked if path.is_file() and path.is_relative_to(root))}
    of_theme = [file for file in files if not str(file.abs_src_path).startswith(config.docs_dir)]
    own = [
        File.generated(config, str(path.relative_to(root)), abs_src_path=str(path))
        for path in sorted(shown)
    ]
    return Files([*of_theme, *own])
