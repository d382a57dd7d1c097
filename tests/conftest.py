from __future__ import annotations

import gc
import os
import sys
from asyncio import events
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
import typer.testing
from needs import chromium as needed_chromium
from needs import refuse_skip
from shared import made_once

# What takes long to import is imported where it is needed: most tests need no model and no browser.
if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from shards import Cell

# Lines of commands are as wide as they need, however wide the terminal is.
os.environ.pop("COLUMNS", None)
# The command line is put together once, and not each time that a test runs a command: that takes
# longer than most do.
typer.testing._get_command = cache(typer.testing._get_command)

# No test reads what another run, or the user, has found out about a model.
_cache = TemporaryDirectory(prefix="biasgrid-cache-")
os.environ["BIASGRID_CACHE"] = _cache.name

SLOW_FIXTURES = {"chromium", "serve", "tiny_checkpoint", "writer", "base", "folders"}


def pytest_pycollect_makemodule(module_path: Path) -> None:
    """Before a module of properties is imported: how long an example takes is the machine's
    affair.
    """
    if "hypothesis" in module_path.read_text(encoding="utf-8"):
        from hypothesis import settings

        settings.register_profile("untimed", deadline=None)
        settings.load_profile("untimed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that need a browser, a server or a checkpoint."""
    for item in items:
        if isinstance(item, pytest.Function) and SLOW_FIXTURES & {*item.fixturenames}:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """What all tests have imported is not looked at by each garbage collection, of which a training
    asks for one.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Between its calls Playwright leaves its event loop marked as running, so that no other test
    could run one.
    """
    running = events._get_running_loop()
    if "chromium" not in getattr(item, "fixturenames", ()):
        events._set_running_loop(None)
    try:
        return (yield)
    finally:
        events._set_running_loop(running or events._get_running_loop())


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A module that is skipped as a whole fails where everything is required."""
    return refuse_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that is skipped fails where everything is required."""
    return refuse_skip((yield))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Models this small are slower on several threads."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Gives the folder of a tiny checkpoint of an architecture for a task, made at its first
    use.
    """
    from tiny_checkpoints import save_checkpoint

    @cache
    def make(architecture: str, task: str) -> Path:
        return made_once(
            tmp_path_factory, f"{architecture}-{task}", partial(save_checkpoint, architecture, task)
        )

    return make


@pytest.fixture
def general(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, with the family of docs/guide/extending.md for any model: no built-in one
    is asked.
    """
    from extending import write_family_of_all

    write_family_of_all(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cell(tmp_path: Path, tiny_checkpoint: Callable[[str, str], Path]) -> Callable[[str, str], Cell]:
    """Gives a cell of a tiny checkpoint and 48 instances."""
    from shards import Cell
    from tiny_checkpoints import instances_for
    from transformers import AutoTokenizer

    def make(architecture: str, task: str) -> Cell:
        checkpoint = tiny_checkpoint(architecture, task)
        mask = AutoTokenizer.from_pretrained(checkpoint).mask_token
        instances = instances_for(task, mask if task == "fill-mask" else None)
        return Cell(tmp_path / "cell", task, instances, checkpoint)

    return make


@pytest.fixture
def case_cell(tmp_path: Path, tiny_checkpoint: Callable[[str, str], Path]) -> Callable[..., Cell]:
    """Gives a cell of a tiny checkpoint that is asked the given texts."""
    from shards import Cell, asked

    def make(architecture: str, task: str, rows: Sequence[dict[str, Any]]) -> Cell:
        return Cell(tmp_path / "cell", task, asked(rows), tiny_checkpoint(architecture, task))

    return make


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of pages: a process cannot have a second one."""
    needed_chromium.require()
    from browser import browser

    with browser() as started:
        yield started
