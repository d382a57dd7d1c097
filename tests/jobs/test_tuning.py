"""Settings of Python that change nothing but how long a plan takes."""

from __future__ import annotations

import gc

import pytest
import smart_open
from snakemake import common, rules
from snakemake.output_index import OutputIndex

from biasgrid.jobs import tuning
from biasgrid.jobs.tuning import match_files_once, read_parameters_once, tune_planning


@pytest.fixture(autouse=True)
def snakemake_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undoes after each test what is set in Snakemake."""
    for module in (common, rules):
        monkeypatch.setattr(module, "get_function_params", module.get_function_params)
    monkeypatch.setattr(OutputIndex, "match_producers", OutputIndex.match_producers)


class Inputs:
    """Has functions as rules are given."""

    def files(self, wildcards: object, input: object) -> list[str]:
        return []

    def params(self, wildcards: object) -> dict[str, str]:
        return {}


class OneRule:
    """A rule that makes one file."""

    def __init__(self, file: str) -> None:
        self.file, self.asked = file, 0

    def products(self) -> list[OneRule]:
        return [self]

    def constant_prefix(self) -> str:
        return self.file[:3]

    def constant_suffix(self) -> str:
        return self.file[-3:]

    def is_producer(self, file: str) -> bool:
        self.asked += 1
        return file == self.file


def test_parameters_are_read_once_and_are_the_same() -> None:
    inputs = Inputs()
    functions = [inputs.files, inputs.params, Inputs().params, lambda wildcards, attempt: 1]
    before = [list(common.get_function_params(function)) for function in functions]
    read_parameters_once()
    assert [list(rules.get_function_params(function)) for function in functions] == before
    assert common.get_function_params(inputs.files) is rules.get_function_params(inputs.files)
    given = {"input": "in", "output": "out"}
    assert common.get_input_function_aux_params(inputs.files, given) == {"input": "in"}
    assert common.get_input_function_aux_params(inputs.params, given) == {}


def test_a_file_is_matched_once_in_each_index() -> None:
    made, other = OneRule("tables/one.csv"), OneRule("tables/two.csv")
    match_files_once()
    first, second = OutputIndex([made, other]), OutputIndex([other])
    assert [first.match_producers("tables/one.csv") for _ in range(2)] == [{made}] * 2
    assert made.asked == 1
    assert second.match_producers("tables/one.csv") == set()
    assert (
        first.match_producers("tables/two.csv")
        == second.match_producers("tables/two.csv")
        == {other}
    )


def test_a_snakemake_without_these_functions_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Empty:
        pass

    monkeypatch.setattr(tuning, "rules", Empty())
    monkeypatch.setattr(tuning, "OutputIndex", Empty)
    read_parameters_once()
    match_files_once()
    assert not vars(tuning.rules)
    assert not hasattr(Empty, "match_producers")


def test_addresses_are_parsed_once_and_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(True))
    monkeypatch.setattr(smart_open, "parse_uri", parse := smart_open.parse_uri)
    tune_planning()
    address = "https://host/folder/rules/predict.smk"
    assert smart_open.parse_uri(address) is smart_open.parse_uri(address)
    assert smart_open.parse_uri(address)._asdict() == parse(address)._asdict()
    assert frozen == [True]
