"""Compares the files of a run with the digests in its manifest, and says whether the run failed."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.faults import UserError
from biasgrid.base.files import digest_file
from biasgrid.inference.models.servers.usage import count_holdings
from biasgrid.runs.failures import Failure
from biasgrid.runs.layout import FAILED_MANIFEST, MANIFEST, REPORT, Layout

NO_OUTPUTS = {"logs", MANIFEST, FAILED_MANIFEST}
"""Names in the folder of results that are no outputs, as hidden files are none: they depend on how
the run went.
"""
LOST_STATES = ("damaged", "missing")
"""States of files that must be made again."""
RUN_AGAIN = "run snakemake with the config of these results to make it"


class AuditFinding(NamedTuple):
    """A file that is not as in the manifest.

    Attributes:
        state: `damaged`, `missing`, `foreign`, or `unmade` by the last run, which failed.
        file: its path below the folder of results.
    """

    state: str
    file: str


class Store(NamedTuple):
    """The answers of a server that a cell's folder holds.

    Attributes:
        dataset, model: the cell.
        held: number of answers.
        used: number of answers that the predictions come from; the others are of other questions,
            or were asked otherwise.
        tokens_in: number of tokens that the model has read for all answers.
        tokens_out: number of tokens that it has written.
    """

    dataset: str
    model: str
    held: int
    used: int
    tokens_in: int
    tokens_out: int


class Audit(NamedTuple):
    """The comparison of a folder of results with its manifest.

    Attributes:
        files: number of files that were compared.
        findings: files that are not as they were, or should have been made anew, damaged ones
            first.
        failures: reasons why the last run failed, empty if it did not.
        command: the command that makes damaged, missing and unmade files, empty if there are none.
        stores: the answers of servers, which are paid for once.
    """

    files: int
    findings: list[AuditFinding]
    failures: list[Failure]
    command: str
    stores: list[Store]


def digests_of_results(results: Path, made: Collection[str] | None = None) -> dict[str, str]:
    """Returns the SHA-256 of the files in a folder of results, except logs and the like.

    Args:
        results: the folder.
        made: the files and folders in it that a run makes; None for all.

    Returns:
        Digests by the paths of files relative to the folder.
    """
    return {str(path.relative_to(results)): digest_file(path) for path in outputs_in(results, made)}


def audit_results(results: Path) -> Audit:
    """Compares a folder of results with its manifest, or with that of a failed run without one.

    Raises:
        UserError: there is no manifest, or none that can be read.
    """
    complete = read_manifest(results / MANIFEST)
    failed = read_manifest(results / FAILED_MANIFEST)
    manifest = complete or failed
    if manifest is None:
        raise UserError(f"there is no {results / MANIFEST}; {RUN_AGAIN}")
    recorded = manifest["files"]
    findings = changed_files(recorded, digests_of_results(results))
    is_any_lost = any(finding.state in LOST_STATES for finding in findings)
    failures: list[Failure] = []
    targets: list[str] = []
    if failed is not None:
        failures = failed["failures"]
        # A run that failed while there is a manifest was one of some targets alone, for which the
        # grid may have no use.
        if complete is not None and not is_any_lost:
            targets = [str(results / file) for file in failed["missing"]]
        findings += unmade_files(failed["missing"], findings)
    repair = ""
    if is_any_lost or failed is not None:
        config_file = (failed or manifest)["config_file"]
        repair = repair_command(results, config_file, findings, targets)
    return Audit(len(recorded), findings, failures, repair, list(stores_of_results(results)))


def changed_files(recorded: Mapping[str, str], present: Mapping[str, str]) -> list[AuditFinding]:
    """Lists the files that are not as in a manifest: damaged, then missing, then foreign ones.

    Args:
        recorded: digests of files in the manifest, by their paths.
        present: digests of the files that are there now.
    """
    findings = []
    for file, digest in recorded.items():
        if present.get(file, digest) != digest:
            findings.append(AuditFinding("damaged", file))
    findings += [AuditFinding("missing", file) for file in recorded if file not in present]
    findings += [AuditFinding("foreign", file) for file in present if file not in recorded]
    return findings


def unmade_files(missing: Sequence[str], findings: Sequence[AuditFinding]) -> list[AuditFinding]:
    """Lists the files that a failed run has not made, unless they are among the findings."""
    files = {finding.file for finding in findings}
    return [AuditFinding("unmade", file) for file in missing if file not in files]


def repair_command(
    results: Path, config_file: str, findings: Sequence[AuditFinding], targets: Sequence[str]
) -> str:
    """Returns the command that makes damaged and missing files again.

    Args:
        results: the folder of results.
        config_file: the config's files as a manifest names them.
        findings: the files that are not as they were.
        targets: files to make; all if it is empty.
    """
    lost = [finding.file for finding in findings if finding.state in LOST_STATES]
    damaged = [finding.file for finding in findings if finding.state == "damaged"]
    forced = distinct_paths(results / forced_for(file) for file in lost)
    # A run refuses empty outputs, so they must be removed before.
    empty = distinct_paths(
        results / output_of(file) for file in damaged if is_empty(results / file)
    )
    return command(config_file, empty, targets, forced)


def distinct_paths(paths: Iterable[Path]) -> list[str]:
    """Returns paths as texts, each once, in their order."""
    return list(dict.fromkeys(str(path) for path in paths))


def stores_of_results(results: Path) -> Iterator[Store]:
    """Counts the answers of servers in a folder of results, cell by cell."""
    for folder in sorted(results.glob(".answers/*/*")):
        dataset, model = folder.parent.name, folder.name
        predictions = sorted(results.glob(f"predictions/{dataset}/{model}/*.parquet"))
        holdings = count_holdings(folder, predictions)
        if holdings is not None:
            yield Store(dataset, model, *holdings)


def command(
    config: str,
    empty: Sequence[str] = (),
    targets: Sequence[str] = (),
    forced: Sequence[str] = (),
) -> str:
    """Returns the command that makes files.

    Args:
        config: the config's files as a manifest names them; settings given beside them are the
            reader's to add.
        empty: outputs to remove before, because a run refuses them.
        targets: files to make; all if it is empty.
        forced: outputs to make again, whatever Snakemake thinks of them.
    """
    files, has_settings, _ = config.partition(" and --config")
    run = shlex.join(["snakemake", *targets, "--configfile", *files.split(" + ")])
    if has_settings:
        run += " --config ..."
    run += " --cores all"
    if forced:
        run += f" --forcerun {shlex.join(forced)}"
    if empty:
        run = f"rm -r {shlex.join(empty)} && {run}"
    return run


def refuse_empty(layout: Layout) -> None:
    """Refuses results in which a file is empty, as a full disk or a loss of power leaves it.

    Raises:
        UserError: naming each such file, and the path to remove.
    """
    lines = []
    for path in [*outputs_in(layout.results, layout.outputs), layout.manifest]:
        if is_empty(path):
            output = layout.results / output_of(str(path.relative_to(layout.results)))
            removed = "it" if output == path else output
            lines.append(f"{path}: is empty; remove {removed} and run again")
    if lines:
        raise UserError("\n".join(lines))


def is_empty(path: Path) -> bool:
    """Returns whether a path is an empty file."""
    return path.is_file() and path.stat().st_size == 0


def outputs_in(results: Path, made: Collection[str] | None) -> Iterator[Path]:
    """Yields the files in a folder of results, except logs and the like.

    Args:
        results: the folder.
        made: the files and folders in it that a run makes; None for all.
    """
    for top in sorted(results.glob("[!.]*")):
        is_made = made is None or top.name in made
        if top.name in NO_OUTPUTS or not is_made:
            continue
        for path in [top, *sorted(top.rglob("*"))]:
            if path.is_file() and not path.name.startswith("."):
                yield path


def read_manifest(path: Path) -> dict[str, Any] | None:
    """Reads a manifest, with its `failures` as `Failure`; None if there is no such file.

    Raises:
        UserError: it cannot be read.
    """
    types = {"files": dict, "config_file": str}
    if path.name == FAILED_MANIFEST:
        types |= {"missing": list, "failures": list}
    try:
        manifest: dict[str, Any] = json.loads(path.read_text())
        is_usable = all(isinstance(manifest[key], type_) for key, type_ in types.items())
        manifest["failures"] = [Failure(**failure) for failure in manifest.get("failures", [])]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        is_usable = False
    if not is_usable:
        raise UserError(f"{path}: is not a manifest; remove it and {RUN_AGAIN}")
    return manifest


def output_of(file: str) -> Path:
    """Returns the output that a file belongs to: itself, or the folder that is made as a whole."""
    path = Path(file)
    depths = {"plots": 2, "synthetic": 3}
    # A report too large for one file has others beside its first one, which alone Snakemake knows.
    if path != REPORT:
        depths["report"] = 1
    depth = depths.get(path.parts[0], len(path.parts))
    return Path(*path.parts[:depth])


def forced_for(file: str) -> Path:
    """Returns the output that Snakemake must make anew to restore a file."""
    output = output_of(file)
    return REPORT if output == REPORT.parent else output
