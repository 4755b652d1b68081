"""Recordings made up to fit a printed row, and what timers make of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from netspurt import _core
from netspurt.analysis import adaptations, contradictions, find_glitches
from netspurt.papers import read_paper
from netspurt.papers.data import PaperError
from netspurt.papers.recordings import Recordings, answered_ns
from netspurt.papers.tables import aliases

STRUCTURES = ("independent", "glitches", "levels", "queue")


def surrogate(structure: str = "glitches", seed: int = 1, **row: object) -> _core.Delays:
    usual: dict[str, object] = {
        "name": "path",
        "probes": 512,
        "mean_ns": 1_000_000_000,
        "cov": 0.4,
        "lost": 9,
        "burst": 1,
        "lengths": [40],
        "line": [],
        "glitches": 3,
    }
    return _core.surrogate(structure, seed, **(usual | row))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def recordings() -> Recordings:
    return Recordings(read_paper("rfc889"))


def test_every_printed_row_has_recordings_of_its_mean_spread_and_losses(
    recordings: Recordings,
) -> None:
    assert len(recordings.rows) == 52
    assert {variant.structure for variant in recordings.variants} == set(STRUCTURES)
    for variant, name in recordings.each(list(recordings.rows)):
        account = recordings.rows[name].account
        made = recordings.made(name, variant)[0]
        delays = answered_ns(made)
        assert made.format == f"surrogate ({variant.structure})"
        assert len(made) - len(delays) == account.lost
        assert delays.sum() / 512 / 1e6 == pytest.approx(account.mean_ms + 0.5, abs=0.01)
        assert delays.std() / delays.mean() == pytest.approx(account.cov, rel=1e-4)


def test_a_replay_of_a_recording_keeps_to_the_identities(recordings: Recordings) -> None:
    row = recordings.rows["FACC"]
    sums = _core.replay(recordings.made("FACC", recordings.variants[0])[0], "mills").account()
    assert sums["total_ns"] == sums["good_ns"] + sums["waited_ns"] + sums["needless_ns"]
    assert (sums["probes"], sums["lost"]) == (512, 196)
    assert int(sums["mean_ns"] / 1e6) == row.account.mean_ms
    assert contradictions(row.account) == {}


def test_every_host_of_the_tables_is_catalogued(recordings: Recordings) -> None:
    known = aliases(read_paper("rfc889"), "hosts.csv")
    assert {row.run.host for row in recordings.rows.values()} <= set(known)
    assert known["OFF3"] == "OFFICE3"
    ours = [row.source for row in recordings.rows.values() if row.account.name == "UCL"]
    assert sorted(ours) == ["DCN1", "NTA"], "UCL was probed from two places"


def test_planted_glitches_are_found_in_a_surrogate() -> None:
    made = surrogate(cov=0.7, glitches=4, lost=0, seed=3)
    note = next(note for note in made.notes if note.startswith("glitches begin"))
    planted = [int(word) for word in note.rpartition("probes ")[2].split(", ")]
    found = find_glitches(made.rtt_ns() / 1e9)
    assert all(any(abs(g.start - start) <= 3 for start in planted) for g in found)
    assert len(found) >= len(planted) - 1


def test_a_row_that_makes_no_sense_is_refused_by_name() -> None:
    for row, words in (
        ({"cov": -1.0}, "cov = -1"),
        ({"lost": 511}, "lost = 511"),
        ({"lengths": [1, 2, 3]}, "lengths = "),
        ({"lengths": [30], "line": [(40, 10), (256, 20)]}, "from 40 to 256 B"),
    ):
        with pytest.raises(ValueError, match=words):
            surrogate(**row)
    with pytest.raises(ValueError, match=r"structure = \"waves\": there are independent"):
        surrogate("waves")


#: A path on which 256 octets take five times as long as 40.
STEEP = [(40, 100_000_000), (256, 500_000_000)]


def taught(law: str, made: _core.Delays) -> list[int | None]:
    delays: NDArray[np.float64] = np.where(made.rtt_ns() < 0, np.nan, made.rtt_ns()) / 1e9
    waits = _core.replay(made, law).wait_ns() / 1e9
    changes = adaptations(made.wire_bytes(), delays, waits)
    return [change.samples for change in changes if change.octets == (40, 256)]


def test_after_short_packets_a_timer_takes_some_long_ones_to_learn() -> None:
    """By hand: from 1 to 5, 2 E reaches 5 after 2 steps of a quarter (2, 2.75), 4 of an eighth.

    E is then 1.5, 1.94, 2.32, 2.66. A timer that heeds lengths knows once it has seen both.
    """
    steady = surrogate("independent", cov=0.001, lost=0, probes=900, lengths=[40, 150, 256, 150])
    delays = np.where(steady.wire_bytes() == 40, 1, 5) * steady.rtt_ns()
    steps = _core.Delays("steps", delays, None, steady.wire_bytes(), "sequence")
    assert taught("mills", steps) == [2, 2, 2]
    assert taught("mills-single", steps) == [4, 4, 4]
    assert taught("mills:by_length=true", steps)[1:] == [0, 0]


def test_a_timer_that_heeds_lengths_sends_no_more_again_and_is_no_less_efficient() -> None:
    """Where what the length costs is what delays differ by; noise besides is another matter."""
    for structure in STRUCTURES:
        made = surrogate(
            structure, cov=0.48, lost=5, lengths=[40, 256], line=STEEP, probes=2000, seed=2
        )
        plain, heeding = (
            _core.replay(made, law).account() for law in ("mills", "mills:by_length=true")
        )
        assert heeding["needless"] <= plain["needless"], structure
        assert heeding["efficiency"] >= plain["efficiency"], structure


def test_a_paper_without_surrogates_says_so() -> None:
    with pytest.raises(PaperError, match=r"rfc2416: no \[surrogates\]"):
        Recordings(read_paper("rfc2416"))
