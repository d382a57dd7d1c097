"""Downloads of dumps: whole or not at all, and continued where they were."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from file_server import FileServer, serve

from biasgrid.faults import InputError
from biasgrid.unqover.download import ATTEMPTS, download

CONTENT = bytes(range(256)) * 12000
DIGEST = sha256(CONTENT).hexdigest()


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serve(CONTENT) as served:
        yield served


def files_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_a_file_arrives_whole_and_leaves_nothing_beside_it(server: FileServer, tmp_path: Path) -> None:
    out = tmp_path / "dumps" / "dump.json"
    download(server.address, DIGEST, out)
    assert out.read_bytes() == CONTENT
    assert files_in(out.parent) == ["dump.json"]


def test_an_interrupted_transfer_goes_on_where_it_was(server: FileServer, tmp_path: Path) -> None:
    server.breaks_off_after = [1_500_000, 1_000_000]
    download(server.address, DIGEST, tmp_path / "dump.json")
    assert (tmp_path / "dump.json").read_bytes() == CONTENT
    assert server.asked_from == [0, 1_500_000, 2_500_000]


def test_a_server_without_ranges_sends_everything_again(server: FileServer, tmp_path: Path) -> None:
    server.knows_ranges = False
    server.breaks_off_after = [1_500_000]
    download(server.address, DIGEST, tmp_path / "dump.json")
    assert (tmp_path / "dump.json").read_bytes() == CONTENT
    assert server.asked_from == [0, 1_500_000]


def test_a_later_call_goes_on_where_a_hopeless_one_gave_up(server: FileServer, tmp_path: Path) -> None:
    server.breaks_off_after = [500_000] * ATTEMPTS
    with pytest.raises(InputError, match=rf"interrupted at byte {500_000 * ATTEMPTS} .*, {ATTEMPTS} times; run again"):
        download(server.address, DIGEST, tmp_path / "dump.json")
    assert not (tmp_path / "dump.json").exists()
    download(server.address, DIGEST, tmp_path / "dump.json")
    assert (tmp_path / "dump.json").read_bytes() == CONTENT
    assert server.asked_from[-1] == 500_000 * ATTEMPTS


def test_parts_of_another_dump_are_not_continued(server: FileServer, tmp_path: Path) -> None:
    server.breaks_off_after = [1000] * ATTEMPTS
    with pytest.raises(InputError):
        download(server.address, "0" * 64, tmp_path / "dump.json")
    download(server.address, DIGEST, tmp_path / "dump.json")
    assert server.asked_from[-1] == 0


def test_another_digest_is_named_and_nothing_is_kept(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"dump.json: sha256 is {DIGEST} .*; expected {'a' * 64}"):
        download(server.address, "a" * 64, tmp_path / "dump.json")
    assert files_in(tmp_path) == []


@pytest.mark.parametrize(("surplus", "fails"), [(b"", False), (b"x", True)])
def test_a_download_that_was_complete_is_judged_by_its_digest(
    server: FileServer, tmp_path: Path, surplus: bytes, fails: bool
) -> None:
    server.breaks_off_after = [1000] * ATTEMPTS
    with pytest.raises(InputError):
        download(server.address, DIGEST, tmp_path / "dump.json")
    (partial,) = tmp_path.iterdir()
    partial.write_bytes(CONTENT + surplus)
    if fails:
        with pytest.raises(InputError, match="sha256 is"):
            download(server.address, DIGEST, tmp_path / "dump.json")
    download(server.address, DIGEST, tmp_path / "dump.json")
    assert (tmp_path / "dump.json").read_bytes() == CONTENT


def test_what_the_server_has_not_and_a_server_that_is_not_there_are_told_apart(
    server: FileServer, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"other.json: the server says 404 Not Found; expected the dump"):
        download(server.address.replace("dump", "other"), DIGEST, tmp_path / "dump.json")
    with pytest.raises(InputError, match=r"cannot be reached \(.*refused.*\); expected a server that this machine"):
        download("http://127.0.0.1:9/dump.json", DIGEST, tmp_path / "dump.json")
