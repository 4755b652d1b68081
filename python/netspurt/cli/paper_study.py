"""`netspurt papers curves` computes delays over satellites; `papers study` runs a whole study."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import typer

from netspurt.cli.output import columns, progress
from netspurt.cli.programs import Form
from netspurt.papers import read_paper
from netspurt.papers.contacts import EARTH_KM, Curve, contacts, write
from netspurt.papers.study import Study
from netspurt.papers.swept import Sweeps


def write_curves(key: str, out: Path | None, form: Form) -> None:
    """Compute the delays of a paper's satellite contacts, write them to files, and print a table.

    A contact is a time in which a spacecraft can reach a relay satellite. A link of a scenario can
    follow the file of a contact.
    """
    paper = read_paper(key)
    folder = out or Path("curves") / key
    made = write(paper, folder)
    found = contacts(paper)
    if not form.for_people:
        told = [_row(name, contact.satellite, made[name]) for name, contact in found.items()]
        form.print({"folder": str(folder), "contacts": told}, told)
        return
    heading = (
        "contact",
        "satellite",
        "lasts s",
        "points",
        "min delay ms",
        "max delay ms",
        "swing ms",
        "steps s",
    )
    rows: list[tuple[str, ...]] = [heading]
    for name, contact in found.items():
        rows.append((name, contact.satellite, *_cells(made[name])))
    for line in columns(rows, right=(2, 3, 4, 5, 6)):
        typer.echo(line)
    typer.echo(
        f"delays are one-way; Earth's radius {EARTH_KM} km; wrote {len(made)} files to {folder}/"
    )


def _row(name: str, satellite: str, curve: Curve) -> dict[str, Any]:
    return {
        "contact": name,
        "satellite": satellite,
        "lasts_s": curve.lasts,
        "points": len(curve.t_ns),
        "delay_s_min": float(curve.delay_ns.min()) / 1e9,
        "delay_s_max": float(curve.delay_ns.max()) / 1e9,
        "steps_s": [t for t, _ in curve.jumps()],
    }


def _cells(curve: Curve) -> tuple[str, ...]:
    low, high = float(curve.delay_ns.min()) / 1e6, float(curve.delay_ns.max()) / 1e6
    steps = ", ".join(f"{t:.1f}" for t, _ in curve.jumps())
    numbers = (f"{value:.2f}" for value in (low, high, high - low))
    return f"{curve.lasts:.1f}", str(len(curve.t_ns)), *numbers, steps or "none"


def run_study(key: str, out: Path | None, threads: int) -> None:
    """Run all transfers of a paper's study, or all its sweeps over several values."""
    paper = read_paper(key)
    study = Sweeps.of(paper) if paper.sweeps else Study.of(paper)
    what = "cases" if paper.sweeps else "transfers"
    folder = out or Path("runs") / "papers" / key / "study"
    began, cpu = time.monotonic(), time.process_time()
    try:
        with progress(f"study of {key}", unit=what) as update:
            carried = study.whole(folder, update, threads)
    except KeyboardInterrupt:
        told = f"Stopped. Finished {what} are kept; run the command again to continue."
        typer.echo(told, err=True)
        raise
    spent, cpu = time.monotonic() - began, time.process_time() - cpu
    told = f"{study.count(folder):,} {what}, {carried / 1e6:,.0f} million packet-hops"
    typer.echo(f"{told}, in {folder}/")
    typer.echo(f"{spent:.0f} s, {cpu:.0f} s of processor time")
    typer.echo(f"verdicts: netspurt papers check {key} --study {folder}")
