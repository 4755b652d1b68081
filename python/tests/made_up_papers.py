"""Makes papers, runs and tables from numbers that a test chooses.

A paper is a published document whose claims netspurt checks. A bench is a paper with its runs. A
measure is a function that computes a value for a claim from a bench.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import netspurt.papers.check  # noqa: F401 - the import registers all measures
from netspurt.papers.bench import Bench
from netspurt.papers.data import Paper
from netspurt.papers.registry import measure
from netspurt.table import Table

from made_up_tables import Made


def paper_with(folder: Path, **tables: Sequence[Mapping[str, object]]) -> Paper:
    """Return a paper without claims. Each table `NAME` is written to the file `NAME.csv`."""
    for name, rows in tables.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return Paper("memo", "A memo", "N. N.", "Memo 1", folder, claims=[], runs={})


def measured(paper: Paper, name: str, **arguments: str) -> Any:
    """Return the result of a measure: its value, its table, and the ranges of the value."""
    return measure(name)(Bench(paper), **arguments)


def line(
    name: str,
    at_40: float,
    at_256: float,
    rate: float,
    short: tuple[float, float, float] | None = None,
    nominal: object = "",
    group: str = "near",
) -> dict[str, object]:
    """Return a row of RFC 889's table of delays: one host's delays at 40 and 256 octets [ms].

    The delays of a host lie on one or two straight lines of delay against length. `rate` [bit/s] is
    the rate of the line that ends at 256 octets. If there are two lines, the list `short` has three
    numbers. The first two are the delay at 125 octets on the line of the short probes, and the rate
    of this line. The third is the delay at 125 octets on the line of the long probes.
    """
    at_125, short_rate, at_125_long = short or ("", "", "")
    return {
        "name": name,
        "group": group,
        "delay40_ms": at_40,
        "delay125_ms": at_125,
        "short_rate_bps": short_rate,
        "delay125_long_ms": at_125_long,
        "delay256_ms": at_256,
        "long_rate_bps": rate,
        "nominal_bps": nominal,
    }


def run(name: str = "HOST", source: str = "DCN1", /, **values: float) -> dict[str, object]:
    """Return an account: a row of RFC 889's table of runs, with the total time and its parts.

    By default, 512 probes took 0.2 s each.
    """
    usual: dict[str, float] = {
        "total_s": 102,
        "lost": 0,
        "lost_s": 0,
        "spurious": 0,
        "spurious_s": 0,
    }
    usual |= {"mean_ms": 200, "cov": 0.5, "efficiency": 1}
    return {"name": name, "from": source, **usual, **values}


def host(name: str, aliases: str = "", group: str = "near") -> dict[str, object]:
    """Return a row of RFC 889's table of hosts."""
    return {"name": name, "group": group, "address": "", "nic_name": "", "aliases": aliases}


def table(**columns: Any) -> Table:
    """Return a table of these columns.

    A column `NAME_s` in seconds becomes the column `NAME_ns` in nanoseconds, in which NaN becomes
    a missing value. A list of texts becomes a column of texts.
    """
    made: dict[str, Any] = {}
    for name, values in columns.items():
        if name == "t_s" or name.endswith("_s"):
            missing = np.isnan(np.asarray(values, dtype=float))
            ns = np.round(1e9 * np.nan_to_num(np.asarray(values, dtype=float))).astype(np.int64)
            made[f"{name[:-2]}_ns"] = np.ma.array(ns, mask=missing) if missing.any() else ns
        elif isinstance(values, list) and values and isinstance(values[0], str):
            made[name] = values
        else:
            made[name] = values if isinstance(values, np.ndarray) else np.array(values)
    core: Any = Made(made)
    return Table(core)


def made_run(scenario: str = "", title: str = "made up", **tables: Table) -> Any:
    """Return an object that imitates a run: it has tables, a title, and a scenario as TOML."""

    def found(name: str) -> Table:
        if name not in tables:
            raise ValueError(f"no table {name}")
        return tables[name]

    return SimpleNamespace(scenario=scenario, title=title, table=found, **tables)


def bench_with(runs: Mapping[str, Any], **more: Any) -> Any:
    """Return an object that imitates a bench, with these runs and with the attributes in `more`."""
    return SimpleNamespace(run=lambda name: runs[name], announce=lambda _: None, **more)
