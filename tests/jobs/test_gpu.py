"""Leases of GPUs, with lists of GPUs that are not there: what is leased is a name."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from biasgrid.base.faults import UserError
from biasgrid.jobs.gpu import VISIBLE, lease, leased_gpus, visible_gpus

TWO = "0, GPU-aaa\n1, GPU-bbb\n"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose nvidia-smi lists two GPUs, and whose torch could use them."""
    command = tmp_path / "bin" / "nvidia-smi"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\nprintf '{TWO}'\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")
    monkeypatch.setattr("torch.backends.cuda.is_built", lambda: True)
    monkeypatch.setattr("biasgrid.jobs.gpu.lease_folder", lambda: tmp_path / "leases")
    monkeypatch.delenv(VISIBLE, raising=False)


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, {"GPU-aaa": "GPU-aaa", "GPU-bbb": "GPU-bbb"}),
        ("1", {"1": "GPU-bbb"}),
        ("1,0", {"1": "GPU-bbb", "0": "GPU-aaa"}),
        ("GPU-bbb", {"GPU-bbb": "GPU-bbb"}),
        ("MIG-ccc", {"MIG-ccc": "MIG-ccc"}),
        ("0,-1,1", {"0": "GPU-aaa"}),
        ("1,5,0", {"1": "GPU-bbb"}),
        ("", {}),
    ],
)
@pytest.mark.usefixtures("machine")
def test_what_cuda_may_see_is_honoured(
    visible: str | None, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    if visible is not None:
        monkeypatch.setenv(VISIBLE, visible)
    assert visible_gpus() == expected


@pytest.mark.usefixtures("machine")
def test_a_job_sees_its_own_gpu_only_and_leaves_the_environment_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv(VISIBLE, "1,0")
    with leased_gpus(1, "auto", 1):
        assert os.environ[VISIBLE] == "1"
    assert os.environ[VISIBLE] == "1,0"


@pytest.mark.usefixtures("machine")
def test_a_job_gets_as_many_gpus_as_it_needs(tmp_path: Path):
    with leased_gpus(2, "auto", 1):
        assert os.environ[VISIBLE] == "GPU-aaa,GPU-bbb"
        with pytest.raises(Timeout):
            FileLock(tmp_path / "leases" / "GPU-bbb.0").acquire(timeout=0)
    with leased_gpus(0, "auto", 1):
        assert VISIBLE not in os.environ
    with pytest.raises(UserError, match="needs 3 GPUs but sees only 2"), leased_gpus(3, "auto", 1):
        pass


@pytest.mark.usefixtures("machine")
def test_a_job_on_the_cpu_leases_nothing():
    with leased_gpus(1, "cpu", 1):
        assert VISIBLE not in os.environ


@pytest.mark.parametrize("device", ["auto", "cuda"])
@pytest.mark.usefixtures("machine")
def test_a_torch_without_cuda_leases_nothing(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("torch.backends.cuda.is_built", lambda: False)
    with leased_gpus(1, device, 1):
        assert VISIBLE not in os.environ
        assert not (tmp_path / "leases").exists()


def test_jobs_get_different_gpus_and_share_them_only_when_asked_to(tmp_path: Path):
    taken = [lease({"0": "a", "1": "b"}, 2, tmp_path) for _ in range(4)]
    assert [gpu for gpu, _ in taken] == ["0", "1", "0", "1"]
    for _, lock in taken:
        lock.release()


def test_a_job_waits_until_a_gpu_is_free(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    _, first = lease({"0": "a"}, 1, tmp_path)
    threading.Timer(0.3, first.release).start()
    with caplog.at_level("INFO"):
        gpu, second = lease({"0": "a"}, 1, tmp_path)
    assert gpu == "0"
    assert not first.is_locked
    assert "waiting for one of the GPUs 0" in caplog.text
    second.release()


def test_a_killed_job_holds_no_gpu(tmp_path: Path):
    hold = (
        "import sys, time; from pathlib import Path; from biasgrid.jobs.gpu import lease\n"
        "held = lease({'0': 'a'}, 1, Path(sys.argv[1])); "
        "print('leased', flush=True); time.sleep(600)"
    )
    job = subprocess.Popen(
        [sys.executable, "-c", hold, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert job.stdout is not None
    assert job.stdout.readline() == "leased\n"
    with pytest.raises(Timeout):
        FileLock(tmp_path / "a.0").acquire(timeout=0)
    job.send_signal(signal.SIGKILL)
    job.wait()
    gpu, lock = lease({"0": "a"}, 1, tmp_path)
    assert gpu == "0"
    lock.release()
