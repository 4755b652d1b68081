"""Tests that run folders are complete or absent, have the given name, and are checked when read.

The manifest of a run folder is its file `run.json`. It has a checksum of each file.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import netspurt as ns
from netspurt.interrupts import interruptible
from netspurt.stored import check_free, leftovers, new_folder, sealed

from conftest import Command, refused

#: A scenario with a transfer and echo probes.
PROBED = """
title = "Echo probes beside a transfer"
stop = "3 s"
seed = 9
[record]
spy = ["a", "b/c"]
tables = ["rtt"]
[links.path]
between = ["a", "b/c"]
rate = "1 Mbit/s"
delay = "5 ms"
loss = { packets = [4] }
[flows.x]
from = "a"
to = "b/c"
send = "3 segments"
[echo_probes.p]
from = "a"
to = "b/c"
lengths = { from = "40 B", to = "256 B", rule = "random" }
count = 5
"""


@pytest.fixture(scope="module")
def probed() -> ns.Run:
    """Return a run with a transfer and echo probes."""
    return ns.Scenario.parse(PROBED, "probed.toml").run()


@pytest.fixture
def folder(saved_run: Path, tmp_path: Path) -> Path:
    """Return a run's folder that a test may damage."""
    return Path(shutil.copytree(saved_run, tmp_path / "r"))


def manifest(folder: Path) -> dict[str, Any]:
    """Return the content of a run's manifest."""
    read: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return read


def rewrite(folder: Path, **changes: Any) -> None:
    """Change keys of a manifest, and give it the checksum of its new text."""
    (folder / "run.json").write_bytes(sealed(manifest(folder) | changes))


def test_the_manifest_lists_every_file_with_its_digest(saved_run: Path) -> None:
    files = {file.name for file in saved_run.iterdir()} - {"run.json"}
    listed = manifest(saved_run)["files"]
    assert set(listed) == files
    for name, digest in listed.items():
        assert hashlib.sha256((saved_run / name).read_bytes()).hexdigest() == digest, name
    tables = manifest(saved_run)["tables"]
    assert {f"{name}.parquet" for name in tables} <= files
    opened = ns.open_run(saved_run)
    assert {name: len(table) for name, table in opened.tables.items()} == tables


@pytest.mark.parametrize("name", ["flows.parquet", "segments.parquet", "scenario.toml"])
def test_the_error_names_a_file_that_lacks_a_byte_or_is_missing(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1])
    with pytest.raises(ns.RunError, match=f"{name} is damaged: it differs from what the run wrote"):
        ns.open_run(folder)
    (folder / name).unlink()
    with pytest.raises(ns.RunError, match="is damaged") as raised:
        ns.open_run(folder)
    assert name in str(raised.value)
    (folder / name).write_bytes(content)
    assert ns.open_run(folder).folder == folder


def flip(file: Path, bit: int) -> None:
    """Flip one bit of a file."""
    octets = bytearray(file.read_bytes())
    octets[bit // 8] ^= 1 << bit % 8
    file.write_bytes(octets)


def test_any_flipped_bit_is_noticed(folder: Path) -> None:
    for file in sorted(folder.iterdir()):
        size = 8 * file.stat().st_size
        for bit in range(0, size, max(1, size // 23)):
            flip(file, bit)
            with pytest.raises(ns.RunError, match=r"is damaged|in another format") as raised:
                ns.open_run(folder)
            assert file.name in str(raised.value) or "another format" in str(raised.value)
            flip(file, bit)
    assert ns.open_run(folder).folder == folder


def test_any_flipped_bit_of_a_manifest_is_noticed(folder: Path) -> None:
    # The test flips every fifth bit and opens the run each time. So the manifest must be short.
    for name in set(manifest(folder)["files"]) - {"scenario.toml", "flows.parquet"}:
        (folder / name).unlink()
    kept = {name: manifest(folder)["files"][name] for name in ("scenario.toml", "flows.parquet")}
    rewrite(folder, files=kept, tables={"flows": 1}, captures={}, nodes={}, flows={})
    ns.open_run(folder)
    file = folder / "run.json"
    for bit in range(0, 8 * file.stat().st_size, 5):
        flip(file, bit)
        with pytest.raises(ns.RunError):
            ns.open_run(folder)
        flip(file, bit)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "run.json is damaged"),
        ("null", "the text is not a JSON object"),
        ("[1]", "the text is not a JSON object"),
        ("{}", "in another format: run its scenario.toml again"),
        ('{"format": "2"}', "in another format"),
        ('{"format": 2}', "run.json is damaged: the key `netspurt` is missing"),
        ("[" * 100_000, "run.json is damaged"),
    ],
)
def test_an_invalid_manifest_is_an_error(folder: Path, text: str, says: str) -> None:
    (folder / "run.json").write_text(text)
    with pytest.raises(ns.RunError) as raised:
        ns.open_run(folder)
    assert says in str(raised.value)
    assert str(folder) in str(raised.value)


@pytest.mark.parametrize(
    "key", ["netspurt", "title", "source", "seed", "stop_ns", "digest", "flows_digest", "files"]
)
def test_every_key_of_a_manifest_is_required_and_has_a_type(folder: Path, key: str) -> None:
    rewrite(folder, **{key: [1.5]})
    with pytest.raises(ns.RunError, match=f"run.json is damaged: `{key}` is not a value of type "):
        ns.open_run(folder)
    kept = {name: value for name, value in manifest(folder).items() if name != key}
    (folder / "run.json").write_text(json.dumps(kept))
    with pytest.raises(ns.RunError, match=f"run.json is damaged: the key `{key}` is missing"):
        ns.open_run(folder)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"seed": -1}, "`seed` is below zero"),
        ({"stop_ns": -5}, "`stop_ns` is below zero"),
        ({"stop_ns": 10**400}, "`stop_ns` is a number of more than 64 bits"),
        ({"tables": {"flows": 2**63}}, f"`tables.flows` = {2**63}, and the file has 1 row"),
    ],
)
def test_an_impossible_number_in_a_manifest_is_reported_with_its_key(
    netspurt: Command, folder: Path, changes: dict[str, Any], says: str
) -> None:
    rewrite(folder, **changes)
    refused(netspurt("table", folder), f"{folder}/run.json is damaged: {says}")


@pytest.mark.parametrize("name", ["../flows", "/etc/passwd", "a b", ""])
def test_no_table_is_read_from_outside_the_folder(folder: Path, name: str) -> None:
    rewrite(folder, tables={name: 1})
    with pytest.raises(ns.RunError, match="no table is called"):
        ns.open_run(folder)


@pytest.mark.parametrize("text", ["{", "[]", "\ud800", '{"valid": true}', "[" * 100_000])
def test_the_error_names_a_damaged_report_of_a_live_run(folder: Path, text: str) -> None:
    live = folder / "live.json"
    live.write_text(text, encoding="utf-8", errors="surrogatepass")
    digest = hashlib.sha256(live.read_bytes()).hexdigest()
    rewrite(folder, files={**manifest(folder)["files"], "live.json": digest})
    with pytest.raises(ns.RunError, match=r"live\.json is damaged"):
        ns.open_run(folder)
    live.write_text(text + " ", encoding="utf-8", errors="surrogatepass")
    with pytest.raises(
        ns.RunError, match=r"live\.json is damaged: it differs from what the run wrote"
    ):
        ns.open_run(folder)


@pytest.mark.parametrize("name", ["run.json", "scenario.toml", "flows.parquet"])
def test_a_symbolic_link_in_a_run_is_refused(
    netspurt: Command, folder: Path, tmp_path: Path, name: str
) -> None:
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    refused(netspurt("table", folder), f"{folder / name} is a symbolic link")


def test_a_run_is_opened_through_a_symbolic_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    assert ns.open_run(tmp_path / "link").title == ns.open_run(folder).title


def test_the_error_for_saving_an_opened_run_says_to_copy_its_folder(
    folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(
        ns.RunError, match=f"this run is already saved in {folder}: copy that folder"
    ):
        ns.open_run(folder).save(tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_the_capture_of_a_node_has_a_valid_file_name(tmp_path: Path) -> None:
    scenario = ns.Scenario.parse(PROBED).replace({"record.tables": ["segments"]})
    folder = scenario.run().save(tmp_path / "r")
    assert manifest(folder)["captures"] == {"a": "a.pcapng", "b/c": "b_c.pcapng"}
    assert (folder / "b_c.pcapng").read_bytes()[:4] == b"\x0a\x0d\x0d\x0a", (
        "the capture must begin with a section header"
    )


def test_a_run_prints_its_flows_and_its_echo_probes(probed: ns.Run) -> None:
    lines = str(probed).splitlines()
    assert lines[0] == "Echo probes beside a transfer"
    assert lines[1].startswith("3 s simulated, seed 9, digest ")
    sent, repeated = (int(probed.flows[name].sum()) for name in ("sent", "retransmissions"))
    assert lines[2].startswith(f"1 flow: {sent:,} sent, {repeated:,} retransmitted, timeouts: ")
    lost = int(probed.echo_probes["lost"].sum())
    assert lines[3] == f"{len(probed.echo_probes):,} echo probes: {lost:,} lost"
    only = (
        probed.scenario.partition("[flows")[0]
        + "[echo_probes"
        + (probed.scenario.partition("[echo_probes")[2])
    )
    alone = ns.Scenario.parse(only).run()
    assert "flow" not in str(alone).partition("tables:")[0]


@pytest.mark.parametrize(
    "name", ["segments", "sack_blocks", "syns", "cwnd", "rto", "queue", "drops"]
)
def test_the_error_for_a_table_that_was_not_recorded_says_what_to_add(
    probed: ns.Run, name: str
) -> None:
    add = "segments" if name in ("sack_blocks", "syns") else name
    with pytest.raises(ns.RunError, match=f'add "{add}" to `tables` under') as raised:
        getattr(probed, name)
    assert "only flows, " in str(raised.value)


def test_the_error_for_an_unknown_table_lists_the_known_ones(probed: ns.Run) -> None:
    with pytest.raises(ns.RunError, match="there is no table 'window'; this run has flows, "):
        probed.table("window")
    with pytest.raises(ns.RunError, match=r"add `app = \{ reply ="):
        _ = probed.requests


# Making folders.


def test_a_folder_appears_when_complete_and_a_failure_leaves_nothing(
    tmp_path: Path,
) -> None:
    with new_folder(tmp_path / "above" / "r") as partial:
        (partial / "file").write_text("x")
        assert not (tmp_path / "above" / "r").exists()
    assert (tmp_path / "above" / "r" / "file").read_text() == "x"
    for error in (KeyboardInterrupt, RuntimeError):
        with pytest.raises(error):
            fill(tmp_path / "above" / "s", error)
    assert os.listdir(tmp_path / "above") == ["r"]  # noqa: PTH208 - hidden files, too


class HandledError(Exception):
    """The exception that the handler of a signal raises."""


def test_a_signal_is_handled_before_all_files_of_a_run_are_written(
    tmp_path: Path,
) -> None:
    run = ns.new_scenario().run()
    seen: list[set[str]] = []

    def look(_signal: int, _frame: object) -> None:
        files = {file.name for file in tmp_path.glob(".r.partial*/*")}
        if files and not seen:
            seen.append(files)
            raise HandledError

    before = signal.signal(signal.SIGALRM, look)
    # The signal comes again and again, because the time at which writing begins is not known.
    signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
    try:
        with pytest.raises(HandledError):
            run.save(tmp_path / "r")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert "run.json" not in seen[0], "the signal must not wait until all files are written"


def test_an_interrupt_does_not_wait_until_the_core_has_ended_a_long_call() -> None:
    over = threading.Event()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        interruptible(over.wait, "a long call")
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "a long call"]
    assert thread.is_alive()
    over.set()
    thread.join()
    assert interruptible(lambda: 7, "a call") == 7
    with pytest.raises(ValueError, match="x"):
        interruptible(lambda: int("x"), "a call")


def fill(folder: Path, end: type[BaseException]) -> None:
    """Begin to make a folder, and raise this error before it is complete."""
    with new_folder(folder) as partial:
        (partial / "file").write_text("x")
        raise end


def test_an_error_of_the_disk_names_the_file_in_the_requested_folder(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="No space left") as raised,
        new_folder(tmp_path / "r") as made,
    ):
        raise OSError(28, "No space left on device", str(made / "flows.parquet"))
    assert str(raised.value) == f"{tmp_path / 'r' / 'flows.parquet'}: No space left on device"


def test_a_folder_that_another_program_made_meanwhile_is_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "r" / "theirs"
    with pytest.raises(FileExistsError, match="r exists already"), new_folder(tmp_path / "r"):
        theirs.mkdir(parents=True)
    assert [path.name for path in tmp_path.rglob("*")] == ["r", "theirs"]


def test_dangling_links_and_paths_below_files_are_refused_as_folders(tmp_path: Path) -> None:
    (tmp_path / "r").symlink_to(tmp_path / "nothing")
    with pytest.raises(FileExistsError, match="name another folder, or remove it"):
        check_free(tmp_path / "r")
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"file/r cannot be made: .*name a folder elsewhere"):
        check_free(tmp_path / "file" / "r")


def ended_process() -> int:
    """Return the PID of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def test_leftovers_of_killed_runs_are_removed_and_folders_of_living_runs_are_not(
    tmp_path: Path,
) -> None:
    with new_folder(tmp_path / "r") as partial:
        machine = partial.name.split("-")[1]
        dead = ended_process()
        left = tmp_path / f".s.partial-{machine}-{dead}-0123abcd"
        untouched = [
            f".r.partial-{machine}-{os.getpid()}-0123abcd",
            f".r.partial-{machine}-{dead}-0123abcX",
            f"r.partial-{machine}-{dead}-0123abcd",
            f".r.partial-ffffffff-{dead}-0123abcd",
            f".r.partial-{machine}-99999999999999999999-0123abcd",
        ]
        for name in (left.name, *untouched):
            (tmp_path / name).mkdir()
        (left / "flows.parquet").touch()
        assert leftovers(tmp_path) == [left]
        with new_folder(tmp_path / "t"):
            pass
        assert {path.name for path in tmp_path.iterdir()} == {partial.name, "t", *untouched}


def test_a_lock_protects_the_folder_of_a_process_in_another_pid_namespace(tmp_path: Path) -> None:
    with new_folder(tmp_path / "r") as partial:
        # In the other PID namespace, the process has a PID that no process has here.
        shown = partial.with_name(partial.name.replace(str(os.getpid()), str(ended_process())))
        partial.rename(shown)
        assert leftovers(tmp_path) == []
        shown.rename(partial)


def test_a_symbolic_link_with_the_name_of_a_leftover_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    with new_folder(tmp_path / "r") as partial:
        link = tmp_path / partial.name.replace(str(os.getpid()), str(ended_process()))
    link.symlink_to(tmp_path / "precious")
    with new_folder(tmp_path / "s"):
        pass
    assert (tmp_path / "precious").is_dir()


@pytest.mark.parametrize(
    ("shim", "why"),
    [
        ("", "this run has no shims"),
        ('shim = ["off", "off"]\n', "this run has no shims"),
        ('shim = "sfr"\n', "no shim of this run retransmitted anything"),
        ('shim = ["off", "linux"]\n', "no shim of this run retransmitted anything"),
    ],
)
def test_the_error_for_a_missing_table_of_shims_gives_the_reason(
    probed: ns.Run, shim: str, why: str
) -> None:
    """A shim is a retransmission timer between a host's TCP and the path."""
    scenario = PROBED.replace("[flows.x]\n", f"[flows.x]\n{shim}")
    with pytest.raises(ns.RunError, match=why):
        replace(probed, scenario=scenario).table("shims")
