"""Probes that are classes of Python, for what YAML does not say; their code runs only where a config names the file."""

from __future__ import annotations

import runpy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biasgrid.base.faults import Problem
from biasgrid.base.references import RUNS, how_it_ends
from biasgrid.families.probe.files.section import Head, ItemKeys

if TYPE_CHECKING:
    import polars as pl


class ProbeClass:
    """A probe in Python: attributes of the names of a probe's keys, and its items.

    With the evaluator `own` its method `observe` observes an answer; metrics of the kind `own` are what its
    method `measure` returns.
    """

    def items(self) -> Iterable[ItemKeys]:
        """Returns the items."""
        raise NotImplementedError("the class has no method `items`")

    def observe(self, answer: str, keys: ItemKeys) -> str | float | None:
        """Returns the label or number of an answer, None where nothing is found.

        Args:
            answer: what the model wrote.
            keys: the keys of the item and prompt.
        """
        raise NotImplementedError("the class has no method `observe`")

    def measure(self, observations: pl.DataFrame) -> Mapping[str, float]:
        """Returns metrics by name.

        Args:
            observations: the columns of the table of observations.
        """
        raise NotImplementedError("the class has no method `measure`")


def load_class(path: Path) -> tuple[ProbeClass, dict[str, Any]]:
    """Runs a file that holds a probe's class.

    Returns:
        The probe, and its keys as a file of YAML would have them.

    Raises:
        Problem: the file cannot be run, or holds no such class or several, or its items are not available.
    """
    try:
        content = runpy.run_path(str(path))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the code of a user may raise anything, and end the program
        raise Problem(how_it_ends(error, "while it is run"), RUNS) from error
    kinds = [one for one in content.values() if isinstance(one, type) and issubclass(one, ProbeClass)]
    own = [kind for kind in kinds if kind is not ProbeClass]
    if len(own) != 1:
        raise Problem(f"holds {len(own)} classes that are made from ProbeClass", "one")
    try:
        probe = own[0]()
        items = list(probe.items())
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # as above
        raise Problem(f"the method `items` {how_it_ends(error)}", RUNS) from error
    keys = {key: getattr(probe, key) for key in Head.model_fields if hasattr(probe, key)}
    return probe, {**keys, "items": items}
