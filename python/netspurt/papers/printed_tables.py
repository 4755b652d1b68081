"""Measures of printed tables: values that decide claims, computed from printed numbers alone."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis import busy_against_quiet, contradictions, rate_band
from netspurt.analysis.account import RULES
from netspurt.papers.bench import Bench
from netspurt.papers.data import PaperError
from netspurt.papers.registry import Measured, in_unit, registered, words
from netspurt.papers.tables import (
    LONGEST,
    SHORTEST,
    AccountRow,
    PathRow,
    PrintedLine,
    account_rows,
    aliases,
    names_in,
    path_of,
    path_rows,
)
from netspurt.wording import unknown_name

#: The unit of printed delays [s]: they are whole milliseconds.
_MS = 1e-3


# Measures of delay against length.


def _band(line: PrintedLine) -> tuple[float, float]:
    first_s, last_s = (delay / 1000 for delay in line.delay_ms)
    return rate_band(line.bits / 8, first_s, last_s, unit=_MS)


@registered
@in_unit("bit/s")
def line_rates(bench: Bench, *, table: str, row: str) -> Measured:
    """Return the rates that a path's printed delays give, with the range that rounding allows."""
    lines = path_rows(bench.paper, table)[row].lines
    rows = [("octets", "delays", "printed rate", "rate from the delays", "rate between")]
    for line in lines:
        low, high = _band(line)
        first_ms, last_ms = line.delay_ms
        rows.append(
            (
                f"{line.octets[0]} to {line.octets[1]}",
                f"{first_ms:g} and {last_ms:g} ms",
                f"{line.rate_bps:g} bit/s",
                f"{line.bits / line.rise_s:.0f} bit/s",
                f"{low:.0f} and {high:.0f}",
            )
        )
    rates = [round(line.bits / line.rise_s) for line in lines]
    return Measured([float(rate) for rate in rates], rows, [_band(line) for line in lines])


@registered
def fitting_bits(bench: Bench, *, table: str) -> Measured:
    """Return the bits between the ends of the lines, if all printed rates agree with the delays.

    The bits are the difference between the lengths of the probes at both ends. Each distinct value
    is returned once. A rate agrees if the delays, rounded to whole milliseconds, allow it.
    """
    rows = [("path", "printed rate", "rate between")]
    bits: dict[int, None] = {}
    count = 0
    for path in path_rows(bench.paper, table).values():
        for line in path.lines:
            low, high = _band(line)
            count += 1
            bits |= {line.bits: None}
            if not low <= line.rate_bps <= high:
                rows.append((path.name, f"{line.rate_bps:g}", f"{low:.0f} and {high:.0f}"))
    failed = len(rows) - 1
    rows.append((f"{count} rates", f"{count - failed} agree", ""))
    return Measured([float(b) for b in sorted(bits)] if failed == 0 else None, rows)


@registered
@in_unit("bit/s")
def nominal_rates(bench: Bench, *, table: str, rows: str) -> Measured:
    """Return the nominal rates of the transmission lines to some hosts [bit/s]."""
    paths = path_rows(bench.paper, table)
    shown = [("path", "fitted", "line", "off")]
    for path in paths.values():
        if path.nominal_bps:
            rate = path.lines[-1].rate_bps
            off = f"{100 * (rate / path.nominal_bps - 1):+.1f} %"
            shown.append((path.name, f"{rate:g}", f"{path.nominal_bps:g}", off))
    return Measured([paths[name].nominal_bps or 0.0 for name in names_in(rows)], shown)


@registered
def halving(bench: Bench, *, table: str, rows: str) -> Measured:
    """Return which part of a round trip the printed delays are: 0.5 or 1.

    With this part, the rates agree better with the rates of known transmission lines than with the
    other part. A probe crosses such a line twice, so delays of whole round trips would show half of
    its rate.
    """
    paths = [path_rows(bench.paper, table)[name] for name in names_in(rows)]
    errors = {}
    shown = [("delays are", *(path.name for path in paths))]
    for part, crossed in ((0.5, 1), (1.0, 2)):
        ratios = [crossed * path.lines[-1].rate_bps / (path.nominal_bps or 1) for path in paths]
        errors[part] = float(np.median(np.abs(np.log(ratios))))
        shown.append((f"{part:g} of the round trip", *(f"{r:.2f} of the line" for r in ratios)))
    return Measured(min(errors, key=lambda part: errors[part]), shown)


@registered
def one_line_paths(bench: Bench, *, table: str) -> Measured:
    """Return the number of paths whose delay is one straight line over the length, not two."""
    paths = path_rows(bench.paper, table).values()
    groups = Counter((path.group, len(path.lines)) for path in paths)
    rows = [("group", "one line", "two lines")]
    named = dict.fromkeys(path.group for path in paths)
    rows += [(group, str(groups[group, 1]), str(groups[group, 2])) for group in named]
    return Measured(sum(len(path.lines) == 1 for path in paths), rows)


@registered
def steeper_short_lines(bench: Bench, *, table: str) -> Measured:
    """Count the paths whose line of short probes is steeper than their line of long probes."""
    with_two_lines = [
        path for path in path_rows(bench.paper, table).values() if len(path.lines) > 1
    ]
    steeper = [path for path in with_two_lines if path.lines[0].rate_bps < path.lines[1].rate_bps]
    return Measured(
        len(steeper), [("two lines", str(len(with_two_lines))), ("steeper", str(len(steeper)))]
    )


def _ratio_rows(paths: list[PathRow]) -> list[tuple[str, str]]:
    ordered = sorted(paths, key=lambda path: path.ratio)
    return [("path", "256 B against 40 B"), *((p.name, f"{p.ratio:.2f}") for p in ordered)]


@registered
def length_ratios(bench: Bench, *, table: str) -> Measured:
    """Return the minimum and the maximum of a ratio over all paths.

    The ratio is the delay of the longest probes divided by the delay of the shortest probes.
    """
    paths = list(path_rows(bench.paper, table).values())
    ratios = [path.ratio for path in paths]
    rows = _ratio_rows(paths)
    inside = sum(2 <= ratio <= 3 for ratio in ratios)
    rows.append(("from 2 to 3", f"{inside} of {len(ratios)}"))
    return Measured([min(ratios), max(ratios)], rows)


@registered
def flat_paths(bench: Bench, *, table: str, rows: str, aside: str, others: str) -> Measured:
    """Return the range of length ratios of some paths.

    `rows` has the paths. The length ratio of a path is the delay of the longest probes divided by
    the delay of the shortest probes. The value is `None` if any other path has a ratio of at most
    the number `others`. Paths in the list `aside` are left out.
    """
    paths = path_rows(bench.paper, table)
    flat = [paths[name].ratio for name in names_in(rows)]
    other_paths = set(paths) - set(names_in(rows)) - set(names_in(aside))
    all_steeper = all(paths[name].ratio > float(others) for name in other_paths)
    return Measured(
        [min(flat), max(flat)] if all_steeper else None, _ratio_rows(list(paths.values()))
    )


@registered
def length_beats_load(bench: Bench, *, table: str, hosts: str) -> Measured:
    """Return the hosts for which length changes the delay more than load does."""
    paths = path_rows(bench.paper, table)
    rows: list[tuple[str, ...]] = [
        ("host", "busy to quiet, 40 B", "busy to quiet, 256 B", "quiet, 256 B to 40 B")
    ]
    hosts_found = []
    for host in names_in(hosts):
        quiet, busy = paths[f"{host}-L"], paths[f"{host}-H"]
        load = [b / q for b, q in zip(busy.ends_ms, quiet.ends_ms, strict=True)]
        rows.append((host, *(f"{ratio:.2f}" for ratio in (*load, quiet.ratio))))
        if max(load[1], 1 / load[1]) < quiet.ratio:
            hosts_found.append(host)
    return Measured(", ".join(hosts_found), rows)


@registered
@in_unit("ms")
def longest_delays(bench: Bench, *, table: str, rows: str, reference: str) -> Measured:
    """Return the delays of the longest probes on some paths [ms].

    The table compares these paths with the path `reference`.
    """
    paths = path_rows(bench.paper, table)
    base = paths[reference].ends_ms[1]
    shown = [("path", "256 B", f"against {reference}")]
    shown += [
        (n, f"{paths[n].ends_ms[1]:g} ms", f"{100 * (paths[n].ends_ms[1] / base - 1):+.0f} %")
        for n in [*names_in(rows), reference]
    ]
    return Measured([paths[n].ends_ms[1] for n in names_in(rows)], shown)


# Measures of accounts: a run's times, losses and spurious retransmissions.


@registered
def fitting_probes(bench: Bench, *, table: str) -> Measured:
    """Return the number of probes per run for which most rows satisfy all equations (`RULES`)."""
    rows = [row.account for row in account_rows(bench.paper, table).values()]
    agreeing = {n: sum(not contradictions(row, n) for row in rows) for n in range(256, 1025)}
    best = max(agreeing, key=lambda n: agreeing[n])
    near = [n for n in (256, 500, best - 1, best, best + 1, 1000, 1024) if n in agreeing]
    return Measured(
        best, [("probes", "rows that agree"), *((str(n), str(agreeing[n])) for n in near)]
    )


@registered
def agreeing_rows(bench: Bench, *, table: str, rule: str, probes: str) -> Measured:
    """Return how many rows satisfy an equation (of `RULES`); the table says why other rows do not.

    Raises
    ------
    PaperError
        If `rule` is not the name of an equation.
    """
    if rule not in RULES:
        raise PaperError(unknown_name("rule", rule, RULES))
    rows = [row.account for row in account_rows(bench.paper, table).values()]
    sentences = [contradictions(row, int(probes)).get(rule) for row in rows]
    failed = [(sentence,) for sentence in sentences if sentence]
    shown = [("what contradicts itself",), *failed] if failed else []
    return Measured(len(rows) - len(failed), shown)


@registered
@in_unit("ms, eff")
def account(bench: Bench, *, table: str, row: str, probes: str) -> Measured:
    """Return the mean delay [ms] and the efficiency, computed from the times of a row."""
    (name,) = names_in(row)
    printed = account_rows(bench.paper, table)[name].account
    mean, efficiency = printed.implied(int(probes))
    mean_min, mean_max = (1000 * good / int(probes) for good in printed.good_s_between)
    sentences = contradictions(printed, int(probes))
    rows = [
        ("total", f"{printed.total_s:g} s, cut off at whole seconds"),
        (f"lost {printed.lost}", f"{printed.lost_s:g} s"),
        (f"spurious {printed.spurious}", f"{printed.spurious_s:g} s"),
        ("good", f"{printed.good_s:.1f} s"),
        (
            "mean",
            f"{mean:.1f} ms, from {mean_min:.1f} to {mean_max:.1f}; {printed.mean_ms:g} is printed",
        ),
        ("efficiency", f"{efficiency:.4f}; {printed.efficiency:g} is printed"),
        *((rule, sentence) for rule, sentence in sentences.items()),
    ]
    truncated = int(100 * efficiency + 1e-9) / 100
    bands = [(float(int(mean_min)), mean_max), (truncated, truncated)]
    return Measured([round(mean, 1), round(efficiency, 4)], rows, bands)


@registered
def extremes(bench: Bench, *, table: str, column: str) -> Measured:
    """Return the minimum and the maximum of a column."""
    rows = [row.account for row in account_rows(bench.paper, table).values()]
    ordered = sorted(rows, key=lambda row: float(getattr(row, column)))
    ends = [ordered[0], ordered[-1]]
    shown = [("run", column), *((row.name, f"{getattr(row, column):g}") for row in ends)]
    return Measured([float(getattr(row, column)) for row in ends], shown)


@registered
def cells(bench: Bench, *, table: str, rows: str, column: str) -> Measured:
    """Return the numbers that a column has in some rows."""
    accounts = account_rows(bench.paper, table)
    return Measured([float(getattr(accounts[n].account, column)) for n in names_in(rows)])


@registered
def losses_of(bench: Bench, *, table: str, row: str, probes: str) -> Measured:
    """Return the number of probes that a run lost, and the number that it sent."""
    rows = account_rows(bench.paper, table)
    lost = rows[row].account.lost
    host = rows[row].run.host
    shown = [("run", "lost")]
    shown += [(name, str(r.account.lost)) for name, r in rows.items() if r.run.host == host]
    return Measured([float(lost), float(probes)], shown)


@registered
def rank(bench: Bench, *, table: str, row: str, column: str) -> Measured:
    """Return the share of rows that have a smaller number in a column than a given row."""
    rows = [r.account for r in account_rows(bench.paper, table).values()]
    own = float(getattr(account_rows(bench.paper, table)[row].account, column))
    ordered = sorted(rows, key=lambda r: -float(getattr(r, column)))
    shown = [("run", column), *((r.name, f"{getattr(r, column):g}") for r in ordered[:10])]
    return Measured(sum(getattr(r, column) < own for r in rows) / len(rows), shown)


@registered
def rows_below(bench: Bench, *, table: str, column: str, bound: str) -> Measured:
    """Return the rows whose number in a column is below a bound."""
    rows = [row.account for row in account_rows(bench.paper, table).values()]
    ordered = sorted(rows, key=lambda row: float(getattr(row, column)))
    low = [row.name for row in ordered if getattr(row, column) < float(bound)]
    shown = [("run", column), *((row.name, f"{getattr(row, column):g}") for row in ordered[:10])]
    return Measured(", ".join(low), shown)


@registered
def with_and_without(bench: Bench, *, table: str, column: str) -> Measured:
    """Return how many rows have a value above zero in a column, and how many have zero."""
    rows = [row.account for row in account_rows(bench.paper, table).values()]
    count = sum(getattr(row, column) > 0 for row in rows)
    return Measured([float(count), float(len(rows) - count)])


@registered
def correlation(bench: Bench, *, table: str, columns: str) -> Measured:
    """Return Pearson's correlation of two columns."""
    rows = [row.account for row in account_rows(bench.paper, table).values()]
    first, second = (
        np.array([float(getattr(row, column)) for row in rows]) for column in names_in(columns)
    )
    # A single row may cause or hide a correlation. So the table also has the correlation without
    # the row with the largest value in the first column.
    kept = np.arange(len(rows)) != np.argmax(first)
    value = _pearson(first, second)
    shown = [
        ("all rows", f"{value:.3f}"),
        (
            f"without {rows[int(np.argmax(first))].name}",
            f"{_pearson(first[kept], second[kept]):.3f}",
        ),
    ]
    return Measured(value, shown)


def _pearson(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    a, b = first - first.mean(), second - second.mean()
    return float((a @ b) / np.sqrt((a @ a) * (b @ b)))


@registered
@in_unit("%")
def loss_rates(bench: Bench, *, table: str, probes: str, most: str) -> Measured:
    """Return the highest shares of lost probes, in percent."""
    rows = sorted(account_rows(bench.paper, table).values(), key=lambda row: -row.account.lost)
    rates = [(row.key, 100 * row.account.lost / int(probes)) for row in rows[: int(most)]]
    shown = [("run", "lost"), *((name, f"{rate:.2f} %") for name, rate in rates)]
    return Measured([rate for _, rate in rates], shown)


@registered
def wait_ratios(bench: Bench, *, table: str, probes: str, aside: str) -> Measured:
    """Return the minimum, median and maximum of a ratio over rows with losses.

    The ratio is the mean wait per loss divided by the mean delay. The rows `aside` are left out.
    """
    ratios = {
        row.key: 1000
        * row.account.lost_s
        / row.account.lost
        / (row.account.mean_ms * int(probes) / (int(probes) - row.account.lost))
        for row in account_rows(bench.paper, table).values()
        if row.account.lost > 0
    }
    ordered = sorted(ratios.items(), key=lambda pair: pair[1])
    kept = [ratio for name, ratio in ordered if name not in names_in(aside)]
    shown = [
        ("run", "wait per loss, in mean delays"),
        *((n, f"{ratio:.2f}") for n, ratio in ordered),
    ]
    return Measured([kept[0], float(np.median(kept)), kept[-1]], shown)


@registered
@in_unit("s")
def longest_waits(bench: Bench, *, table: str) -> Measured:
    """Return two maxima over the runs, in seconds.

    The first is the maximum of the mean wait per loss. The second is the maximum of the mean time
    per spurious retransmission.
    """
    rows = [row.account for row in account_rows(bench.paper, table).values()]
    losses = {row.name: row.lost_s / row.lost for row in rows if row.lost}
    spurious = {row.name: row.spurious_s / row.spurious for row in rows if row.spurious}
    longest = [max(each.items(), key=lambda pair: pair[1]) for each in (losses, spurious)]
    shown = [("run", "seconds each"), *((name, f"{value:.2f}") for name, value in longest)]
    return Measured([value for _, value in longest], shown)


@registered
def charged_delays(bench: Bench, *, table: str, probes: str) -> Measured:
    """Return the number of rows whose spurious time can be the sum of some of the run's delays.

    The sum is over the probes that were retransmitted spuriously. N delays have the mean m and the
    coefficient of variation c. If n of them have the mean m', then n (m' - m)² <= N (c m)².
    Truncation may have made c smaller by at most a hundredth.
    """
    n_all = int(probes)
    possible = 0
    shown = [("run", "share of the possible spread")]
    for row in account_rows(bench.paper, table).values():
        printed = row.account
        if not printed.spurious:
            continue
        mean = printed.mean_ms / 1000 * n_all / (n_all - printed.lost)
        available = (n_all - printed.lost) * ((printed.cov + 0.01) * mean) ** 2
        excess = max(printed.spurious_s / printed.spurious - mean, 0)
        share = printed.spurious * excess**2 / available
        possible += share <= 1
        if share > 0.5:
            shown.append((row.key, f"{share:.2f}"))
    return Measured(possible, shown)


@registered
def suffixes(bench: Bench, *, table: str, hosts: str) -> Measured:
    """Return the suffixes that names of runs have.

    The value is `None` in three cases: if a host is not catalogued, if a mean does not increase
    with the length, or if the mean of a busy period is not above the mean of the quiet period.
    """
    rows = account_rows(bench.paper, table)
    known = aliases(bench.paper, hosts)
    means: dict[str, dict[int | None, float]] = {}
    kinds: dict[str, None] = {}
    for row in rows.values():
        run = row.run
        if run.host not in known:
            return Measured(None, [("not catalogued", run.host)])
        kinds |= {"*" if run.busy else {40: "-1", 256: "-2"}.get(run.octets or 0, "none"): None}
        if not run.busy and row.source == "DCN1":
            means.setdefault(known[run.host], {})[run.octets] = row.account.mean_ms
    pairs = busy_against_quiet(row.account.name for row in rows.values())
    busier = all(rows[a].account.mean_ms > rows[b].account.mean_ms for a, b in pairs)
    with_all_lengths = {host: m for host, m in means.items() if len(m) == 3}
    increase = all(m[40] < m[None] < m[256] for m in with_all_lengths.values())
    shown: list[tuple[str, ...]] = [("host", "40 B", "random", "256 B")]
    shown += [(h, *(f"{m[k]:g} ms" for k in (40, None, 256))) for h, m in with_all_lengths.items()]
    return Measured(", ".join(sorted(kinds)) if increase and busier else None, shown)


@registered
@in_unit("ms")
def busy_and_quiet(bench: Bench, *, table: str) -> Measured:
    """Return the mean delays of each busy run and of its quiet run [ms].

    The value is `None` if a busy run is not less efficient than its quiet run.
    """
    rows = {key: row.account for key, row in account_rows(bench.paper, table).items()}
    pairs = busy_against_quiet(rows)
    shown = [("busy", "quiet", "means", "efficiencies")]
    for busy, quiet in pairs:
        a, b = rows[busy], rows[quiet]
        means = f"{a.mean_ms:g} and {b.mean_ms:g} ms"
        shown.append((busy, quiet, means, f"{a.efficiency:g} and {b.efficiency:g}"))
    less_efficient = all(rows[a].efficiency < rows[b].efficiency for a, b in pairs)
    means_ms = [rows[name].mean_ms for pair in pairs for name in pair]
    return Measured(means_ms if less_efficient else None, shown)


# Measures that compare the tables.


def _raised_lengths() -> list[int]:
    """Return lengths from 0 to 256, equally likely. Lengths below 40 are raised to 40."""
    return [max(octets, SHORTEST) for octets in range(LONGEST + 1)]


def _mean_delay(path: PathRow, lengths: list[int]) -> float:
    return float(np.mean([path.at(octets) for octets in lengths]))


def _random_runs(
    bench: Bench, table: str, lines: str, hosts: str
) -> list[tuple[AccountRow, PathRow]]:
    """Return the runs with random lengths, each with the printed row of its path."""
    paths, known = path_rows(bench.paper, lines), aliases(bench.paper, hosts)
    # The printed line to UCL was measured from the usual host, so the run from NTA to UCL
    # is left out.
    return [
        (row, path_of(row, paths, known))
        for row in account_rows(bench.paper, table).values()
        if row.run.octets is None and row.key != "NTA:UCL"
    ]


@registered
@in_unit("B")
def length_rule(bench: Bench, *, tables: str, rows: str, probes: str) -> Measured:
    """Return the bounds and the minimum of the better of two rules for random lengths.

    The better rule gives means that are nearer to the printed means. The rules are: lengths uniform
    from 0 that are raised to at least 40, and lengths uniform from 40.
    """
    table, lines, hosts = words(tables, 3)
    rules = {
        "0 to 256, raised to 40": _raised_lengths(),
        "40 to 256": list(range(SHORTEST, LONGEST + 1)),
    }
    shown = [("run", "printed", *rules)]
    errors: dict[str, list[float]] = {rule: [] for rule in rules}
    for row, path in _random_runs(bench, table, lines, hosts):
        if row.account.name not in names_in(rows):
            continue
        mean = row.mean_answered_ms(int(probes))
        means = {rule: _mean_delay(path, lengths) for rule, lengths in rules.items()}
        for rule, value in means.items():
            errors[rule].append(abs(np.log(value / mean)))
        shown.append((row.key, f"{mean:.0f} ms", *(f"{value:.0f} ms" for value in means.values())))
    first, second = (float(np.mean(values)) for values in errors.values())
    return Measured([0.0, 256.0, 40.0] if first < second else [40.0, 256.0, 40.0], shown)


@registered
@in_unit("%")
def predicted_means(bench: Bench, *, tables: str, aside: str, probes: str) -> Measured:
    """Return the largest difference between the mean that a line predicts and a run's mean [%]."""
    table, lines, hosts = words(tables, 3)
    shown = [("run", "line", "mean from the line", "printed mean", "off by")]
    max_error = 0.0
    for row, path in _random_runs(bench, table, lines, hosts):
        predicted, mean = _mean_delay(path, _raised_lengths()), row.mean_answered_ms(int(probes))
        error = 100 * (predicted / mean - 1)
        values = (f"{predicted:.0f} ms", f"{mean:.0f} ms", f"{error:+.1f} %")
        shown.append((row.key, path.name, *values))
        if row.account.name not in names_in(aside):
            max_error = max(max_error, abs(error))
    return Measured(max_error, shown)


@registered
def spread_by_length(bench: Bench, *, tables: str) -> Measured:
    """Return the largest difference between a printed CoV and the CoV that lengths alone give.

    Only runs with random lengths, without losses, over paths with one line are used. On these
    paths, the delay depends almost only on the length. So their CoV is nearly the standard
    deviation of the line's delays at random lengths, divided by the mean of these delays.
    """
    table, lines, hosts = words(tables, 3)
    shown = [("run", "printed CoV", "CoV by length alone")]
    differences = []
    for row, path in _random_runs(bench, table, lines, hosts):
        if row.account.lost or len(path.lines) > 1:
            continue
        delays = np.array([path.at(octets) for octets in _raised_lengths()])
        by_length = float(delays.std() / delays.mean())
        differences.append(abs(row.account.cov - by_length))
        shown.append((row.key, f"{row.account.cov:g}", f"{by_length:.3f}"))
    return Measured(max(differences), shown)


@registered
def table_ratio(bench: Bench, *, tables: str, host: str) -> Measured:
    """Return a host's delay in the first printed table, divided by its delay in the second table.

    The result is the mean of the ratios at 40 and at 256 octets.
    """
    table, lines, _ = words(tables, 3)
    runs, path = account_rows(bench.paper, table), path_rows(bench.paper, lines)[host]
    means = [runs[f"{host}-{n}"].account.mean_ms for n in (1, 2)]
    ratios = [delay / mean for delay, mean in zip(path.ends_ms, means, strict=True)]
    shown = [("octets", "first table", "second table", "ratio")]
    for octets, delay, mean, ratio in zip((40, 256), path.ends_ms, means, ratios, strict=True):
        shown.append((str(octets), f"{delay:g} ms", f"{mean:g} ms", f"{ratio:.2f}"))
    return Measured(float(np.mean(ratios)), shown)


@registered
def order_of(bench: Bench, *, tables: str, source: str) -> Measured:
    """Return the order in which each table lists the paths measured from the host `source`."""
    table, lines, _ = words(tables, 3)
    first = [p.name for p in path_rows(bench.paper, lines).values() if p.group.startswith(source)]
    second = [
        r.account.name for r in account_rows(bench.paper, table).values() if r.source == source
    ]
    return Measured(f"{' '.join(first)}; {' '.join(second)}")


@registered
def catalogue(bench: Bench, *, table: str) -> Measured:
    """Return the number of catalogued hosts, in all and by group."""
    groups = Counter(row["group"] for row in bench.paper.rows(table))
    shown = [("group", "hosts"), *((group, str(n)) for group, n in groups.items())]
    return Measured([float(groups.total()), *(float(n) for n in groups.values())], shown)


@registered
def sum_of(bench: Bench, *, terms: str) -> Measured:  # noqa: ARG001
    """Return the sum of some numbers."""
    return Measured(sum(float(term) for term in terms.split(",")))
