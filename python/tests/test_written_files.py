"""Tests that commands keep a file that exists already, and never leave an incomplete file."""

from __future__ import annotations

from pathlib import Path

import pytest

from netspurt import stored

from conftest import ROOT, Command, refused

LOG = (ROOT / "data" / "handover.txt").read_text()
CSV = "t_s,delay_ms\n0,20\n15,30\n"
ORBIT = "apogee=400,perigee=384,inclination=51.6,epoch=1999-07-01"
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
    there = set(tmp_path.iterdir())
    refused(netspurt(*words.split()), f"{file} exists already: name another file, or remove it")
    assert (tmp_path / file).read_text() == holds
    assert set(tmp_path.iterdir()) == there


def test_a_write_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match=r"moves\.toml cannot be written: No space left"):
        stored.write_new(tmp_path / "moves.toml", "delay = '1 ms'")
    assert [*tmp_path.iterdir()] == []
