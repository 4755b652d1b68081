"""Tests the commands that analyse recordings (the delays of one path's probes).

Some commands print a report, relate delays to lengths, or list bursts of long delays. Other
commands invent surrogate recordings, or count the samples that a timer needs to adapt to a change.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import netspurt as ns
from netspurt.analysis import fit_lengths
from netspurt.cli.path_report import histogram_of
from netspurt.pictures.lengths import against_length
from netspurt.pictures.marks import Points, Polyline
from netspurt.plots.lengths import draw_lengths
from netspurt.probe import Watch
from netspurt.probe_lines import read_line

from conftest import ROOT, Command, refused


@pytest.fixture
def two_lines(tmp_path: Path) -> Path:
    """Save round trips that lie on two lines of delay against length.

    In each direction, a probe of less than 126 octets takes 20 ms plus its transmission time at
    9600 bit/s. A longer probe takes 60 ms plus its transmission time at 19,200 bit/s.
    """
    rng = np.random.default_rng(7)
    octets = rng.integers(40, 257, 2000)
    one_way = np.where(octets < 126, 0.020 + octets / 1200, 0.060 + octets / 2400)
    rtt = 2 * one_way + rng.normal(0, 0.002, len(octets))
    rtt[::40] = np.nan
    path = ns.Delays.of(rtt, wire_bytes=octets, name="two")
    return path.save(tmp_path / "two.csv")


def test_the_command_finds_two_known_lines_within_two_percent(
    netspurt: Command, two_lines: Path
) -> None:
    (data,) = json.loads(
        netspurt("delays", "lengths", two_lines, "--break", "126", "--json").stdout
    )
    assert data["break_octets"] == 126
    short, long = data["lines"]
    assert (short["shortest"], short["longest"], long["shortest"]) == (40, 125, 126)
    assert short["intercept_ms"] == pytest.approx(40, rel=0.02)
    assert long["intercept_ms"] == pytest.approx(120, rel=0.02)
    assert short["us_per_octet"] == pytest.approx(2e6 / 1200, rel=0.02)
    assert long["us_per_octet"] == pytest.approx(2e6 / 2400, rel=0.02)
    # A row of RFC 889's table has half of the round trip, and the rate of one direction.
    memo = data["memo"]
    assert memo["octets"] == [40, 125, 125, 256]
    assert memo["rate_bps"] == pytest.approx([9600, 19200], rel=0.02)
    assert memo["delay_ms"][0] == pytest.approx(1e3 * (0.020 + 40 / 1200), rel=0.02)
    parsed = json.loads(
        netspurt("delays", "lengths", two_lines, "--break", "find", "--json").stdout
    )
    assert parsed[0]["break_octets"] == 126


def test_by_default_one_line_is_fitted_and_a_better_fit_by_two_lines_is_named(
    netspurt: Command, two_lines: Path
) -> None:
    result = netspurt("delays", "lengths", two_lines)
    assert result.returncode == 0, result.stderr
    assert "40 to 256 B" in result.stdout
    assert "two lines with a break at 126 B leave" in result.stdout
    assert "less scatter: --break 126" in result.stdout


def test_the_scatter_plot_has_both_lines_and_a_point_for_each_answered_probe(
    netspurt: Command, two_lines: Path
) -> None:
    (recording,) = ns.read_delays(two_lines)
    fit = fit_lengths(recording.wire_bytes, recording.rtt_s, break_at=126)
    shown = against_length(recording, fit.lines, what="round trip")
    points = [mark for mark in shown.marks if isinstance(mark, Points)]
    assert sum(len(mark.x) for mark in points) == recording.received == 1950
    lines = [mark.x.tolist() for mark in shown.marks if isinstance(mark, Polyline)]
    assert lines == [[40.0, 125.0], [126.0, 256.0]]
    out = two_lines.with_name("scatter.png")
    result = netspurt("delays", "lengths", two_lines, "--break", "126", "--out", out)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == str(out)
    assert out.stat().st_size > 10_000


def test_the_scatter_plot_also_has_points_for_late_answers() -> None:
    rtt = [0.1, 0.2, 0.3, 0.4]
    recording = ns.Delays.of(rtt, wire_bytes=[40, 80, 120, 160])

    class Late:
        name, wire_bytes, rtt_s = "late", recording.wire_bytes, recording.rtt_s
        late_replies = np.array([False, False, False, True])

    (axes,) = draw_lengths(Late(), (), what="round trip").axes
    counts = {line.get_label(): len(np.asarray(line.get_xdata())) for line in axes.lines}
    assert counts == {"3 probes": 3, "1 late answer": 1}


def test_probes_of_one_length_are_too_few_for_a_line(netspurt: Command) -> None:
    refused(
        netspurt("delays", "lengths", ROOT / "data" / "ping.txt"),
        "different lengths: 1)",
        "too few",
    )
    refused(netspurt("delays", "lengths", "x", "--break", "long"), "not a number of octets")


def planted(tmp_path: Path, starts: np.ndarray) -> Path:
    """Return a file of 6,000 probes, one per second. Bursts begin at the probes in `starts`."""
    rng = np.random.default_rng(3)
    rtt = 0.05 + rng.exponential(0.005, 6000)
    for start in starts:
        rtt[start : start + 3] = [0.9, 0.7, 0.4]
    return ns.Delays.of(rtt, every=1.0, name="planted").save(tmp_path / "planted.csv")


def test_every_invented_burst_is_listed_and_the_period_of_the_bursts_is_found(
    netspurt: Command, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    starts = (np.arange(150, 5900, 230) + rng.integers(-4, 5, 25)).astype(int)
    file = planted(tmp_path, starts)
    (data,) = json.loads(netspurt("delays", "bursts", file, "--json").stdout)
    assert [burst["first"] for burst in data["bursts"]] == starts.tolist()
    assert [burst["start_s"] for burst in data["bursts"]] == pytest.approx(starts.tolist())
    assert data["period"]["found"]
    assert data["period"]["period"] == pytest.approx(230, rel=0.02)
    assert data["period"]["chance"] < 1e-3
    lines = netspurt("delays", "bursts", file).stdout.splitlines()
    at = [line.split()[0] for line in lines if " ms " in line]
    assert at == [f"{start}.000" for start in starts]
    assert "the bursts come every 2" in " ".join(lines[-2:])


def test_bursts_at_random_times_have_no_period(netspurt: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    starts = np.sort(rng.choice(np.arange(20, 5900, 12), 40, replace=False))
    file = planted(tmp_path, starts)
    (data,) = json.loads(netspurt("delays", "bursts", file, "--json").stdout)
    assert len(data["bursts"]) == 40
    assert not data["period"]["found"]
    assert data["period"]["chance"] > 0.01
    told = " ".join(netspurt("delays", "bursts", file).stdout.partition("no period: ")[2].split())
    assert " fits the 40 bursts best, but chance alone gives as good a fit with a pro" in told
    assert f"probability of {data['period']['chance']:.2g}" in told


def test_too_few_bursts_and_the_absence_of_bursts_are_reported(
    netspurt: Command, tmp_path: Path
) -> None:
    few = netspurt("delays", "bursts", planted(tmp_path, np.array([100, 900])))
    assert few.stdout.splitlines()[-1] == "2 bursts are too few to look for a period"
    none = netspurt("delays", "bursts", planted(tmp_path, np.array([], dtype=int)))
    assert none.stdout.splitlines()[-1] == "no bursts of long delays"


def test_a_report_lists_all_bursts_and_can_be_repeated_exactly(
    netspurt: Command, tmp_path: Path
) -> None:
    starts = np.arange(200, 5800, 700)
    file = planted(tmp_path, starts)
    first, second = (netspurt("delays", "report", file).stdout for _ in range(2))
    assert first == second
    assert first.count("a burst of long delays, probes") == len(starts) == 8
    assert first.count("█") > 60


def test_the_command_probe_and_the_report_on_its_file_show_equal_histograms(
    netspurt: Command,
) -> None:
    path = ROOT / "data" / "probe.jsonl"
    watch = Watch([])
    for line in path.read_text().splitlines()[:-1]:
        watch.take(read_line(line))
    (recording,) = ns.read_delays(path)
    assert histogram_of(recording).bins == watch.histogram.bins
    (data,) = json.loads(netspurt("delays", "report", path, "--json").stdout)
    assert sum(bin_["count"] for bin_ in data["histogram"]) == watch.answered == 512
    assert data["line"]["us_per_octet"] == pytest.approx(2e6 * 8 / 56_000, rel=0.02)
    text = netspurt("delays", "report", path).stdout
    assert "delay by length: 40.18 ms plus 285.8 µs an octet" in text


def test_a_surrogate_of_a_row_has_its_mean_spread_and_losses(
    netspurt: Command, tmp_path: Path
) -> None:
    result = netspurt("delays", "surrogate", "UCL-1", "--seed", "3", "--json")
    data = json.loads(result.stdout)
    assert data["file"] == "UCL-1-glitches-3.csv"
    (read,) = ns.read_delays(tmp_path / data["file"])
    assert (read.sent, read.lost, read.order, read.measure) == (512, 39, "sequence", "one-way")
    known = read.rtt_s[np.isfinite(read.rtt_s)]
    assert known.sum() / 512 == pytest.approx(1.0255, rel=0.001)
    assert known.std() / known.mean() == pytest.approx(0.32, rel=0.05)
    second = netspurt("delays", "surrogate", "UCL-1", "--seed", "3", "--out", "again.csv")
    assert second.returncode == 0
    (memo,) = [line for line in second.stdout.splitlines() if line.startswith("mean of all")]
    assert memo.split()[-4:] == ["1025", "ms", "1.025", "s"]
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / data["file"]).read_bytes()
    table = netspurt("replay", data["file"], "-e", "mills", "--rfc889").stdout
    row = next(line for line in table.splitlines() if line.startswith("mills ")).split()
    assert (row[2], row[6], row[7]) == ("39", "1025", ".32"), (
        "the row must be equal to the row of RFC 889's table"
    )


def test_a_surrogate_needs_a_row_or_a_mean_and_a_spread(netspurt: Command, tmp_path: Path) -> None:
    refused(netspurt("delays", "surrogate"), "name a row of RFC 889's", "--mean and --cov")
    refused(netspurt("delays", "surrogate", "MIT"), "no row is called 'MIT'; the rows are DCN5")
    refused(netspurt("delays", "surrogate", "UCL", "--cov", "0.3"), "leave out --mean and --cov")
    words = ("--mean", "200ms", "--cov", "0.5", "--probes", "100", "--lost", "7")
    fitted = ("delays", "surrogate", *words)
    unused = netspurt(*fitted, "--structure", "queue", "--glitches", "4")
    refused(unused, "--structure queue does not use --glitches: leave out --glitches")
    refused(netspurt(*fitted, "--lost", "0", "--burst", "4"), "--burst needs lost probes")
    result = netspurt("delays", "surrogate", *words, "--length", "bursts:10")
    assert result.returncode == 0, result.stderr
    (made,) = ns.read_delays(tmp_path / "surrogate-glitches-1.csv")
    assert (made.sent, made.lost) == (100, 7)
    assert made.wire_bytes.tolist() == ([40] * 10 + [256] * 10) * 5


def test_the_option_adaptation_counts_the_samples_that_each_timer_needs(
    netspurt: Command, tmp_path: Path
) -> None:
    """The timer `mills` of RFC 889 needs 2 samples at each change from 40 to 256 octets.

    The timer `mills-single` needs 4 samples. With the setting `by_length`, `mills` needs 2 samples
    at the first change and no samples at later changes. test_surrogate.py has the computation by
    hand.
    """
    octets = np.tile(np.repeat([40, 256], 150), 3)
    steps = ns.Delays.of(np.where(octets == 40, 0.1, 0.5), wire_bytes=octets)
    file = steps.save(tmp_path / "steps.csv")
    names = ["mills", "mills-single", "mills:by_length=true"]
    words = ["replay", file, "--adaptation", *(word for name in names for word in ("-e", name))]
    (data,) = json.loads(netspurt(*words, "--json").stdout)
    up = {
        estimator["estimator"]: [
            c["samples"] for c in estimator["changes"] if c["to_octets"] == 256
        ]
        for estimator in data["estimators"]
    }
    assert up == dict(zip(names, [[2, 2, 2], [4, 4, 4], [2, 0, 0]], strict=True))
    table = netspurt(*words).stdout
    assert "40 to 256 B, 3 times" in table
    assert table.splitlines()[4].split() == ["mills:by_length=true", "0", "(0", "..", "2)", "0"]


def test_the_option_adaptation_needs_several_lengths_and_several_probes_of_each_in_a_row(
    netspurt: Command, tmp_path: Path
) -> None:
    mixed = ns.Delays.of([0.1] * 6, wire_bytes=[40, 256] * 3).save(tmp_path / "mixed.csv")
    alike = ns.Delays.of([0.1] * 6, wire_bytes=[40] * 6).save(tmp_path / "alike.csv")
    unknown = ns.Delays.of([0.1] * 6).save(tmp_path / "unknown.csv")
    for file, why in (
        (mixed, "from probe to probe"),
        (alike, "one length"),
        (unknown, "not known"),
    ):
        words = ["replay", file, "-e", "mills", "--adaptation", "--out", tmp_path / "out"]
        refused(netspurt(*words), why)
        assert not (tmp_path / "out").exists(), "nothing is written before the error"
    refused(netspurt("replay", mixed, "--adaptation", "--rfc889"), "leave out one of these")


def test_a_saved_recording_is_read_back_unchanged(tmp_path: Path) -> None:
    for made in (
        ns.Delays.of([0.1, None, 0.3], every=0.5),
        ns.Delays.of([0.1, None, 0.3], wire_bytes=[40, 50, 60]),
        ns.Row(mean=0.3, cov=0.5, lost=4, probes=60, lengths=(40, 256)).surrogate("queue"),
    ):
        (back,) = ns.read_delays(made.save(tmp_path / "saved.csv"))
        assert (back.order, back.measure) == (made.order, made.measure)
        assert (back.sent, back.lost) == (made.sent, made.lost)
        assert np.ma.allequal(back.rtt_ns, made.rtt_ns)
        assert back.wire_bytes.tolist() == made.wire_bytes.tolist()
        if made.send_times != "unknown":
            assert back.sent_ns.tolist() == made.sent_ns.tolist()
