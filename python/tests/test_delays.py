"""Recorded delays, from Python and the command line."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import netspurt as ns
from netspurt.cli.main import app

from conftest import ROOT

DATA = ROOT / "data"


def test_a_recording_has_columns_and_counts() -> None:
    (delays,) = ns.read_delays(DATA / "ping.txt")
    assert (delays.sent, delays.received, delays.lost, delays.duplicates) == (240, 236, 4, 4)
    assert delays.rtt_ns.shape == delays.sent_ns.shape == (240,)
    assert int(delays.rtt_ns.mask.sum()) == 4
    assert (np.diff(delays.sent_ns) >= 0).all()
    assert delays.summary()["median_ms"] == pytest.approx(np.nanmedian(delays.rtt_s) * 1e3)


def test_columns_and_units_can_be_named(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("x,y\n1500,a\n1600,b\n")
    (delays,) = ns.read_delays(file, columns={"rtt": "x", "unit": "us"}, interval=0.5)
    assert delays.rtt_ns.tolist() == [1_500_000, 1_600_000]
    assert delays.sent_ns.tolist() == [0, 500_000_000]


def test_a_file_without_delays_is_an_error_with_its_parts(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("Dear Sir,\n")
    with pytest.raises(ns.DelaysError, match="Dear Sir") as told:
        ns.read_delays(file)
    assert (told.value.file, told.value.line) == (str(file), 1)
    assert "ping" in told.value.fix


def test_the_command_tells_what_files_hold(tmp_path: Path) -> None:
    broken = tmp_path / "b.txt"
    files = [str(DATA / "irtt.json"), str(DATA / "ping.txt")]
    plain = CliRunner().invoke(app, ["delays", *files])
    assert plain.exit_code == 0
    assert "irtt" in plain.output
    assert "238" in plain.output
    as_json = CliRunner().invoke(app, ["delays", "--json", *files])
    assert [one["recordings"][0]["lost"] for one in json.loads(as_json.stdout)] == [3, 4]
    text = "PING a (10.0.0.1) 56(84) bytes of data.\nwhat?\n"
    broken.write_text(text + "64 bytes from a: icmp_seq=2 ttl=64 time=1.5 ms\n")
    told = CliRunner().invoke(app, ["delays", str(broken)])
    assert f"{broken}:2: nothing that ping writes (what?)" in told.output
    broken.write_text("")
    assert CliRunner().invoke(app, ["delays", str(broken)]).exit_code == 2
