"""Matched captures of two points, and a capture that was cut off."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

import netspurt as ns
from netspurt.poll import CutCapture, cut_off

from conftest import Command


@pytest.fixture(scope="module")
def two_points(start: ns.Scenario, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Simulate a transfer and capture it beside the sender and beside the receiver."""
    run = start.replace({"record.capture": True})
    return run.run().save(tmp_path_factory.mktemp("points") / "run")


def test_the_segments_of_two_captures_are_paired_by_sequence_numbers(
    netspurt: Command, two_points: Path
) -> None:
    near, far = two_points / "source.pcapng", two_points / "receiver.pcapng"
    result = netspurt("match", near, far, "--json")
    (data,) = json.loads(result.stdout)
    assert result.stderr == "", "complete captures must give no warning"
    assert data["paired"] > 50
    assert data["only_second"] == 0
    assert data["only_first"] >= 1, (
        "segments that the queue dropped must be seen only beside the sender"
    )
    assert data["out_s"] > 1


def test_captures_in_the_wrong_order_are_an_error_that_says_how_to_swap_them(
    netspurt: Command, two_points: Path
) -> None:
    near, far = two_points / "source.pcapng", two_points / "receiver.pcapng"
    assert "Swap" not in netspurt("match", near, far).stdout
    output = " ".join(netspurt("match", far, near).stdout.split())
    assert "so the times are negative, unless the clocks differ." in output, (
        "the note on negative times must be printed if data goes in one direction"
    )
    assert f"Swap the captures: netspurt match {near} {far}" in output


def test_connections_in_two_captures_of_a_folder_are_listed_once(
    netspurt: Command, two_points: Path
) -> None:
    near, far = two_points / "source.pcapng", two_points / "receiver.pcapng"
    output = " ".join(netspurt("explain", near, far).stdout.split())
    expected = f"{near} and {far} have 1 connection in common, counted twice: see netspurt match."
    assert output.count(expected) == 1, output
    assert "in common" not in netspurt("explain", near).stdout


def test_a_capture_that_is_cut_off_is_matched_up_to_the_cut_with_a_warning(
    netspurt: Command, two_points: Path, tmp_path: Path
) -> None:
    near, far = two_points / "source.pcapng", two_points / "receiver.pcapng"
    content = far.read_bytes()
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(content[: len(content) * 2 // 3 - 1])
    fault = cut_off(cut)
    assert fault is not None
    assert 0 < fault.octets < fault.of
    assert cut_off(far) is None
    result = netspurt("match", near, cut)
    assert result.returncode == 0
    assert f"warning: {cut} ends in the middle of a record: it has" in " ".join(
        result.stderr.split()
    )
    assert "at both" in result.stdout


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcap_records_are_counted_in_either_order_of_octets(order: str, tmp_path: Path) -> None:
    file = tmp_path / "a.pcap"
    header = struct.pack(order + "IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    record = struct.pack(order + "IIII", 1, 0, 40, 1500) + bytes(40)
    file.write_bytes(header + record * 3)
    assert cut_off(file) is None
    file.write_bytes(header + record * 2 + record[:-1])
    assert cut_off(file) == CutCapture(records=2, octets=55, of=56)
    file.write_bytes(header + record + record[:10])
    assert cut_off(file) == CutCapture(records=1, octets=10, of=16)
    file.write_bytes(b"not a capture")
    assert cut_off(file) is None
