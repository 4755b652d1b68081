"""Scores for explanations: right and wrong answers, the required shares, and calibration.

An explanation of a capture gives an answer for each retransmission: its cause and its verdict, each
with a confidence. The truth is a label for each retransmission in the capture. The calibration says
how often answers with a certain confidence are right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import sqrt
from typing import Any

from netspurt.truth.answers import Answer, MatchedAnswers
from netspurt.truth.labels import Label
from netspurt.wording import number

#: Causes count as one class if only the sender's configuration distinguishes them.
CLASSES = {
    "fast": "fast, SACK or RACK",
    "sack-recovery": "fast, SACK or RACK",
    "rack": "fast, SACK or RACK",
}

#: The minimum share of right causes in each class, at the sender's side.
RIGHT_SHARE_MIN = 0.98

#: The bounds of the bins of confidence.
BINS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)

#: The quantile of the normal distribution for intervals of 95 %.
_QUANTILE_95 = 1.959964


def class_of(cause: str) -> str:
    """Return the class in which a cause is judged."""
    return CLASSES.get(cause, cause)


@dataclass
class AnswerCounts:
    """The numbers of answers to one question: right, `unknown` and wrong answers."""

    right: int = 0
    unknown: int = 0
    wrong: int = 0

    def add(self, truth: str, answer: str) -> None:
        """Count an answer."""
        if answer == "unknown":
            self.unknown += 1
        elif answer == truth:
            self.right += 1
        else:
            self.wrong += 1

    @property
    def total(self) -> int:
        """The number of answers."""
        return self.right + self.unknown + self.wrong


@dataclass
class SideScore:
    """The score of explanations for segments that captures see on one side of the path.

    A retransmission is *unseen* if the capture contains it, but no earlier transmission of its
    octets.

    Attributes
    ----------
    held
        The number of retransmissions in captures.
    found
        The number of retransmissions with an answer.
    missed
        The number of retransmissions without an answer, except the unseen ones.
    invented
        The number of answers about packets that are not retransmissions.
    unseen_not_found
        The number of unseen retransmissions without an answer.
    confusion
        Counts by the true cause and the answered cause. A missing answer is counted as `missed`.
        Unseen retransmissions are counted only if their answer names a cause.
    unseen_unknown
        The number of unseen retransmissions whose answer is `unknown`, which is a right answer.
    loss_not_told
        The number of unseen retransmissions whose answer does not say that the original is missing.
    verdicts
        The numbers of answers about verdicts, by the true verdict.
    """

    held: int = 0
    found: int = 0
    missed: int = 0
    invented: int = 0
    unseen_not_found: int = 0
    confusion: dict[str, Counter[str]] = field(default_factory=dict)
    unseen_unknown: int = 0
    loss_not_told: int = 0
    verdicts: dict[str, AnswerCounts] = field(default_factory=dict)

    def by_class(self) -> dict[str, AnswerCounts]:
        """Return the answers about causes, by class. A missed retransmission counts as wrong."""
        found: dict[str, AnswerCounts] = {}
        for cause, counts in self.confusion.items():
            own = found.setdefault(class_of(cause), AnswerCounts())
            for answer, count in counts.items():
                for _ in range(count):
                    own.add(class_of(cause), class_of(answer))
        return found


@dataclass(frozen=True)
class Bin:
    """The answers with a confidence from `low` to below `high`; the last bin includes `high`.

    `count` is the number of these answers, `mean` is their mean confidence, and `right` is the
    number of right ones. `share` is the share of right ones, with Wilson's `interval` of 95 %.
    """

    low: float
    high: float
    count: int
    mean: float
    right: int
    share: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Wrong:
    """A wrong answer: the capture's file, the truth, and the answer.

    `label` is `None` if the packet is not a retransmission. `answer` is `None` if there is none.
    """

    capture: str
    label: Label | None
    answer: Answer | None
    why: str


class Score:
    """The score of explanations of captures."""

    def __init__(self) -> None:
        self.captures = 0
        #: The scores by side. `sender, options cut` is for captures without the options of TCP.
        self.sides: dict[str, SideScore] = {}
        self.wrong: list[Wrong] = []
        self._confidence: dict[str, list[tuple[float, bool]]] = {"cause": [], "verdict": []}

    def add(self, capture: str, matched: MatchedAnswers, *, options_cut: bool = False) -> None:
        """Count the answers about a capture."""
        self.captures += 1
        for label, answer in matched.pairs:
            side = self._side(label.side, options_cut)
            self._count(side, label, answer)
            why = _why_wrong(label, answer)
            if why:
                self.wrong.append(Wrong(capture, label, answer, why))
        for of_side, answer in matched.invented:
            self._side(of_side, options_cut).invented += 1
            self.wrong.append(Wrong(capture, None, answer, "invented"))

    def _side(self, side: str, options_cut: bool) -> SideScore:
        name = f"{side}, options cut" if options_cut else side
        return self.sides.setdefault(name, SideScore())

    def _count(self, side: SideScore, label: Label, answer: Answer | None) -> None:
        side.held += 1
        unseen = label.original == "unseen"
        if answer is None:
            side.unseen_not_found += unseen
            side.missed += not unseen
            if not unseen:
                side.confusion.setdefault(label.cause, Counter())["missed"] += 1
            return
        side.found += 1
        side.loss_not_told += unseen and not answer.original_missing
        if unseen and answer.cause == "unknown":
            side.unseen_unknown += 1
        else:
            side.confusion.setdefault(label.cause, Counter())[answer.cause] += 1
        truth = "spurious" if label.spurious else "needed"
        side.verdicts.setdefault(truth, AnswerCounts()).add(truth, answer.verdict)
        if answer.cause != "unknown":
            right = class_of(answer.cause) == class_of(label.cause)
            self._confidence["cause"].append((answer.cause_confidence, right))
        if answer.verdict != "unknown":
            self._confidence["verdict"].append((answer.verdict_confidence, answer.verdict == truth))

    def calibration(self, question: str) -> list[Bin]:
        """Return the bins of confidence of the answers to a question, `cause` or `verdict`.

        Answers that are `unknown` are left out.
        """
        return bins(self._confidence[question])

    def failures(self) -> list[str]:
        """Return a message for each requirement that is not met.

        The requirements apply to captures at the sender's side that have TCP's options.
        """
        side = self.sides.get("sender")
        if side is None:
            return ["no capture has a retransmission at its sender's side"]
        counts = {
            "retransmissions without an answer": side.missed,
            "invented retransmissions": side.invented,
            "retransmissions whose missing original is not reported": side.loss_not_told,
        }
        failed = [f"{kind}: {number(count)}" for kind, count in counts.items() if count]
        for name, own in sorted(side.by_class().items()):
            if own.right < RIGHT_SHARE_MIN * own.total:
                failed.append(
                    f"right causes of the class `{name}`: {own.right} of {own.total}; "
                    f"at least {RIGHT_SHARE_MIN:.0%} are required"
                )
        return failed

    def as_json(self) -> dict[str, Any]:
        """Return all counts."""
        return {
            "captures": self.captures,
            "failures": self.failures(),
            "sides": {
                name: {
                    **vars(side),
                    "confusion": {k: dict(v) for k, v in side.confusion.items()},
                    "verdicts": {k: vars(v) for k, v in side.verdicts.items()},
                    "classes": {k: vars(v) for k, v in side.by_class().items()},
                }
                for name, side in self.sides.items()
            },
            "calibration": {
                question: [vars(own) for own in self.calibration(question)]
                for question in self._confidence
            },
        }


def _why_wrong(label: Label, answer: Answer | None) -> str:
    """Return what is wrong with an answer, or an empty text if nothing is wrong.

    The verdict may always be `unknown`. The cause may be `unknown` away from the sender, and for an
    unseen retransmission. An unseen retransmission needs no answer.
    """
    unseen = label.original == "unseen"
    if answer is None:
        return "" if unseen else "missed"
    mistakes = []
    if class_of(answer.cause) != class_of(label.cause):
        may_be_unknown = unseen or label.side != "sender"
        mistakes += [] if answer.cause == "unknown" and may_be_unknown else ["cause"]
    if answer.verdict not in ("unknown", "spurious" if label.spurious else "needed"):
        mistakes.append("verdict")
    return " and ".join(mistakes)


def bins(confidences: Iterable[tuple[float, bool]]) -> list[Bin]:
    """Return the bins that are not empty.

    A pair in `confidences` is a confidence, and whether the answer was right.
    """
    every = list(confidences)
    filled = []
    for low, high in pairwise(BINS):
        inside = [
            (confidence, right)
            for confidence, right in every
            if low <= confidence < high or confidence == high == BINS[-1]
        ]
        if not inside:
            continue
        count, right = len(inside), sum(right for _, right in inside)
        mean = sum(confidence for confidence, _ in inside) / count
        filled.append(Bin(low, high, count, mean, right, right / count, wilson(right, count)))
    return filled


def wilson(right: int, count: int) -> tuple[float, float]:
    """Return Wilson's interval of 95 % for a share.

    References
    ----------
    Wilson 1927, Journal of the American Statistical Association 22, p. 209.

    Examples
    --------
    >>> [round(bound, 4) for bound in wilson(8, 10)]
    [0.4902, 0.9433]
    """
    share, spread = right / count, _QUANTILE_95 * _QUANTILE_95 / count
    middle = share + spread / 2
    half_width = _QUANTILE_95 * sqrt(share * (1 - share) / count + spread / (4 * count))
    return max(0.0, (middle - half_width) / (1 + spread)), min(
        1.0, (middle + half_width) / (1 + spread)
    )


def wrong_ones(wrong: Sequence[Wrong]) -> list[str]:
    """Return a line for each wrong answer."""
    return [_line(mistake) for mistake in wrong]


def _line(mistake: Wrong) -> str:
    label, answer = mistake.label, mistake.answer
    answered = "there is no answer"
    if answer is not None:
        answered = f"the answer is {answer.cause}, {answer.verdict}"
    why = mistake.why if mistake.why in ("missed", "invented") else f"wrong {mistake.why}"
    start = f"{mistake.capture}: {why}"
    if label is None:
        at = "" if answer is None else f"t_ns {answer.t_ns}, seq {answer.seq}"
        return f"{start}: {at}: this is no retransmission; {answered}"
    truth = f"{label.cause}, {'spurious' if label.spurious else 'needed'}"
    packet = f"packet {label.frame}, seq {label.seq}, {label.side}, original {label.original}"
    return f"{start}: {packet}: the truth is {truth}; {answered}"
