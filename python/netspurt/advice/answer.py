"""Makes the advice on a timer in a few sentences, for a reader who does not need all reasons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from netspurt.advice.by_stack import by_stack, receivers_for
from netspurt.advice.doubts import remedy, undecided
from netspurt.advice.losses import losses_behind_choice
from netspurt.advice.others import cheaper_computed
from netspurt.advice.words import choice_words, on_loopback, one_way_words, without_advice

if TYPE_CHECKING:
    from netspurt.advice.advising import Advice


def answer(advice: Advice) -> list[str]:
    """Return the advice in a few paragraphs: the choice, what to set, and how sure the choice is.

    `Advice.paragraphs` has the reasons, and how to set a timer.
    """
    if reason := without_advice(advice):
        return [*on_loopback(advice), reason]
    doubts = undecided(advice)
    sure = [] if doubts else [*losses_behind_choice(advice), *_halves(advice)]
    stacks = [*by_stack(advice), *receivers_for(advice)]
    # If no timer of Linux is recommended, `stacks` say which `rto_min` costs less.
    cheaper = [] if doubts or by_stack(advice) else cheaper_computed(advice)
    texts = [
        " ".join(on_loopback(advice)),
        " ".join([*doubts, *choice_words(advice), *cheaper, *remedy(advice)]),
        " ".join(stacks),
        " ".join(sure),
        " ".join(one_way_words(advice)),
    ]
    return [text for text in texts if text]


def _halves(advice: Advice) -> Iterator[str]:
    """Yield a sentence if both halves of the recorded delays choose the recommended timer."""
    if len(advice.replays) == 1 and {lesson.choice for lesson in advice.lessons} == {advice.pick}:
        yield f"Both halves of the recording choose {advice.pick}."
