"""The rate of answers over the last seconds of a run."""

from __future__ import annotations

import pytest

from biasgrid.jobs.run_progress import AnsweredRows, RecentRate, RunProgress


def rates(*counts: tuple[float, int]) -> list[tuple[float | None, float | None]]:
    """Rate and time left of a run of 100 rows at some seconds with some rows."""
    recent, told = RecentRate(30), []
    for seconds, rows in counts:
        progress = RunProgress(seconds, 0, 1, [], AnsweredRows(rows, 100, 9.0, 9.0))
        answers = recent.applied(progress).answers
        assert answers is not None
        told.append((answers.rows_per_second, answers.seconds_left))
    return told


def test_rows_of_earlier_runs_are_no_rate() -> None:
    assert rates((1, 0), (2, 40), (3, 40)) == [(None, None)] * 3
    assert rates((1, 0), (2, 40), (12, 60))[-1] == (pytest.approx(2), pytest.approx(20))


def test_the_rate_forgets_what_was_long_ago() -> None:
    assert rates((0, 1), (10, 51), (40, 54), (45, 57))[-1] == (
        pytest.approx(3 / 5),
        pytest.approx(43 / (3 / 5)),
    )
