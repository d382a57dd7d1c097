"""A SLURM of one node in a folder of its own, real daemons and pretended GPUs, and projects that
are run on it.

Nothing of it is outside the folder. There is no database of accounts, so finished jobs are
remembered by slurmctld alone, and no cgroups, so memory is watched by sampling.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from project import Project

from biasgrid.jobs.progress import read_beat

CONFIG = """\
ClusterName=biasgrid
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
MinJobAge=3600
KillWait=2
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory_mb} Gres=gpu:pretended:{gpus}
PartitionName=cpu Nodes=ALL Default=YES
PartitionName=gpu Nodes=ALL
"""


def wait_until(condition: Callable[[], object], what: str, seconds: float = 120) -> None:
    """Waits until a condition holds; fails where it does not within some seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain until {what}"
        time.sleep(0.1)


class SlurmCluster:
    """The daemons of one node; `environment` is what a program needs to use it."""

    def __init__(self, folder: Path, cpus: int = 8, memory_mb: int = 64000, gpus: int = 2):
        self.folder = folder
        self.config = folder / "slurm.conf"
        self.environment = {
            "SLURM_CONF": str(self.config),
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        }
        self.daemons: list[subprocess.Popen[bytes]] = []
        for name in ("state", "spool", "gpus", "bin"):
            (folder / name).mkdir()
        self.write_config(cpus, memory_mb, gpus)
        self.write_key()
        self.write_srun()

    def write_config(self, cpus: int, memory_mb: int, gpus: int) -> None:
        """Writes the configuration of a node that may claim more than the machine has."""
        host = socket.gethostname().partition(".")[0]
        ports = {"controller_port": free_port(), "node_port": free_port()}
        self.config.write_text(
            CONFIG.format(
                folder=self.folder, host=host, cpus=cpus, memory_mb=memory_mb, gpus=gpus, **ports
            )
        )
        # SLURM takes only device files for GPUs; these are further names of /dev/null.
        for gpu in range(gpus):
            os.mknod(self.folder / "gpus" / str(gpu), 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        files = f"{self.folder}/gpus/[0-{gpus - 1}]"
        (self.folder / "gres.conf").write_text(f"Name=gpu Type=pretended File={files}\n")

    def write_key(self) -> None:
        """Writes the key with which the daemons trust each other."""
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))

    def write_srun(self) -> None:
        """Writes an srun that finds this SLURM, since the plugin drops SLURM_CONF before it calls
        srun in a job.
        """
        script = self.folder / "bin" / "srun"
        script.write_text(f'#!/bin/sh\nSLURM_CONF={self.config} exec {shutil.which("srun")} "$@"\n')
        script.chmod(0o755)

    def start(self) -> None:
        """Starts the daemons and waits until the node takes jobs."""
        names = {"key-file": "key", "socket": "socket", "pid-file": "pid", "seed-file": "seed"}
        options = [f"--{option}={self.folder}/munge.{name}" for option, name in names.items()]
        self.start_daemon("munged", "--foreground", "--force", *options)
        wait_until((self.folder / "munge.socket").exists, "munged listens")
        self.start_daemon("slurmctld", "-D", "-c", "-f", str(self.config))
        self.start_daemon("slurmd", "-D", "-c", "-f", str(self.config))
        wait_until(
            lambda: "idle" in self.run("sinfo", "--noheader", "--format=%T", check=False),
            "the node is idle",
        )

    def start_daemon(self, *command: str) -> None:
        """Starts a daemon that ends with this process, however it ends."""
        with (self.folder / f"{command[0]}.out").open("wb") as out:
            self.daemons.append(
                subprocess.Popen(
                    ["setpriv", "--pdeathsig", "KILL", *command],
                    env=os.environ | self.environment,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )

    def stop(self) -> None:
        """Kills the daemons and all that ran on them or used them; what they know is thrown away
        with the folder.
        """
        while processes := processes_with(f"SLURM_CONF={self.config}"):
            for pid in processes:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for daemon in self.daemons:
            daemon.wait()

    def run(self, *command: str, check: bool = True) -> str:
        """Runs one of SLURM's programs and returns what it prints."""
        done = subprocess.run(
            command,
            env=os.environ | self.environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == 0 or not check, f"{' '.join(command)}: {done.stderr}"
        return done.stdout.strip()

    def processes_of(self, job: str) -> list[int]:
        """Returns the processes of a job; SLURMs that run side by side for several tests have jobs
        of the same id.
        """
        return processes_with(f"SLURM_CONF={self.config}", f"SLURM_JOB_ID={job}")

    def jobs(self) -> dict[str, dict[str, str]]:
        """Returns what SLURM knows of all jobs, running or finished, by job id."""
        lines = self.run("scontrol", "show", "job", "--details", "--oneliner").splitlines()
        jobs = [
            dict(re.findall(r"(\S+?)=(\S*)", line)) for line in lines if line.startswith("JobId=")
        ]
        return {job["JobId"]: job for job in jobs}


@contextmanager
def slurm_cluster(folder: Path, cpus: int = 8) -> Iterator[SlurmCluster]:
    """Gives a running SLURM in an empty folder, and ends it with all its jobs."""
    cluster = SlurmCluster(folder, cpus)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def processes_with(*variables: str) -> list[int]:
    """Returns the other processes whose environment has each `NAME=VALUE`."""
    found, wanted = [], {variable.encode() for variable in variables}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (
                wanted <= {*(folder / "environ").read_bytes().split(b"\0")}
                and int(folder.name) != os.getpid()
            ):
                found.append(int(folder.name))
    return found


def free_port() -> int:
    """Returns a port on which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class SlurmProject(Project):
    """A copy of the project that is run with the SLURM profile, on a cluster without a database of
    accounts.
    """

    cluster: SlurmCluster

    def line(self, *arguments: str) -> list[str]:
        profile = ["--workflow-profile", "profiles/slurm", "--slurm-status-command", "squeue"]
        polling = ["--slurm-init-seconds-before-status-checks", "1"]
        config = ["--configfile", self.file]
        return [*config, *profile, *polling, *arguments]

    def environment(self) -> dict[str, str]:
        return super().environment() | self.cluster.environment

    def replace(self, path: str, old: str, new: str) -> None:
        """Changes a file."""
        text = (self.folder / path).read_text()
        assert old in text
        (self.folder / path).write_text(text.replace(old, new))

    def ask_for_gpus(self) -> None:
        """Lets jobs ask for GPUs as they do where the device is no CPU, which it is on this
        machine.
        """
        for rule in ("capabilities", "predict"):
            of_model = "gpu=lambda wildcards: grid.models[wildcards.model].source.gpus"
            self.replace(f"rules/{rule}.smk", "gpu=models.gpus", of_model)

    def submit_shards_alone(self) -> None:
        """Submits a job for each shard, as docs/slurm.md says, for tests that look at single
        ones.
        """
        self.replace("profiles/slurm/profile.yaml", "groups:\n  predict: shards-of-{model}\n", "")

    def jobs(self) -> dict[str, list[dict[str, str]]]:
        """What SLURM knows of the jobs that were submitted here, in order, by what Snakemake calls
        them.
        """
        jobs: dict[str, list[dict[str, str]]] = {}
        for job in self.cluster.jobs().values():
            if job["WorkDir"] == str(self.folder):
                jobs.setdefault(job["Comment"], []).append(job)
        return jobs


def name_of_job(dataset: str, model: str, shard: str) -> str:
    """What Snakemake calls the job that predicts a shard, such as `1-of-2`, of a cell."""
    return "_".join(["rule_predict_wildcards", dataset, model, *shard.split("-of-")])


# Put at the end of a copy's engine: small parts, and whoever has made one waits as long as there is
# a file `hold`.
HOLD = """
import time

ROWS_A_PART = 20
SECONDS_A_FILE = 0


def held(self, rows, keep=Progress.keep):
    keep(self, rows)
    while Path("hold").exists():
        time.sleep(0.05)


Progress.keep = held
"""


def hold_shards(project: Project) -> Path:
    """Makes the shards of a project wait; gives the file for which they wait to be removed."""
    with (project.folder / "src/biasgrid/inference/models/predict.py").open("a") as engine:
        engine.write(HOLD)
    hold = project.folder / "hold"
    hold.touch()
    return hold


def has_parts(project: Project, shard: str) -> bool:
    """Whether a shard that is not done has made a part."""
    beat = read_beat(project.folder / f"results/.answers/gender/answering/{shard}.json")
    return beat is not None and beat.saved_rows > 0


def log_of(project: Project, shard: str) -> str:
    return (project.folder / f"results/logs/predict/gender/answering/{shard}.log").read_text()
