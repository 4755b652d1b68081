"""Compares web traffic of netspurt with web traffic of the network simulator ns-2.

Both programs draw the traffic from the models of PackMime, a generator of web traffic. Each of our
quantiles is computed over all connections of several runs. The quantile is compared with the range
of the same quantile in 20 runs of ns-2.

`python python/tests/packmime_agreement.py` uses at least 500,000 connections at each rate. This
takes a minute. `test_packmime.py` uses fewer connections.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from netspurt.scenario import load

#: The folder with the quantiles of ns-2's runs.
NS2 = Path(__file__).parents[2] / "authorities" / "packmime"

#: Numbers of new connections per second. These connections use about a quarter, a half and three
#: quarters of the link.
RATES = (18, 36, 54)

#: For each compared quantity: ns-2's name, our column, how many of our units make one of ns-2's
#: units, and the quantiles that are compared.
QUANTITIES = (
    ("request_bytes", "forward_bytes", 1, (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)),
    ("reply_bytes", "reverse_bytes", 1, (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)),
    ("duration_ms", "response_ns", 1e6, (0.5, 0.75, 0.9)),
)


@dataclass(frozen=True)
class Compared:
    """Holds a quantile of our runs, and its minimum, median and maximum in ns-2's runs."""

    rate: int
    quantity: str
    share: float
    own: float
    spread: tuple[float, float, float]

    def inside(self) -> bool:
        """Return whether our quantile lies between the minimum and the maximum of ns-2's runs."""
        return self.spread[0] <= self.own <= self.spread[2]


def ns2_spread(rate: int, quantity: str, share: float) -> tuple[float, float, float]:
    """Return the minimum, the median and the maximum of a quantile over ns-2's runs."""
    with (NS2 / "quantiles.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["quantity"] == quantity]
    runs = [float(row[f"q{share:g}"]) for row in rows if row["connections_per_s"] == str(rate)]
    assert len(runs) >= 20
    return min(runs), float(np.median(runs)), max(runs)


def compare(rate: int, connections: int) -> Iterator[Compared]:
    """Run the seeds 1, 2, ... until there are enough connections, and compare each quantile."""
    scenario = load(NS2 / "web.toml").replace(
        {
            "populations.web.arrivals": f"packmime:rate={rate}/s",
            "populations.web.send": f"packmime-request:rate={rate}/s",
            "populations.web.reply": f"packmime-reply:rate={rate}/s",
        }
    )
    pooled: dict[str, list[Any]] = {column: [] for _, column, *_ in QUANTITIES}
    seed = 0
    while sum(map(len, pooled["forward_bytes"])) < connections:
        seed += 1
        table = scenario.replace({"seed": seed}).run().connections
        for column, values in pooled.items():
            # Unknown durations do not count in the quantiles.
            own_values: Any = np.ma.masked_invalid(np.ma.asarray(table[column], dtype=float))
            values.append(own_values.compressed())
    for quantity, column, unit, shares in QUANTITIES:
        found = np.concatenate(pooled[column]) / unit
        for share in shares:
            own = float(np.quantile(found, share))
            yield Compared(rate, quantity, share, own, ns2_spread(rate, quantity, share))


def main() -> None:
    """Print each of our quantiles beside ns-2's quantiles, as a table in Markdown."""
    print("| rate | quantity | quantile | ours | minimum | median | maximum of 20 runs | |")
    print("|---|---|---|---|---|---|---|---|")
    for rate in RATES:
        for row in compare(rate, 500_000):
            spread = " | ".join(f"{value:,.6g}" for value in row.spread)
            cells = (rate, row.quantity, f"{row.share:g}", f"{row.own:,.6g}", spread)
            outside = "" if row.inside() else "outside"
            print(f"| {' | '.join(map(str, cells))} | {outside} |")


if __name__ == "__main__":
    main()
