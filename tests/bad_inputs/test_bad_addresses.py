"""Every bad address ends with one message, in time; nothing is left of what could not be
fetched.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from addresses import ADDRESSES, CONTENT, BadAddress
from hub import FileServer, serve
from in_time import in_time

from biasgrid.base.faults import InputError
from biasgrid.formats.unqover.download import download_dump

pytestmark = pytest.mark.usefixtures(in_time.__name__, "no_waits")


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serve(CONTENT) as served:
        yield served


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asks busy servers again at once."""
    monkeypatch.setattr("biasgrid.formats.unqover.download.WAITS", ())


@pytest.mark.parametrize("row", ADDRESSES, ids=lambda row: f"{row.address[:30]!a}-{row.does}")
def test_a_bad_address_is_reported_in_one_message(
    row: BadAddress, server: FileServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in row.does.items():
        setattr(server, name, value)
    address = row.address.replace("SERVER", server.address.removesuffix("/dump.json"))
    with pytest.raises(InputError) as refused:
        download_dump(address, "a" * 64, tmp_path / "dumps/dump.json")
    (fault,) = refused.value.faults
    assert fault.expected
    assert "\n" not in str(fault)
    assert [words for words in row.says if words not in str(fault)] == [], str(fault)
    assert "pass" not in str(fault) + caplog.text
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
