"""Settings of Python that change nothing but how long a plan takes."""

from __future__ import annotations

import gc

import pytest
import smart_open

from biasgrid.jobs.tuning import tune_planning


def test_addresses_are_parsed_once_and_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(True))
    monkeypatch.setattr(smart_open, "parse_uri", parse := smart_open.parse_uri)
    tune_planning()
    address = "https://host/folder/rules/predict.smk"
    assert smart_open.parse_uri(address) is smart_open.parse_uri(address)
    assert smart_open.parse_uri(address)._asdict() == parse(address)._asdict()
    assert frozen == [True]
