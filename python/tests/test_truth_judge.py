"""Tests how answers about retransmissions are judged, with explainers that are right or wrong.

An explainer reads a capture and gives an answer about each retransmission: its cause and whether it
was needed. A label has the known cause and verdict of a retransmission. The score compares answers
with labels, for each side of a packet: its sender, its receiver, or the middle of the path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from netspurt.truth import TruthError, cases, check_collection, make_collection, wrong_ones
from netspurt.truth.answers import Answer, Explainer, match
from netspurt.truth.labels import Label, read_labels
from netspurt.truth.scoring import Score, bins, class_of, wilson
from netspurt.wording import number

from conftest import Command
from made_up_answers import Explained


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a collection of 42 simulated captures with labels; return its folder."""
    folder = tmp_path_factory.mktemp("judge") / "made"
    make_collection(folder, cases(42, live=False, seed=4))
    return folder


def right_answer(label: Label) -> Answer:
    """Return the answer that agrees with a label."""
    verdict = "spurious" if label.spurious else "needed"
    missing = label.original == "unseen"
    return Answer(label.source, label.unix_ns, label.seq, label.cause, 0.97, verdict, 0.97, missing)


def explainer(change: Callable[[Label, Answer], Iterator[Answer]]) -> Explainer:
    """Return an explainer that gives the right answers, altered by `change`."""

    def explain(file: Path) -> Explained:
        labels = read_labels(file.parent / "truth.csv")
        own = [label for label in labels if label.capture == file.name]
        answers = [list(change(label, right_answer(label))) for label in own]
        return Explained([answer for changed in answers for answer in changed])

    return explain


def judged(collection: Path, change: Callable[[Label, Answer], Iterator[Answer]]) -> Score:
    """Return the score of the right answers, altered by `change`."""
    return check_collection(collection, explainer(change))


def test_a_perfect_explainer_meets_every_requirement(collection: Path) -> None:
    score = judged(collection, lambda _, answer: iter([answer]))
    assert score.failures() == []
    assert score.wrong == []
    side = score.sides["sender"]
    assert side.held == side.found > 100
    assert all(counts.right == counts.total for counts in side.by_class().values())
    assert {"sender", "receiver", "middle", "sender, options cut"} <= set(score.sides)
    (only,) = score.calibration("cause")
    assert (only.low, only.share) == (0.95, 1.0)
    assert only.interval[1] == pytest.approx(1.0)


def test_an_explainer_without_answers_misses_every_retransmission_in_the_capture(
    collection: Path,
) -> None:
    score = judged(collection, lambda _label, _said: iter([]))
    side = score.sides["sender"]
    assert side.found == 0
    assert side.missed + side.unseen_not_found == side.held
    assert side.unseen_not_found > 0
    assert f"retransmissions without an answer: {number(side.missed)}" in score.failures()


def test_the_answer_unknown_is_wrong_unless_the_capture_lacks_the_original(
    collection: Path,
) -> None:
    def admits(label: Label, answer: Answer) -> Iterator[Answer]:
        yield replace(answer, cause="unknown") if label.original == "unseen" else answer

    assert judged(collection, admits).failures() == []
    score = judged(collection, lambda _, answer: iter([replace(answer, cause="unknown")]))
    assert all(counts.right == 0 for counts in score.sides["sender"].by_class().values())
    assert score.calibration("cause") == []
    assert {"cause"} == {mistake.why for mistake in score.wrong}
    assert {mistake.label.side for mistake in score.wrong if mistake.label} == {"sender"}


def test_causes_that_differ_only_by_configuration_belong_to_one_class(collection: Path) -> None:
    same = {"fast": "rack", "rack": "sack-recovery", "sack-recovery": "fast"}

    def permutes(_: Label, answer: Answer) -> Iterator[Answer]:
        yield replace(answer, cause=same.get(answer.cause, answer.cause))

    score = judged(collection, permutes)
    assert score.failures() == []
    assert len({class_of(cause) for cause in same}) == 1
    assert class_of("rto") != class_of("go-back-n") != class_of("fast")


def test_a_wrong_cause_is_counted_and_listed(collection: Path) -> None:
    def errs(_: Label, answer: Answer) -> Iterator[Answer]:
        yield replace(answer, cause="rto") if answer.cause == "tlp" else answer

    score = judged(collection, errs)
    side = score.sides["sender"]
    assert set(side.confusion["tlp"]) == {"rto"}
    (failure,) = score.failures()
    assert failure.startswith("right causes of the class `tlp`: 0 of ")
    assert "tlp, " in wrong_ones(score.wrong)[0]
    assert "the answer is rto" in wrong_ones(score.wrong)[0]


def test_a_second_answer_about_a_packet_counts_as_invented(collection: Path) -> None:
    def doubles(label: Label, answer: Answer) -> Iterator[Answer]:
        yield from (answer, answer) if label.len_bytes else (answer,)

    score = judged(collection, doubles)
    sides = score.sides
    of_data = [
        label
        for file in collection.glob("*/truth.csv")
        for label in read_labels(file)
        if label.len_bytes
    ]
    copies = sum(label.copy for label in of_data)
    assert sum(side.invented for side in sides.values()) == len(of_data) + copies
    at_senders = sum(label.side == "sender" for label in of_data)
    invented = sides["sender"].invented + sides["sender, options cut"].invented
    # The side of an invented answer is the side of the packet with the same timestamp. If several
    # packets have this timestamp, it is the side of the longest packet. A node may receive one
    # packet and send another at the same instant. Then an answer about the received packet may
    # count for the sender.
    assert at_senders <= invented <= 1.01 * at_senders
    assert f"invented retransmissions: {number(sides['sender'].invented)}" in score.failures()


def test_a_missing_original_must_be_reported(collection: Path) -> None:
    score = judged(collection, lambda _, answer: iter([replace(answer, original_missing=False)]))
    side = score.sides["sender"]
    assert side.loss_not_told > 0
    many = number(side.loss_not_told)
    expected = f"retransmissions whose missing original is not reported: {many}"
    assert score.failures() == [expected]


def test_verdicts_are_right_unknown_or_wrong(collection: Path) -> None:
    score = judged(collection, lambda _, answer: iter([replace(answer, verdict="needed")]))
    verdicts = score.sides["sender"].verdicts
    assert verdicts["needed"].right == verdicts["needed"].total > 0
    assert verdicts["spurious"].wrong == verdicts["spurious"].total > 0
    low = judged(collection, lambda _, answer: iter([replace(answer, verdict="unknown")]))
    assert low.sides["sender"].verdicts["needed"].unknown == verdicts["needed"].total
    assert low.calibration("verdict") == []


def test_packets_are_matched_by_time_if_sequence_numbers_differ(collection: Path) -> None:
    def shifts(_: Label, answer: Answer) -> Iterator[Answer]:
        yield replace(answer, seq=answer.seq + 7, t_ns=answer.t_ns + 400)

    score = judged(collection, shifts)
    assert score.failures() == []


def test_packets_with_equal_timestamps_are_matched_by_their_first_octet() -> None:
    label = Label("f", 1, 0, 5000, "f", "forward", "a:1", "b:2", 10, 5, "rto", False, "sender",
                  "seen", False)  # fmt: skip
    pair = [label, replace(label, seq=20, cause="tlp")]
    answers = [right_answer(label) for label in reversed(pair)]
    matched = match(["10.0.0.1"], pair, answers)
    assert [(label.cause, answer and answer.cause) for label, answer in matched.pairs] == [
        ("rto", "rto"),
        ("tlp", "tlp"),
    ]
    assert matched.invented == []
    far = match(["10.0.0.1"], pair[:1], [])
    assert far.pairs == [(label, None)]


def test_each_bin_counts_the_right_answers_of_similar_confidence() -> None:
    told = [(0.97, True)] * 18 + [(0.97, False)] * 2 + [(1.0, True)] * 5 + [(0.2, False)]
    low, middle, high = bins(told)
    assert (low.low, low.high, low.count, low.share) == (0.0, 0.5, 1, 0.0)
    assert (middle.low, middle.count, middle.right, middle.share) == (0.95, 20, 18, 0.9)
    assert (high.low, high.high, high.count, high.mean) == (0.99, 1.0, 5, 1.0)
    assert middle.interval[0] < 0.9 < middle.interval[1]


def test_wilsons_interval_equals_the_one_in_published_tables() -> None:
    # Newcombe 1998, table I, method 3: 81 of 263, 15 of 148, 0 of 20 and 1 of 29.
    for right, count, low, high in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ]:
        assert wilson(right, count) == pytest.approx((low, high), abs=5e-5)


def test_a_folder_without_cases_is_an_error(tmp_path: Path, collection: Path) -> None:
    perfect = explainer(lambda _, answer: iter([answer]))
    with pytest.raises(TruthError, match="truth make"):
        check_collection(tmp_path, perfect)
    with pytest.raises(TruthError, match="'no-such-case'"):
        check_collection(collection, perfect, only="no-such-case")


def test_the_command_fails_and_lists_wrong_answers_if_requirements_are_not_met(
    collection: Path, netspurt: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from netspurt import captures

    monkeypatch.setattr(captures, "explain", explainer(lambda _, answer: iter([answer])))
    good = netspurt("truth", "check", collection)
    assert good.returncode == 0
    assert good.stdout.endswith("every requirement for captures beside the sender is met\n")
    assert "seen at the sender" in good.stdout
    unsure = explainer(lambda _, answer: iter([replace(answer, cause="unknown")]))
    monkeypatch.setattr(captures, "explain", unsure)
    bad = netspurt("truth", "check", collection, "--wrong", "--only", "tails-*")
    assert bad.returncode == 1
    assert "not met: " in bad.stdout
    assert "the answer is unknown" in bad.stdout
    as_json = netspurt("truth", "check", collection, "--json")
    assert as_json.returncode == 1
    assert '"failures"' in as_json.stdout
