"""Tests how recorded delays are read and described, in Python and by `netspurt delays`."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import netspurt as ns
from netspurt.cli.main import application
from netspurt.cli.options import READ_AS

from conftest import ROOT, Command

DATA = ROOT / "data"


def test_a_recording_has_columns_and_counts() -> None:
    (delays,) = ns.read_delays(DATA / "ping.txt")
    assert (delays.sent, delays.received, delays.lost, delays.duplicates) == (240, 236, 4, 4)
    assert delays.rtt_ns.shape == delays.sent_ns.shape == (240,)
    assert int(delays.rtt_ns.mask.sum()) == 4
    assert (np.diff(delays.sent_ns) >= 0).all()
    assert delays.summary()["median_ms"] == pytest.approx(np.nanmedian(delays.rtt_s) * 1e3)


@pytest.mark.parametrize("words", ["delays - --json", "replay - --json"])
def test_a_recording_can_come_from_the_standard_input(words: str) -> None:
    command = [sys.executable, "-m", "netspurt", *words.split()]
    given = (DATA / "ping.txt").read_bytes()
    done = subprocess.run(command, input=given, capture_output=True, check=True)
    (found,) = json.loads(done.stdout)
    (recording,) = found.get("recordings", [found])
    assert (recording["sent"], recording["lost"]) == (240, 4)


def test_the_arrays_of_delays_are_made_once_and_cannot_be_changed() -> None:
    path = ns.Delays.of([0.1, None, 0.2], every=1.0)
    for name in ("rtt_s", "sent_s"):
        values = getattr(path, name)
        assert getattr(path, name) is values
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1.0


def test_columns_and_units_can_be_named(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("x,y\n1500,a\n1600,b\n")
    (delays,) = ns.read_delays(file, columns={"rtt": "x", "unit": "us"}, interval=0.5)
    assert delays.rtt_ns.tolist() == [1_500_000, 1_600_000]
    assert delays.sent_ns.tolist() == [0, 500_000_000]


def test_the_error_for_a_file_without_delays_names_line_and_fix(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("Dear Sir,\n")
    with pytest.raises(ns.DelaysError, match="Dear Sir") as raised:
        ns.read_delays(file)
    assert (raised.value.file, raised.value.line) == (str(file), 1)
    assert "`netspurt delays FILE --help` lists the formats" in raised.value.fix


def test_the_command_describes_the_contents_of_files(tmp_path: Path) -> None:
    broken = tmp_path / "b.txt"
    files = [str(DATA / "irtt.json"), str(DATA / "ping.txt")]
    plain = CliRunner().invoke(application(), ["delays", *files])
    assert plain.exit_code == 0
    assert "irtt" in plain.output
    assert "238" in plain.output
    as_json = CliRunner().invoke(application(), ["delays", "--json", *files])
    assert [entry["recordings"][0]["lost"] for entry in json.loads(as_json.stdout)] == [3, 4]
    text = "PING a (10.0.0.1) 56(84) bytes of data.\nwhat?\n"
    broken.write_text(text + "64 bytes from a: icmp_seq=2 ttl=64 time=1.5 ms\n")
    result = CliRunner().invoke(application(), ["delays", str(broken)])
    assert f"{broken}:2: not a line that ping writes (what?)" in result.output
    broken.write_text("")
    assert CliRunner().invoke(application(), ["delays", str(broken)]).exit_code == 2


def test_replies_after_the_given_limit_count_as_lost_and_a_note_counts_them(tmp_path: Path) -> None:
    path = ns.Delays.of([0.1, 30.0, 30.5, None, 45.0], every=1.0)
    kept = path.lost_after(30)
    assert (path.lost, kept.lost, kept.received) == (1, 3, 2)
    assert kept.notes == ["2 replies later than 30 s are counted as lost"]
    assert path.lost_after(60).notes[0].startswith("no reply was later than 60 s")
    for invalid in (0, -1, 1e9, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="give seconds above zero and below 1e9"):
            path.lost_after(invalid)
    file = tmp_path / "slow.csv"
    file.write_text("seq,rtt_s\n1,0.1\n2,31\n3,0.2\n")
    for command, words, lost in (
        ("delays", [], 0),
        ("delays", ["--lost-after", "30s"], 1),
        ("replay", ["--lost-after", "150ms", "--order", "sequence"], 2),
        ("replay", ["--order", "sequence"], 0),
    ):
        result = CliRunner().invoke(application(), [command, str(file), "--json", *words])
        data = json.loads(result.stdout)[0]
        assert data.get("recordings", [data])[0]["lost"] == lost, (command, words)
    result = CliRunner().invoke(
        application(), ["replay", str(file), "--rfc889", "--order", "sequence"]
    )
    assert "one reply later than 30 s is counted as lost" in result.output
    assert "3 probes, 2 answered, 1 lost" in " ".join(result.output.split())


def test_a_folder_is_read_and_files_of_unknown_format_are_reported(
    tmp_path: Path,
) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a.csv").write_text("rtt_ms\n1\n2\n")
    (tmp_path / "b" / "c.csv").write_text("rtt_ms\n1\n\n3\nx\n")
    (tmp_path / "b" / "notes.md").write_text("Dear Sir,\n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    result = CliRunner().invoke(application(), ["delays", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "left out:" in result.output
    assert "notes.md:1: not a known format" in result.output
    data = json.loads(CliRunner().invoke(application(), ["delays", str(tmp_path), "--json"]).stdout)
    assert [Path(entry["file"]).name for entry in data] == ["a.csv", "c.csv"]
    (tmp_path / "a.csv").unlink()
    (tmp_path / "b" / "c.csv").unlink()
    result = CliRunner().invoke(application(), ["delays", str(tmp_path)])
    assert result.exit_code == 2
    assert "its only file is not a recording" in result.output
    (tmp_path / "empty").mkdir()
    result = CliRunner().invoke(application(), ["replay", str(tmp_path / "empty")])
    assert (result.exit_code, "the folder has no recording" in result.output) == (2, True)


def test_a_folder_of_a_replay_is_read_and_other_runs_are_refused(
    tmp_path: Path,
) -> None:
    kept = tmp_path / "kept"
    words = ["replay", str(DATA / "irtt.json"), "-e", "linux", "--out", str(kept)]
    assert CliRunner().invoke(application(), words).exit_code == 0
    (data,) = json.loads(CliRunner().invoke(application(), ["delays", str(kept), "--json"]).stdout)
    assert (data["recordings"][0]["sent"], data["recordings"][0]["lost"]) == (238, 3)
    (kept / "replay.parquet").unlink()
    (kept / "run.json").write_text("{}")
    result = CliRunner().invoke(application(), ["delays", str(kept)])
    assert (result.exit_code, "this run kept neither" in result.output) == (2, True)


@pytest.mark.parametrize("room", [80, 100])
def test_the_tables_are_at_most_as_wide_as_the_terminal(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(room))
    deep = tmp_path / "a-folder-with-a-long-name" / "another-folder-with-a-long-name"
    deep.mkdir(parents=True)
    for name in ("first-recording-of-the-day.csv", "b.csv"):
        (deep / name).write_text("rtt_ms\n1.2345\n1234.5\n12.345\n")
    result = CliRunner().invoke(application(), ["delays", str(deep)])
    lines = result.output.splitlines()
    assert len(lines[0]) <= room
    assert [line.split()[0][-5:] for line in lines[1:3]] == ["b.csv", "y.csv"]
    heads = [n for n, line in enumerate(lines) if line.startswith(("recording", "delays"))]
    assert len(heads) == 2
    assert lines[heads[1] + 1].endswith("1,210")
    assert "read as columns" in result.output
    for head in heads:
        assert [len(line) for line in lines[head : head + 3]] == [len(lines[head])] * 3
        assert len(lines[head]) <= room


def test_the_summary_of_delays_has_the_figures_that_ping_prints(tmp_path: Path) -> None:
    """`ping` of iputils prints min/avg/max/mdev. mdev is the standard deviation with divisor n."""
    file = tmp_path / "a.csv"
    file.write_text("seq,rtt_ms\n1,10\n2,20\n3,*\n4,30\n5,40\n")
    (data,) = json.loads(CliRunner().invoke(application(), ["delays", str(file), "--json"]).stdout)
    (one,) = data["recordings"]
    keys = ("min_ms", "mean_ms", "max_ms", "mdev_ms", "median_ms", "p90_ms", "p95_ms", "p99_ms")
    expected = [10, 25, 40, 125**0.5, 25, 37, 38.5, 39.7]
    assert [one[key] for key in keys] == pytest.approx(expected)
    lines = CliRunner().invoke(application(), ["delays", str(file)]).output.splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith("delays"))
    assert lines[place].split()[1:6] == ["min", "ms", "mean", "max", "mdev"]
    numbers = lines[place + 1].split()[1:]
    assert numbers == ["10.00", "25.00", "40.00", "11.18", "25.00", "37.00", "38.50", "39.70"]
    file.write_text("seq,rtt_ms\n1,*\n2,10\n")
    (path,) = ns.read_delays(file)
    assert path.lost_after(0.001).summary()["mdev_ms"] is None


def test_the_error_for_an_rrdtool_file_names_a_command_that_helps(
    tmp_path: Path,
) -> None:
    (tmp_path / "path.rrd").write_bytes(b"RRD\x000003\0" + bytes(500))
    with pytest.raises(ValueError, match=r"rrdtool xport.* as CSV .*--column rtt=NAME"):
        ns.read_delays(tmp_path / "path.rrd")
    # `rrdtool xport` writes these lines as CSV.
    lines = ['"time","median"', "1700000000,1.2e-02", "1700000300,1.3e-02", "1700000600,NaN"]
    (tmp_path / "path.csv").write_text("\n".join(lines) + "\n")
    (recording,) = ns.read_delays(tmp_path / "path.csv", columns={"rtt": "median", "unit": "s"})
    assert recording.rtt_s[:2].tolist() == [0.012, 0.013]
    assert (recording.sent, recording.lost) == (3, 1)


def test_the_error_for_a_binary_file_names_the_file_and_prints_no_octets(
    tmp_path: Path,
) -> None:
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 4)
    result = CliRunner().invoke(application(), ["delays", str(tmp_path / "noise.bin")])
    error = " ".join(result.output.split())
    assert "noise.bin: not a known format" in error
    assert "it is not a text file" in error
    assert "`netspurt delays FILE --help` lists the formats" in error
    assert error.isascii()
    assert len(error) < 250 + len(str(tmp_path))


def test_the_help_lists_the_formats_that_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("rtt_ms\n1\n")
    refused = CliRunner().invoke(
        application(), ["delays", str(tmp_path / "a.csv"), "--format", "sundial"]
    )
    formats = " ".join(refused.output.split()).split("the formats are ")[1].split(", ")
    assert len(formats) > 10
    listed = READ_AS.split(": ")[1].removesuffix(".").replace(" or ", ", ").split(", ")
    assert listed == formats


def test_advice_for_ignored_files_is_printed_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("rtt_ms\n1\n2\n")
    for name in ("LICENSE", "README", "NOTICE"):
        (tmp_path / name).write_text(f"Dear {name},\nnothing of this is a delay.\n")
    result = CliRunner().invoke(application(), ["delays", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert result.output.count("left out:") == 3
    assert result.output.count("not a known format") == 3
    assert result.output.count("lists the formats") == 1


def test_the_start_time_is_read_saved_and_printed(tmp_path: Path) -> None:
    rows = "".join(
        f"{10 + n // 3600}:{n // 60 % 60:02}:{n % 60:02},"
        f"{'TimedOut' if 2400 <= n < 2412 or n == 7 else 900 if n == 2500 else 20 + n % 7}\n"
        for n in range(3700)
    )
    file = tmp_path / "a.csv"
    file.write_text("date,time,rtt\n" + "".join(f"22.10.2024,{row}\n" for row in rows.split()))
    (delays,) = ns.read_delays(file)
    assert (delays.began, delays.began_is_local) == (1729591200.0, True)
    (back,) = ns.read_delays(delays.save(tmp_path / "b.csv"))
    assert (back.began, back.began_is_local) == (delays.began, True)
    assert back.sent_ns.tolist() == delays.sent_ns.tolist()
    for command in (["delays"], ["replay", "--details"]):
        result = CliRunner().invoke(application(), [*command, str(file)])
        assert result.exit_code == 0, result.output
        text = " ".join(result.output.split())
        assert "began 2024-10-22 10:00:00 local time, ended 11:01:39" in text
        assert "losses: 12 of 13 from 10:40 to 10:50" in text
        assert "longest delay, 900 ms, at 10:41:40" in text


def test_a_start_time_in_utc_is_saved_with_the_recording(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("timestamp,rtt_ms\n2024-10-22T10:11:12.000000001Z,20\n1729591873,*\n")
    (delays,) = ns.read_delays(file)
    (back,) = ns.read_delays(delays.save(tmp_path / "b.csv"))
    assert (back.began, back.began_is_local) == (delays.began, False)
    assert back.sent_ns.tolist() == delays.sent_ns.tolist() == [0, 999_999_999]
    result = CliRunner().invoke(application(), ["delays", str(file)])
    text = " ".join(result.output.split())
    assert "began 2024-10-22 10:11:12 UTC, ended 10:11:13" in text
    assert "the loss at 10:11:13; longest delay, 20 ms, at 10:11:12" in text


def test_the_error_for_ambiguous_dates_names_the_option_that_decides(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.csv"
    file.write_text("timestamp,rtt_ms\n10/11/2024 10:11:12,20\n")
    result = CliRunner().invoke(application(), ["delays", str(file)])
    assert (result.exit_code, "--column dates=dmy" in result.output) == (2, True)
    result = CliRunner().invoke(application(), ["delays", str(file), "--column", "dates=dmy"])
    assert "began 2024-11-10 10:11:12 local time" in " ".join(result.output.split())


def test_a_note_on_many_recordings_is_printed_once(netspurt: Command, tmp_path: Path) -> None:
    text = "time_s,rtt_ms\n" + "".join(f"{n},{20 + n}\n" for n in range(30))
    for name in "abcd":
        (tmp_path / f"{name}.csv").write_text(text.replace("rtt_ms", "rtt"))
    (tmp_path / "e.csv").write_text(text)
    ran = netspurt("delays", *(f"{name}.csv" for name in "abcde"))
    notes = [line for line in ran.stdout.splitlines() if "read as milliseconds" in line]
    (note,) = notes
    assert note.startswith(
        "4 recordings: the delays have no unit and were read as milliseconds; `--column"
    )
    two = netspurt("delays", "a.csv", "b.csv").stdout
    assert two.count(": the delays have no unit and were read as milliseconds") == 2
    data = json.loads(netspurt("delays", "a.csv", "b.csv", "c.csv", "--json").stdout)
    assert all(len(entry["recordings"][0]["notes"]) > 0 for entry in data)


def test_an_interrupt_is_raised_before_a_long_file_has_been_read(tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    file.write_text("rtt_ms\n" + "20.5\n" * 300_000)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ns.read_delays(file)
    (reading,) = [thread for thread in threading.enumerate() if thread.name == "reading delays"]
    assert reading.is_alive(), "the interrupt must not wait until the file is read"
    reading.join()


def test_only_the_first_five_of_many_unreadable_files_are_named(tmp_path: Path) -> None:
    for n in range(12):
        (tmp_path / f"notes-{n}.md").write_text("Dear Sir,\n")
    (tmp_path / "a.csv").write_text("rtt_ms\n1\n2\n")
    result = CliRunner().invoke(application(), ["delays", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert result.output.count("left out:") == 6
    assert "7 more files of" in result.output
    (tmp_path / "sweep.json").write_text("{}")
    ran = CliRunner().invoke(application(), ["replay", str(tmp_path)])
    assert ran.exit_code == 2
    assert (
        "this is the folder of a sweep: it has a table of results, and no recordings" in ran.output
    )


def test_delays_of_zero_are_noted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t_s,rtt_ms\n0,0\n1,0\n2,3\n")
    (one,) = ns.read_delays(tmp_path / "a.csv")
    assert any(note.startswith("2 delays are 0, because the recording has") for note in one.notes)
    (tmp_path / "b.csv").write_text("t_s,rtt_ms\n0,1\n1,2\n2,3\n")
    (one,) = ns.read_delays(tmp_path / "b.csv")
    assert not any("are 0" in note for note in one.notes)


def test_messages_on_a_table_in_seconds_name_the_option_for_its_unit(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("t_s,rtt\n0,0.041\n1,0.042\n")
    (one,) = ns.read_delays(tmp_path / "a.csv")
    assert any("`--column unit=s`" in note for note in one.notes)
    assert "41.0" in netspurt("delays", "a.csv", "--column", "unit=s").stdout
    (tmp_path / "b.csv").write_text("who,what\na,0.041\nb,0.042\n")
    said = netspurt("delays", "b.csv").stderr
    assert "`--column rtt=N" in said
    assert "`--column unit=s`" in said
