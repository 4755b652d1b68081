"""Fuzz the readers of the manifests `run.json` (of a run) and `sweep.json` (of many runs).

Each reader must accept an input or raise its own error, and no other error.
Run this program with `python fuzz/run.py stored`. An input with an odd first octet gets a valid
checksum if the rest is a JSON object, so that the checks after the checksum are also tested.
"""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["netspurt"]):
    from netspurt.run import RunError, open_run
    from netspurt.stored import sealed
    from netspurt.sweep.folder import open_sweep
    from netspurt.sweep.store import SweepError

FOLDER = Path(tempfile.mkdtemp())
SWEEP = {
    "format": 2,
    "netspurt": "0",
    "title": "",
    "fingerprint": "",
    "cases": 4,
    "chunk": 2,
    "seeds": 2,
    "paired": True,
    "names": ["rate"],
    "labels": {"rate": ["1", 2]},
    "sha256": "",
}


def content(octets: bytes, reseals: bool) -> bytes:
    """Return a manifest to read.

    With `reseals`, if the input is a JSON object, its keys replace or extend the keys of a valid
    manifest, and the result has a new checksum. Otherwise the result is the input itself.
    """
    if not reseals:
        return octets
    try:
        changes = json.loads(octets)
    except (ValueError, RecursionError):
        return octets
    if not isinstance(changes, dict):
        return octets
    return sealed({**SWEEP, **changes, "sha256": ""})


def test_one_input(octets: bytes) -> None:
    """Read one input as `sweep.json` and as `run.json`."""
    if not octets:
        return
    text = content(octets[1:], bool(octets[0] & 1))
    (FOLDER / "sweep.json").write_bytes(text)
    (FOLDER / "run.json").write_bytes(text)
    with suppress(SweepError):
        open_sweep(FOLDER).tally()
    with suppress(RunError):
        open_run(FOLDER)


atheris.Setup(sys.argv, test_one_input)
atheris.Fuzz()
