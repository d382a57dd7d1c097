"""Which proxy a run uses is said once."""

import pytest

from biasgrid.base.addresses import report_proxies
from biasgrid.base.faults import InputError

ADDRESSES = [
    "https://api.example.org/v1",
    "https://api.example.org/v2",
    "http://127.0.0.1:8000/v1",
    "https://${NO_SUCH}/",
]


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_each_host_has_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:secret@proxy:3128")
    report_proxies(ADDRESSES)
    line = "requests to api.example.org go through the proxy http://proxy:3128 (HTTPS_PROXY)\n"
    assert capsys.readouterr().err == line


def test_without_a_proxy_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    report_proxies(ADDRESSES)
    assert capsys.readouterr().err == ""


def test_variables_that_make_no_address_are_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_SUCH", "[half")
    with pytest.raises(InputError, match="is not an address; expected one such as https://host/v1"):
        report_proxies(ADDRESSES)


def test_a_proxy_that_is_none_is_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "::::")
    with pytest.raises(InputError, match="ALL_PROXY: does not name a usable proxy"):
        report_proxies(ADDRESSES)
