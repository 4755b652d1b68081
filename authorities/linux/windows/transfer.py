"""Measures the receive windows that the kernel announces in the scenario `transfer.toml`.

``.venv/bin/python authorities/linux/windows/transfer.py`` runs the scenario live, in about ten
seconds, and writes ``transfer.csv`` beside this program. The file has a row for each ACK of the
receiver: when the ACK left (in microseconds from the first ACK), the number of octets that it
acknowledges, and the receive window in octets.
"""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from netspurt.live import run_live
from netspurt.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netspurt.run import Run

HERE = Path(__file__).resolve().parent
SCENARIO = HERE / "transfer.toml"
TABLE = HERE / "transfer.csv"

#: An ACK: microseconds, octets acknowledged, octets of receive window.
Announced = tuple[int, int, int]


def announced(run: Run) -> Iterator[Announced]:
    """Yield each ACK in ``run.segments`` that the receiver sent for data."""
    segments = run.segments
    shift = int(run.syns["window_scale"][run.syns["node"] == "b"][0])
    is_ack = (segments["node"] == "b") & (segments["way"] == "out") & (segments["kind"] == "ack")
    is_ack &= segments["ack"] > 1
    first = None
    columns = (segments[name][is_ack].tolist() for name in ("t_ns", "ack", "window"))
    for t_ns, ack, window in zip(*columns, strict=True):
        first = t_ns if first is None else first
        yield (t_ns - first) // 1000, ack - 1, window << shift


def filed() -> list[Announced]:
    """Return the rows of ``transfer.csv``."""
    with TABLE.open(newline="") as file:
        return [(int(us), int(ack), int(window)) for us, ack, window in list(csv.reader(file))[1:]]


def main() -> None:
    """Write the table."""
    kernel = Scenario.parse(SCENARIO.read_text()).replace({"flows.f.endpoint": "kernel"})
    with tempfile.TemporaryDirectory() as folder:
        rows = list(announced(run_live(kernel, Path(folder) / "run")))
    with TABLE.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("us", "ack", "window"), *rows])


if __name__ == "__main__":
    main()
