"""Measures the effect of a timer at the server's edge on pages with tail losses.

A tail loss is a loss of the last packets of a page. A timer at the server's edge (a shim) stands
between the server's TCP and the path, and retransmits segments that this TCP has sent. Here the
shim has the rules of Super Fast Retransmit (SFR): it retransmits after a multiple of the
handshake's round trip.

    python bench/tail_loss.py --out runs/tail-loss [--fetches 500] [--rows reno,reno-sfr]

An unmodified curl fetches a page of 72 000 octets many times from Python's http.server, each time
over a new connection. The path is `scenarios/live/page.toml`: 5 Mb/s, 10 ms in each direction, and
3 % of the server's packets lost at random. The measured time begins when the reply's first octet
enters the path, and ends when the reply's last octet reaches the client. The clock of the emulated
path gives both instants. The measured time does not contain the handshake, because the timer at the
server's edge does not repair losses of the handshake. The measured time also does not contain the
time that the server takes before its reply. Each run fetches at most 25 pages with the settings of
one row of `ROWS`, and the rows take turns. A run counts only if curl succeeded and the run is valid
(`docs/live.md`), with deliveries at most 10 ms late. A run that does not count is repeated; after
ten attempts the program stops. Each row is compared with the same transfer in simulation. The
program prints a table with 95 % bootstrap intervals, and writes all times to `times.csv`.
"""

from __future__ import annotations

import argparse
import csv
import shlex
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from netspurt.live import run_programs
from netspurt.scenario import Scenario
from netspurt.table import Table

PAGE = 72_000
BLOCK = 25
ATTEMPTS = 10
#: The maximum lateness of a delivery [s] in a run that counts.
BUDGET = 0.01
SCENARIO = Path(__file__).parent.parent / "scenarios" / "live" / "page.toml"
OLD = {"profile": "reno-2005"}
SFR = {"shim": '["off", "sfr:factor=3,cutout=80kB"]'}
#: The rows of the table: for each, its words in the table and its settings of the flow `web`.
ROWS = {
    "no-loss": ("Reno without options, no loss", {**OLD, "loss": "none"}),
    "reno": ("Reno, no SACK, RACK or TLP", OLD),
    "reno-42ms": ("Reno as above, minimum RTO 42 ms", {**OLD, "tcp.rto": '{ min = "42 ms" }'}),
    "reno-sfr": ("Reno as above, and SFR x3", {**OLD, **SFR}),
    "linux": ("Linux's defaults", {}),
    "linux-sfr": ("Linux's defaults, and SFR x3", SFR),
}


def fetch(row: str, block: int, pages: int, out: Path) -> tuple[np.ndarray, dict[str, int]]:
    """Run a row until a run counts. Return the times of its pages [ms], and its counts by name."""
    values = {f"flows.web.{key}": value for key, value in ROWS[row][1].items()}
    if values.pop("flows.web.loss", None):
        values["links.wire.loss"] = "none"
    values["seed"] = str(block + 1)
    scenario = Scenario.for_programs(SCENARIO.read_text(), str(SCENARIO), values=values)
    place = shlex.quote(str(out / "pages"))
    server = f"exec {shlex.quote(sys.executable)} -m http.server 8000 -d {place}"
    url = f"http://server:8000/page?[1-{pages}]"
    command = ["curl", "-s", "-S", "-o", "/dev/null", url]
    for attempt in range(ATTEMPTS):
        run = run_programs(
            scenario, out / f"{row}-{block}-{attempt}", command, server=server, budget=BUDGET
        )
        live = run.live
        assert live is not None
        assert live.programs is not None
        if live.valid and live.programs.status == 0:
            return measured(run.table("connections"), pages)
        late = live.lateness.max_ns / 1e6
        print(f"{row}, run {block}: {late:.1f} ms late, repeated", file=sys.stderr, flush=True)
    raise SystemExit(f"{row}: in {ATTEMPTS} attempts, no run counted")


def measured(table: Table, fetches: int) -> tuple[np.ndarray, dict[str, int]]:
    """Return the times of a run's pages in milliseconds, and the run's counts by name."""
    column = {name: np.asarray(table[name]) for name in table}
    assert len(column["syn_ns"]) == fetches, "each page must have its own connection"
    assert (column["from_bytes"] > PAGE).all(), "every page must arrive whole"
    times = (column["complete_ns"] - column["began_ns"]) / 1e6
    counts = {
        "shim": int(column["to_shim"].sum()),
        "handshakes": int((column["syn_ns"] > column["opened_ns"]).sum()),
    }
    return times, counts


MODEL = """
stop = "40 min"
[links.wire]
between = ["client", "server"]
rate    = "5 Mbit/s"
delay   = "10 ms"
queue   = "100 packets"
loss    = ["none", { probability = 0.03 }]
[flows.page]
from    = "server"
to      = "client"
send    = "72203 B"
profile = "reno-2005"
every   = "4 s"
[record]
tables  = ["segments"]
capture = false
"""
OFF = ("sack", "dsack", "dsack_undo", "timestamps", "eifel", "window_scaling", "tlp", "frto")
OLD_MODEL = {
    "profile": "linux-6",
    "tcp.recovery": "newreno",
    "tcp.congestion": "reno",
    "tcp.initial_window": "3 segments",
    **{f"tcp.{switch}": "false" for switch in OFF},
}
SFR_MODEL = {"tcp.sfr": '{ factor = 3, cutout = "80 kB", response = "none" }'}
#: The settings of the flow `page` with which each row is simulated.
MODELS = {
    "no-loss": {**OLD_MODEL, "loss": "none"},
    "reno": OLD_MODEL,
    "reno-42ms": {**OLD_MODEL, "tcp.rto.min": "42 ms"},
    "reno-sfr": {**OLD_MODEL, **SFR_MODEL},
    "linux": {"profile": "linux-6"},
    "linux-sfr": {"profile": "linux-6", **SFR_MODEL},
}


def simulate(row: str, fetches: int) -> np.ndarray:
    """Simulate the pages of a row, and return the times [ms] of the pages that were complete."""
    values = {f"flows.page.{key}": value for key, value in MODELS[row].items()}
    if values.pop("flows.page.loss", None):
        values["links.wire.loss"] = "none"
    run = Scenario.parse(MODEL).set_text({**values, "flows.page.count": str(fetches)}).run()
    segments, flows = run.table("segments"), run.flows
    sent = (np.asarray(segments["way"]) == "out") & (np.asarray(segments["kind"]) == "data")
    names, at = np.asarray(segments["flow"])[sent], np.asarray(segments["t_ns"])[sent]
    first, place = np.unique(names, return_index=True)
    began = dict(zip(first, at[place], strict=True))
    # The last octet reaches the client 10 ms before its ACK reaches the server.
    ends = zip(np.asarray(flows["flow"]), np.asarray(flows.seconds("finished_ns")), strict=True)
    times = [end * 1e3 - began[flow] / 1e6 - 10 for flow, end in ends if flow in began]
    return np.array([time for time in times if np.isfinite(time)])


def interval(
    times: np.ndarray, measure: str, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return the `mean` or a percentile, and the ends of its 95 % bootstrap interval."""
    drawn = times[rng.integers(0, len(times), (4000, len(times)))]
    values = (
        drawn.mean(axis=1) if measure == "mean" else np.percentile(drawn, float(measure), axis=1)
    )
    value = times.mean() if measure == "mean" else np.percentile(times, float(measure))
    low, high = np.percentile(values, [2.5, 97.5])
    return float(value), float(low), float(high)


def cells_of(times: np.ndarray, rng: np.random.Generator) -> list[str]:
    """Return the cells of a row: mean, percentiles and maximum of the times."""
    cells = []
    for measure in ("mean", "50", "90", "99"):
        value, low, high = interval(times, measure, rng)
        cells.append(f"{value:.0f} ({low:.0f} to {high:.0f})")
    return [*cells, f"{times.max():.0f}"]


def main() -> None:
    """Run the rows and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--fetches", type=int, default=500)
    parser.add_argument("--rows", default=",".join(ROWS))
    options = parser.parse_args()
    out = options.out.resolve()
    (out / "pages").mkdir(parents=True)
    (out / "pages" / "page").write_bytes(bytes(range(250)) * (PAGE // 250))
    rows = options.rows.split(",")
    times: dict[str, list[np.ndarray]] = {row: [] for row in rows}
    counts: dict[str, Counter[str]] = {row: Counter() for row in rows}
    for block, done in enumerate(range(0, options.fetches, BLOCK)):
        for row in rows:
            times_of_run, counts_of_run = fetch(row, block, min(BLOCK, options.fetches - done), out)
            times[row].append(times_of_run)
            counts[row].update(counts_of_run)
            np.save(out / f"{row}.npy", np.concatenate(times[row]))
    rng = np.random.default_rng(1)
    print(
        "| server | mean ms | p50 | p90 | p99 | max | shim retransmissions "
        "| handshakes retransmitted |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    with (out / "times.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "ms"])
        for row in rows:
            live, model = np.concatenate(times[row]), simulate(row, options.fetches)
            writer.writerows([row, f"{time:.3f}"] for time in live)
            writer.writerows([f"{row}, model", f"{time:.3f}"] for time in model)
            count_cells = [str(counts[row]["shim"]), str(counts[row]["handshakes"])]
            print(f"| {ROWS[row][0]} | {' | '.join([*cells_of(live, rng), *count_cells])} |")
            print(f"| ... the model | {' | '.join(cells_of(model, rng))} | | |", flush=True)


if __name__ == "__main__":
    main()
