"""Tests the errors for runs and files that exceed a limit, and for damaged Parquet files."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import netspurt as ns
from netspurt import DelaysError, _core

from conftest import Command

#: A scenario whose run records many rows.
LONG = """
stop = "60 s"
links = { wire = { between = ["a", "b"], rate = "10 Mbit/s", delay = "10 ms" } }
[flows.x]
from = "a"
to = "b"
profile = "rfc-2026"
"""


def bounded(rows: int) -> ns.Scenario:
    """Return the scenario `LONG` with a limit on the rows that its run may record."""
    return ns.Scenario.parse(LONG + f"[record]\nrows = {rows}\n")


def test_a_run_that_records_too_many_rows_names_the_limit() -> None:
    with pytest.raises(ValueError, match=r"record\.rows: more than 5000 rows .*record\.spy"):
        bounded(5000).run()
    complete = bounded(10**9).run()
    recorded = {"segments", "sack_blocks", "syns", "cwnd", "rto", "rtt", "queue", "drops"}
    rows = sum(len(getattr(complete, name)["t_ns"]) for name in recorded & set(complete.tables))
    assert rows > 5000
    with pytest.raises(ValueError, match=f"more than {rows // 2} rows"):
        bounded(rows // 2).run()
    assert bounded(rows).run().digest == complete.digest


def test_the_command_names_the_exceeded_limit_and_writes_no_folder(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    result = netspurt("run", "long.toml", "--set", "record.rows=100", "--out", "r")
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith("error: record.rows: more than 100 rows were recorded up to 0.")
    assert not (tmp_path / "r").exists()


def parquet(path: Path, rows: int, **options: object) -> bytes:
    """Write a Parquet file of invented delays, and return its octets."""
    sent = pa.array([n * 10**9 for n in range(rows)])
    rtt = pa.array([(n * 7919) % 10**8 + 10**6 for n in range(rows)])
    note = pa.array([f"x{n % 7}" for n in range(rows)])
    pq.write_table(pa.table({"sent_ns": sent, "rtt_ns": rtt, "note": note}), path, **options)
    return path.read_bytes()


@pytest.mark.parametrize("unit", ["ms", "us", "ns", "int96"])
@pytest.mark.parametrize("name", ["sent_ms", "sent_s", "timestamp"])
def test_a_timestamp_of_parquet_has_the_unit_of_its_type(
    tmp_path: Path, unit: str, name: str
) -> None:
    old = unit == "int96"
    kind = pa.timestamp("ns" if old else unit)
    sent = pa.array([datetime(2024, 10, 22, 10, 11, n) for n in (12, 14)], kind)
    table = pa.table({name: sent, "rtt_ms": [20.0, 21.0]})
    pq.write_table(table, tmp_path / "r.parquet", use_deprecated_int96_timestamps=old)
    (recording,) = ns.read_delays(tmp_path / "r.parquet")
    assert recording.sent_ns.tolist() == [0, 2 * 10**9]
    columns = {"sent": name, "time_unit": "s"}
    with pytest.raises(ns.DelaysError, match="leave out `--column time_unit`"):
        ns.read_delays(tmp_path / "r.parquet", columns=columns)


def test_a_value_too_large_for_its_column_means_a_damaged_file(
    tmp_path: Path,
) -> None:
    octets = pa.table({"flags": pa.array([0x1234], pa.uint16())})
    schema = pa.schema([pa.field("flags", pa.uint16(), nullable=False)])
    plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    pq.write_table(octets.cast(schema), tmp_path / "t.parquet", **plain)
    whole = (tmp_path / "t.parquet").read_bytes()
    assert whole.count(b"\x34\x12\x00\x00") == 1
    assert _core.Table.parse("t", whole).column("flags")[0].tolist() == [0x1234]
    with pytest.raises(OSError, match="the Parquet file is damaged"):
        _core.Table.parse("t", whole.replace(b"\x34\x12\x00\x00", b"\x34\x12\x01\x00"))


def test_a_panic_in_a_decoder_is_reported_as_a_damaged_file(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each of 1000 files has one wrong bit. The decoder panics at some of these files."""
    file, rng, messages = tmp_path / "damaged.parquet", Random(4), set()
    for options in (
        {"compression": "snappy"},
        {
            "compression": "none",
            "use_dictionary": False,
            "column_encoding": {
                "sent_ns": "DELTA_BINARY_PACKED",
                "rtt_ns": "DELTA_BINARY_PACKED",
                "note": "DELTA_BYTE_ARRAY",
            },
        },
    ):
        content = parquet(file, 200, **options)
        for _ in range(500):
            octets = bytearray(content)
            octets[rng.randrange(4, len(content) - 8)] ^= 1 << rng.randrange(8)
            file.write_bytes(octets)
            try:
                ns.read_delays(file)
            except DelaysError as error:
                messages.add(str(error).partition("Parquet file")[2][:40])
    assert any("is damaged" in text for text in messages), messages
    assert "panicked" not in capfd.readouterr().err


def test_a_damaged_table_raises_only_valueerror_or_oserror(tmp_path: Path) -> None:
    whole, rng = parquet(tmp_path / "t.parquet", 200, use_dictionary=False), Random(5)
    for _ in range(1000):
        octets = bytearray(whole)
        octets[rng.randrange(4, len(whole) - 8)] ^= 1 << rng.randrange(8)
        try:
            _core.Table.parse("t", bytes(octets))
        except (ValueError, OSError):
            continue


def test_a_small_file_of_many_rows_is_refused_with_the_limit(tmp_path: Path) -> None:
    """Almost 18 million equal rows need less than 100,000 octets."""
    path = tmp_path / "bomb.parquet"
    delays = pa.array([10**7]).take(pa.array([0] * (1 << 20)))
    with pq.ParquetWriter(path, pa.schema([("rtt_ns", pa.int64())])) as out:
        for _ in range(17):
            out.write_table(pa.table({"rtt_ns": delays}))
    assert path.stat().st_size < 100_000
    with pytest.raises(
        DelaysError, match=r"has 17825792 rows, and a file may have at most 16777216"
    ):
        ns.read_delays(path)


def test_a_small_file_with_many_ping_runs_names_the_limit(tmp_path: Path) -> None:
    head = "PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.\n"
    line = "64 bytes from 10.0.0.1: icmp_seq={} ttl=64 time=1.0 ms\n"
    text = "".join(head + line.format(number) for _ in range(20) for number in (1, 4_000_000))
    (tmp_path / "ping.txt").write_text(text)
    with pytest.raises(
        DelaysError, match="the runs in the file have more than 4194304 lost probes"
    ):
        ns.read_delays(tmp_path / "ping.txt")
