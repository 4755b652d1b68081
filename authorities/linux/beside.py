"""Compares the kernel's TCP with the profile `linux-6`, on the same paths and seeds.

``.venv/bin/python authorities/linux/beside.py`` runs every case of ``beside_cases.py`` twice: with
the running kernel at both ends, and in simulation. It writes ``beside.csv`` and ``beside.json``,
and takes about a minute. If the live run of a group is not valid (`docs/live.md`), the group is run
again.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import sys
import tempfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from beside_cases import CASES, scenario

from netspurt.analysis.compare import compare, events
from netspurt.live import run_live
from netspurt.scenario import Scenario, as_toml

if TYPE_CHECKING:
    from netspurt.analysis.compare import Seen
    from netspurt.run import Run
    from netspurt.table import Table

HERE = Path(__file__).resolve().parent
#: The maximum lateness of a delivery [s], and the maximum number of runs of a group.
BUDGET_S = 0.003
TRIES = 6
#: The kernel's timer in `TCP_INFO` is compared with the values that the model's timer has at the
#: corresponding instant, and up to this time [s] before and after that instant.
POLLED_S = 0.003
JIFFY_MS = 4.0


@dataclass(frozen=True)
class Row:
    """The comparison of one case. Instants count from the first data segment.

    `kernel` and `model` are the numbers of retransmissions by cause, and `equal` says whether they
    are the same. `seen` is the number of segments and ACKs of the kernel's run. `same` is the
    number of segments and ACKs before the first difference between the two runs. This difference
    comes at the instant `parted_s`, which is `None` if there is no difference. `rtos` is the number
    of values of the kernel's timer that were compared, and `rto_off_ms` is their largest difference
    from the model's values.
    """

    group: str
    case: str
    kernel: str
    model: str
    equal: bool
    same: int
    seen: int
    parted_s: float | None
    rto_off_ms: float
    rtos: int


def parse(group: str, endpoint: str, seed: int) -> Scenario:
    """Return the scenario of a group, parsed."""
    text = "\n".join(f"{k} = {as_toml(v)}" for k, v in scenario(group, endpoint, seed).items())
    return Scenario.parse(text, name=group)


def causes(found: dict[str, int]) -> str:
    """Return the numbers of retransmissions by cause as one line of text."""
    return " ".join(f"{cause}:{n}" for cause, n in sorted(found.items())) or "none"


def by_instant(table: Table, start: float) -> tuple[np.ndarray, np.ndarray]:
    """Return when the timer changed, in seconds from `start`, and its new values [ms]."""
    return table.seconds() - start, np.asarray(table["rto_ns"], float) / 1e6


def rto_difference(
    kernel: Run, model: Run, flow: str, seen: list[list[Seen]], same: int
) -> tuple[float, int]:
    """Return the largest difference of the two timers [ms], and how many values were compared.

    Values are compared until the runs differ. The kernel's `TCP_INFO` was read every 10 ms. Each
    reading comes after a segment that is in both runs. If it comes a time x after this segment, the
    corresponding instant of the model's run is x after the same segment. The candidates are the
    model's values within `POLLED_S` of that instant, and the last two values before them. Two
    earlier values are needed, because the table has the timers of both ends, so one value may be
    the receiver's. The candidate that differs least from the kernel's value counts.
    """
    model_events, kernel_events = (np.array([event.t_s for event in run[:same]]) for run in seen)
    end = min(run[same].t_s if same < len(run) else np.inf for run in seen)
    kernel_s, kernel_rto = by_instant(kernel.rto.where(flow=flow), seen[1][0].at_s)
    model_s, model_rto = by_instant(model.rto.where(flow=flow), seen[0][0].at_s)
    largest, count = 0.0, 0
    for at, value in zip(kernel_s, kernel_rto, strict=True):
        if not 0 <= at < end:
            continue
        last = int(np.searchsorted(kernel_events, at, side="right")) - 1
        model_at = model_events[last] + at - kernel_events[last]
        first = max(0, int(np.searchsorted(model_s, model_at - POLLED_S, side="right")) - 2)
        near = model_rto[first : int(np.searchsorted(model_s, model_at + POLLED_S, side="right"))]
        largest, count = max(largest, float(np.abs(near - value).min())), count + 1
    return largest, count


def row(group: str, name: str, kernel: Run, model: Run) -> Row:
    """Return the comparison of one case in the kernel's and in the model's run."""
    seen = [events(run.segments, name, f"{name}-a") for run in (model, kernel)]
    comparison = compare(*seen)
    same = comparison.same
    end = min(run[same].t_s if same < len(run) else 1e9 for run in seen)
    difference, count = rto_difference(kernel, model, name, seen, same)
    parted = None if comparison.parted == (None, None) else round(end, 4)
    model_causes, kernel_causes = (
        causes(found.get("out", {})) for found in comparison.retransmissions
    )
    return Row(
        group,
        name,
        kernel_causes,
        model_causes,
        model_causes == kernel_causes,
        same,
        len(seen[1]),
        parted,
        round(difference, 1),
        count,
    )


def in_time(scenario: Scenario, folder: Path, budget: float) -> Run:
    """Run a scenario live, at most `TRIES` times, and return the first valid run.

    A run with a delivery more than `budget` seconds late is not valid. `docs/live.md` lists the
    other conditions.

    Raises
    ------
    RuntimeError
        If none of these runs is valid.
    """
    for attempt in range(TRIES):
        run = run_live(scenario, folder / f"{scenario.name}-{attempt}", budget=budget)
        assert run.live is not None
        if run.live.valid:
            return run
        late = run.live.lateness.max_ns / 1e6
        print(f"{scenario.name}: {late:.1f} ms late; run again", file=sys.stderr)
    raise RuntimeError(
        f"{scenario.name}: none of {TRIES} runs was valid: run the program on an idle machine"
    )


def beside(group: str, seed: int, folder: Path) -> list[Row]:
    """Run a group with the model and with the kernel, and return the comparison of each case."""
    model = parse(group, "model", seed).run()
    kernel = in_time(parse(group, "kernel", seed), folder, BUDGET_S)
    model.save(folder / f"{group}-model")
    return [row(group, name, kernel, model) for name in CASES[group]]


def main() -> None:
    """Compare all groups, and write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--group", choices=CASES, action="append")
    parser.add_argument("--to", type=Path, default=HERE)
    parser.add_argument("--keep", type=Path, help="a folder for the runs")
    options = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        for group in options.group or CASES:
            rows += beside(group, options.seed, folder)
    with (options.to / "beside.csv").open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow([field.name for field in fields(Row)])
        out.writerows([getattr(one, field.name) for field in fields(Row)] for one in rows)
    about = {"release": platform.release(), "seed": options.seed, "cases": len(rows)}
    (options.to / "beside.json").write_text(json.dumps(about, indent=1) + "\n")
    equal = sum(compared.equal for compared in rows)
    near = sum(compared.rto_off_ms <= JIFFY_MS for compared in rows)
    print(
        f"{len(rows)} cases: {equal} with equal numbers of retransmissions by cause, "
        f"{near} in which the two timers differ by at most a jiffy"
    )


if __name__ == "__main__":
    main()
