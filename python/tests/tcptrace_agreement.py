"""Compares our statistics of captures with those of the program tcptrace.

Rules explain the differences that a column always has. Each other difference is listed with a
reason in `authorities/tcptrace/differences.csv`. `python python/tests/tcptrace_agreement.py`
rewrites this list.
"""

from __future__ import annotations

import csv
import ipaddress
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: The list of the known differences, the folder with the captures, and the heading of the list.
LISTED = ROOT / "authorities" / "tcptrace" / "differences.csv"
TRACES = ROOT.parent / "shared" / "traces"
HEADING = ("file", "connection", "column", "tcptrace", "netspurt", "reason")

#: The reason for the differences in a column, by the beginning of the column's name.
#: `authorities/tcptrace/README.md` explains each reason.
REASONS = {
    "RTT_full_sz": "full-size",
    "RTT full_sz": "full-size",
    "wavg_owin": "held",
    "avg_owin": "which-ack",
    "avg_win_adv": "window-mean",
    "ambiguous_acks": "several-segments",
    "post-loss_acks": "several-segments",
    "RTT_min_(last)": "several-segments",
    "RTT_max_(last)": "several-segments",
    "RTT_avg_(last)": "several-segments",
    "RTT_sdv_(last)": "several-segments",
    "min_retr_time": "several-segments",
    "max_retr_time": "several-segments",
    "avg_retr_time": "several-segments",
    "sdv_retr_time": "several-segments",
    "max_#_retrans": "several-segments",
    "segs_cum_acked": "several-segments",
    "outoforder_pkts": "several-segments",
    "RTT_from_3WHS": "repeated-syn",
    "RTT_min": "zero-is-unset",
    "ttl_stream_length": "reset-after-fin",
    "missed_data": "reset-after-fin",
    "initial_window": "no-syn",
    "req_1323_ws/ts": "cut-options",
    "idletime_max": "unexplained",
}
#: Reasons that do not follow from a column's name alone.
OTHER_REASONS = {"segment-end", "nothing-outstanding", "idle", "captured-twice"}
#: Captures in which tcptrace counts a different number of connections, with the reason.
FILES = {"fack034.pcap": "idle"}
#: Directions of connections whose packets are in the capture twice.
TWICE = {("tcptrace__discard.solaris.dmp", "5", "a2b")}


@dataclass(frozen=True, order=True)
class Difference:
    """Holds a cell in which tcptrace and netspurt differ."""

    file: str
    connection: str
    column: str
    tcptrace: str
    netspurt: str


Rows = dict[str, dict[str, str]]
#: A rule takes tcptrace's value, our value, and the row's cells in the columns `USED`. It returns
#: true if it explains the difference between the two values.
Rule = Callable[[str, str, dict[str, str]], bool]


def rows(text: str) -> Rows:
    """Return the rows of tcptrace's CSV by connection, without padding."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    if not lines:
        return {}
    names = lines[0].split(",")
    split = ([cell.strip() for cell in line.split(",")] for line in lines[1:])
    return {cells[0]: dict(zip(names, cells, strict=True)) for cells in split}


def theirs(file: Path) -> Rows:
    """Return tcptrace's statistics of a capture."""
    command = ["tcptrace", "-lrW", "--csv", "-n", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return rows(done.stdout)


def by_rule(column: str, their: str, our: str, row: dict[str, str]) -> bool:
    """Return whether a rule in `RULES` explains the difference between two values of a column."""
    stem, way = re.sub("_(a2b|b2a)$", "", column), column[-3:]
    rule = RULES.get(stem)
    return rule is not None and rule(
        their, our, {name: row.get(f"{name}_{way}", "") for name in USED}
    )


#: The columns that rules use, without the direction at the end of their names.
USED = ("actual_data_bytes", "actual_data_pkts", "RTT_samples", "ambiguous_acks")


def _one_more(their: str, our: str, _row: dict[str, str]) -> bool:
    """Accept a value of tcptrace that is larger than ours by one."""
    return int(their) == int(our) + 1


def _one_more_or_one(their: str, our: str, _row: dict[str, str]) -> bool:
    """Accept a value of tcptrace that is 1, or larger than ours by one."""
    return int(their) in {1, int(our) + 1}


def _cut(their: str, _our: str, row: dict[str, str]) -> bool:
    """Accept the mean size of a segment with tcptrace's divisor, which is 0.001 too large."""
    octets, packets = int(row["actual_data_bytes"]), int(row["actual_data_pkts"])
    return int(their) == int(octets / (packets + 0.001))


def _unpadded(their: str, our: str, _row: dict[str, str]) -> bool:
    """Accept a time whose microseconds tcptrace prints without leading zeros."""
    whole, fraction = our.split(".")
    return their == f"{whole}.{int(fraction)}"


def _same_address(their: str, our: str, _row: dict[str, str]) -> bool:
    """Accept another spelling of the same IP address."""
    return ipaddress.ip_address(their) == ipaddress.ip_address(our)


def _none_of_two(samples: str) -> Rule:
    """Return the rule for a standard deviation, which is 0 in tcptrace if there are two samples."""
    return lambda their, _our, row: row[samples] == "2" and float(their) == 0


def _divided(samples: str) -> Rule:
    """Return the rule for a mean whose divisor in tcptrace is 0.0001 too large.

    If our mean is computed with the same divisor, the two means may differ by less than 0.11 ms.
    """

    def rule(their: str, our: str, row: dict[str, str]) -> bool:
        count = int(row[samples])
        return abs(float(their) - float(our) * count / (count + 0.0001)) < 0.11

    return rule


#: The rules by the name of the column, without the direction at its end.
RULES: dict[str, Rule] = {
    "max_owin": _one_more,
    "avg_owin": _one_more,
    "min_non-zero_owin": _one_more_or_one,
    "avg_segm_size": _cut,
    "first_packet": _unpadded,
    "last_packet": _unpadded,
    "host_a": _same_address,
    "host_b": _same_address,
    "RTT_stdev": _none_of_two("RTT_samples"),
    "RTT_sdv_(last)": _none_of_two("ambiguous_acks"),
    "RTT_avg": _divided("RTT_samples"),
    "RTT_avg_(last)": _divided("ambiguous_acks"),
}


def differences(name: str, tcptrace: Rows, netspurt: Rows) -> Iterator[Difference]:
    """Yield the differences between the rows of one capture that no rule explains."""
    for number in sorted({*tcptrace, *netspurt}, key=int):
        if number not in tcptrace or number not in netspurt:
            there = ["there" if number in one else "not there" for one in (tcptrace, netspurt)]
            yield Difference(name, number, "conn_#", *there)
            continue
        for column, their in tcptrace[number].items():
            our = netspurt[number].get(column, "no such column")
            if their != our and not by_rule(column, their, our, netspurt[number]):
                yield Difference(name, number, column, their, our)


def listed() -> dict[Difference, str]:
    """Return the differences in the file `LISTED`, with their reasons."""
    with LISTED.open(newline="") as file:
        return {Difference(*row[:5]): row[5] for row in list(csv.reader(file))[1:]}


def captures() -> list[Path]:
    """Return the sample captures."""
    endings = {".pcap", ".pcapng", ".dmp"}
    folders = (TRACES / name for name in ("public", "groundtruth", "tcprs"))
    return sorted(file for folder in folders for file in folder.glob("*") if file.suffix in endings)


def ours(file: Path) -> Rows:
    """Return netspurt's statistics of a capture, in tcptrace's layout."""
    from netspurt.captures import ConnectionRows, heading

    text = heading("tcptrace-W") + b"".join(ConnectionRows([str(file)], "tcptrace-W"))
    return rows(text.decode())


def reason(one: Difference) -> str:
    """Return the reason for a difference."""
    if one.column.startswith(("duplicate_acks", "triple_dupacks")):
        more = int(one.netspurt) > int(one.tcptrace)
        return "segment-end" if more else "nothing-outstanding"
    way = (one.file, one.connection, one.column[-3:])
    if way in TWICE and not one.column.startswith("wavg_owin"):
        return "captured-twice"
    if one.file in FILES and not one.column.startswith(("RTT_full", "RTT full")):
        return FILES[one.file]
    return next(why for start, why in REASONS.items() if one.column.startswith(start))


if __name__ == "__main__":
    found = [
        difference
        for file in captures()
        for difference in differences(file.name, theirs(file), ours(file))
    ]
    with LISTED.open("w", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(HEADING)
        for one in sorted(found):
            cells = (one.file, one.connection, one.column, one.tcptrace, one.netspurt)
            table.writerow([*cells, reason(one)])
    print(f"{len(found)} differences", file=sys.stderr)
