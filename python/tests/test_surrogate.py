"""Tests surrogates (recordings invented to fit a printed row), and timers on surrogates.

A glitch is a burst of long delays.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from netspurt import _core
from netspurt.analysis import adaptations, contradictions, find_glitches
from netspurt.delays import Delays, read_delays
from netspurt.papers import read_paper
from netspurt.papers.data import PaperError
from netspurt.papers.recordings import PaperSurrogates, answered_ns
from netspurt.papers.tables import aliases
from netspurt.surrogate import Row, Structure
from netspurt.timers import replay, save_records

#: The ways in which the delays of a surrogate can follow each other.
STRUCTURES: tuple[Structure, ...] = ("independent", "glitches", "levels", "queue")


#: A row with a mean delay of one second and nine losses.
ROW = Row(mean=1.0, cov=0.4, lost=9)


@pytest.fixture(scope="module")
def surrogates() -> PaperSurrogates:
    """Return the surrogates of RFC 889's table of runs."""
    return PaperSurrogates(read_paper("rfc889"))


def test_the_recordings_of_a_printed_row_have_its_mean_its_spread_and_its_losses(
    surrogates: PaperSurrogates,
) -> None:
    assert len(surrogates.rows) == 52
    assert {variant.structure for variant in surrogates.variants} == set(STRUCTURES)
    for variant, name in surrogates.each(list(surrogates.rows)):
        account = surrogates.rows[name].account
        made = surrogates.made(name, variant)[0]
        delays = answered_ns(made)
        assert made.format == f"surrogate ({variant.structure})"
        assert len(made) - len(delays) == account.lost
        assert delays.sum() / 512 / 1e6 == pytest.approx(account.mean_ms + 0.5, abs=0.01)
        assert delays.std() / delays.mean() == pytest.approx(account.cov, rel=1e-4)


def test_a_replay_adds_up_its_times_as_a_printed_row_does(surrogates: PaperSurrogates) -> None:
    row = surrogates.rows["FACC"]
    sums = sums_of(surrogates.made("FACC", surrogates.variants[0])[0], "mills")
    assert sums["total_ns"] == sums["good_ns"] + sums["waited_ns"] + sums["spurious_ns"]
    assert (sums["probes"], sums["lost"]) == (512, 196)
    assert int(sums["mean_ns"] / 1e6) == row.account.mean_ms
    assert contradictions(row.account) == {}


def test_every_host_of_the_tables_is_catalogued(surrogates: PaperSurrogates) -> None:
    known = aliases(read_paper("rfc889"), "hosts.csv")
    assert {row.run.host for row in surrogates.rows.values()} <= set(known)
    assert known["OFF3"] == "OFFICE3"
    ours = [row.source for row in surrogates.rows.values() if row.account.name == "UCL"]
    assert sorted(ours) == ["DCN1", "NTA"], "the host UCL must have rows from two places"


def test_invented_glitches_are_found_in_a_surrogate() -> None:
    made = replace(ROW, cov=0.7, glitches=4, lost=0).surrogate("glitches", seed=3)
    note = next(note for note in made.notes if note.startswith("glitches begin"))
    planted = [int(word) for word in note.rpartition("probes ")[2].split(", ")]
    glitches = find_glitches(made.rtt_s)
    assert all(any(abs(g.start - start) <= 3 for start in planted) for g in glitches)
    assert len(glitches) >= len(planted) - 1


def test_uniform_lengths_are_drawn_from_all_lengths_of_the_range() -> None:
    drawn = replace(ROW, probes=9000, lengths=range(40, 257)).surrogate().wire_bytes
    assert (drawn.min(), drawn.max()) == (40, 256)
    assert np.mean(drawn == 40) < 0.02
    clamped = replace(ROW, probes=9000, lengths=(40, 256)).surrogate().wire_bytes
    assert np.mean(clamped == 40) == pytest.approx(41 / 257, abs=0.02)


def test_the_error_for_an_invalid_row_names_the_invalid_value() -> None:
    for row, words in (
        (replace(ROW, cov=-1.0), "cov = -1"),
        (replace(ROW, lost=511), "lost = 511"),
        (replace(ROW, lost=-1), "lost = -1"),
        (replace(ROW, mean=-1.0), "mean = -1"),
        (replace(ROW, mean=31.0), "mean = 31"),
        (replace(ROW, lengths=range(40, 256, 2)), r"write range\(LOW, HIGH \+ 1\)"),
        (replace(ROW, lengths=range(256, 40)), r"write range\(LOW, HIGH \+ 1\)"),
        (replace(ROW, lengths=(1, 2, 3)), "none of the four forms"),  # type: ignore[arg-type]
        (replace(ROW, lengths=30, line=[(40, 0.1), (256, 0.2)]), "from 40 to 256 B"),
    ):
        with pytest.raises(ValueError, match=words):
            row.surrogate()
    with pytest.raises(
        ValueError, match=r"no structure is called \"waves\"; the structures are independent"
    ):
        ROW.surrogate("waves")  # type: ignore[arg-type]


#: Two points of a path's line: 256 octets take 0.5 s, five times as long as 40 octets.
STEEP = ((40, 0.1), (256, 0.5))


def sums_of(made: Delays, algorithm: str) -> dict[str, float]:
    """Replay a timer on a recording; return the sums of the replay."""
    return _core.replay(made._core, algorithm).account()


def samples_needed(algorithm: str, made: Delays) -> list[int | None]:
    """Return how many samples a timer needs after each change from 40 to 256 octets."""
    waits = _core.replay(made._core, algorithm).wait_ns() / 1e9
    changes = adaptations(made.wire_bytes, made.rtt_s, waits)
    return [change.samples for change in changes if change.octets == (40, 256)]


def test_a_timer_needs_several_long_packets_to_adapt_after_short_ones() -> None:
    """By hand, in units of 0.1 s: the delay rises from 1 to 5, and the estimate E begins at 1.

    The timer is 2 E. With a gain of a quarter, E is 2, then 2.75, so 2 E is over 5 after 2 steps.
    With a gain of an eighth, E is 1.5, 1.94, 2.32 and 2.66, so 2 E is over 5 after 4 steps. With
    `by_length`, the timer needs steps only when a length occurs for the first time.
    """
    octets = replace(ROW, probes=900, lengths=((40, 150), (256, 150))).surrogate().wire_bytes
    assert (octets[:150] == 40).all()
    assert (octets[150:300] == 256).all()
    steps = Delays.of(np.where(octets == 40, 0.1, 0.5), wire_bytes=octets)
    assert samples_needed("mills", steps) == [2, 2, 2]
    assert samples_needed("mills-single", steps) == [4, 4, 4]
    assert samples_needed("mills:by_length=true", steps) == [2, 0, 0]


def test_the_timer_mills_with_setting_by_length_is_not_worse_if_delays_depend_on_length() -> None:
    """On the path `STEEP`, lengths cause most of the differences between delays."""
    row = Row(mean=1.0, cov=0.48, lost=5, lengths=(40, 256), line=STEEP, probes=2000)
    for structure in STRUCTURES:
        made = row.surrogate(structure, seed=2)
        plain, with_length = (
            sums_of(made, algorithm) for algorithm in ("mills", "mills:by_length=true")
        )
        assert with_length["spurious"] <= plain["spurious"], structure
        assert with_length["efficiency"] >= plain["efficiency"], structure


def test_the_saved_table_of_a_replay_gives_the_same_sums(tmp_path: Path) -> None:
    row = replace(ROW, lengths=(40, 256), line=STEEP)
    made = row.surrogate("queue", seed=4)
    algorithms = ["mills", "mills-single"]
    file = save_records([replay(made, algorithms, order="sequence")], tmp_path / "replay.parquet")
    (read,) = read_delays(file)
    assert (read.sent, read.lost, read.duplicates) == (made.sent, made.lost, 0)
    assert (read.order, read.measure) == (
        "sequence",
        "one-way" if made.measure == "one-way" else "round-trip",
    )
    for algorithm in algorithms:
        ours, theirs = (
            _core.replay(one._core, algorithm, order="sequence").account() for one in (made, read)
        )
        assert ours == theirs


def test_the_error_for_a_paper_without_surrogates_says_that_it_has_none() -> None:
    with pytest.raises(PaperError, match=r"rfc2416: no \[surrogates\]"):
        PaperSurrogates(read_paper("rfc2416"))
