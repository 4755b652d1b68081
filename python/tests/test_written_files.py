"""Tests that commands keep a file that exists already, and never leave an incomplete file."""

from __future__ import annotations

from pathlib import Path

import pytest

import netspurt as ns
from netspurt import stored

from conftest import ROOT, Command, refused

#: A recording of ping.
LOG = (ROOT / "data" / "handover.txt").read_text()
#: A table of delays for a timeline.
CSV = "t_s,delay_ms\n0,20\n15,30\n"
#: The orbit of a spacecraft.
ORBIT = "apogee=400,perigee=384,inclination=51.6,epoch=1999-07-01"
#: A command that computes the delays of one pass of the spacecraft.
PASS = f"orbit delays {ORBIT} --from geo:-174.17 --hours 2 --pass 1 --step 60s"


@pytest.mark.parametrize(
    ("words", "file", "holds"),
    [
        ("delays own.txt --timeline own.txt", "own.txt", LOG),
        ("delays log.txt --timeline own.toml", "own.toml", "stop = '1 s'"),
        ("timeline own.csv --out own.csv", "own.csv", CSV),
        ("timeline starlink-slots --link sky --out own.toml", "own.toml", "stop = '1 s'"),
        (f"{PASS} --out own.toml", "own.toml", "stop = '1 s'"),
        ("delays surrogate FOE --out own.txt", "own.txt", LOG),
        ("papers path rfc889 UMD1 --out own.toml", "own.toml", "stop = '1 s'"),
        ("papers curves globecom2000 --out .", "s14.toml", "mine"),
    ],
)
def test_a_file_that_exists_is_kept(
    words: str, file: str, holds: str, netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "log.txt").write_text(LOG)
    (tmp_path / file).write_text(holds)
    before = set(tmp_path.iterdir())
    refused(netspurt(*words.split()), f"{file} exists already: name another file, or remove it")
    assert (tmp_path / file).read_text() == holds
    assert set(tmp_path.iterdir()) == before


def full(_file: int) -> None:
    """Fail as on a full disk."""
    raise OSError(28, "No space left on device")


def test_a_write_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match=r"moves\.toml cannot be written: No space left"):
        stored.write_new(tmp_path / "moves.toml", "delay = '1 ms'")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("words", ["new mine.toml", "scenarios requests --out mine.toml"])
def test_a_failed_write_of_a_scenario_leaves_no_file(
    words: str, netspurt: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", full)
    refused(netspurt(*words.split()), "mine.toml cannot be written: No space left on device")
    assert [*tmp_path.iterdir()] == []


def test_the_error_of_a_read_only_file_system_names_the_requested_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(file: Path, *_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system", str(file))

    # A read-only file system refuses to remove even a file that does not exist.
    for name in ("open", "unlink"):
        monkeypatch.setattr(Path, name, read_only)
    with pytest.raises(OSError, match=r"/own\.csv cannot be written: Read-only file") as caught:
        ns.Delays.of([0.1, None]).save(tmp_path / "own.csv")
    assert "partial" not in str(caught.value)
    with pytest.raises(OSError, match="Read-only file"):
        stored.write_new(tmp_path / "own.csv", "text")
