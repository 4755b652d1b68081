"""The lines of `netspurt explain` on remedies.

A remedy is a change of the sender that would have shortened its waits for timers. A silence is the
time without packets before a timer fired. A floor is a minimum RTO.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from netspurt.analysis.seen import busiest_rows, vantages_of
from netspurt.analysis.spent import together_s, unseen_timeouts_s, whole_s
from netspurt.captures import forget_columns
from netspurt.causes import SAVED_WORDS, SEVERAL_TIMEOUTS_WORDS
from netspurt.wording import counted, duration, rounded

if TYPE_CHECKING:
    from netspurt.analysis.bootstrap import Interval
    from netspurt.analysis.remedies import Outages, Remedy, Silences
    from netspurt.analysis.rfc_timers import FarAbove
    from netspurt.table import Table

#: The maximum number of remedies that are shown.
_REMEDIES = 3


def remedy_lines(
    tables: Mapping[str, Table], whole: Mapping[str, Table] | None = None
) -> Iterator[str]:
    """Yield the changes of the sender that would have saved the most time, with their costs.

    If no change would have saved time, lines say why. Changes that would have saved little of the
    time of the transfers are left out, and a line says so if no change is left. `tables` has
    `connections`, `waits`, `floors`, `habits`, `spent` and `retransmissions`. If `tables` has only
    one connection, `whole` has the tables of the whole capture.
    """
    from netspurt.analysis.remedies import outages, remedies, silences
    from netspurt.analysis.rfc_timers import far_above, judged

    unseen_s = unseen_timeouts_s(tables)
    yield from _unseen(unseen_s)
    yield from _far_above(far_above(tables))
    all_silences = silences(tables, whole)
    # The bootstrap of the intervals needs much memory, so the columns that were read so far are
    # freed.
    forget_columns(tables)
    found, failed = remedies(tables, whole, all_silences), outages(all_silences)
    least_s = _LITTLE * _transferring_s(tables["spent"])
    helpful = [one for one in found if one.saved_s.value >= least_s]
    shown = _best(helpful)
    yield from map(_told, shown)
    yield from _in_linux(shown, all_silences)
    yield from _ticking(int(all_silences.ticking.sum()))
    yield from _ack_delays(shown, tables["habits"])
    if failed:
        yield from _failed(failed)
    yield from _late(int(all_silences.late.sum()))
    yield from _arrived(int(all_silences.arrived.sum()))
    waits = judged(tables)
    if not found:
        explained = (failed.silences if failed else 0) + int(
            (all_silences.late | all_silences.arrived).sum()
        )
        if unseen_s and len(tables["waits"]) == 0:
            return
        if not explained or explained < len(all_silences.timeouts):
            yield _why_none(tables, waits, all_silences)
        return
    if not helpful:
        yield (
            f"No remedy against waits for retransmission timers {SAVED_WORDS} more than "
            f"{_LITTLE:.0%} of the time of the transfers, so none is listed."
        )
        yield from _probe_waits(tables, least_s)
        return
    yield from _open_ended(all_silences)
    unknown = len(waits) - _known(waits)
    if unknown:
        yield f"At {counted(unknown, 'wait')} no round trip is known, so no remedy is tried there."
    beside = len(tables["waits"].where(timer="retransmission")) - len(waits)
    if beside:
        yield f"At {counted(beside, 'further wait')} {_BESIDE}"
    yield from _probe_waits(tables, least_s)


def _best(helpful: Sequence[Remedy]) -> list[Remedy]:
    """Return the best remedies. If there are remedies of other kinds, at most two are floors."""
    others = [one for one in helpful if one.floor_s is None]
    floors = [one for one in helpful if one.floor_s is not None]
    most = _REMEDIES - min(len(others), 1)
    chosen = [*floors[:most], *others]
    return sorted(chosen, key=lambda one: -one.saved_s.value)[:_REMEDIES]


#: Remedies that would have saved a smaller share of the time of the transfers are left out.
_LITTLE = 0.01


def _transferring_s(spent: Table) -> float:
    """Return the time of connections [s], without pauses in which neither end had data to send."""
    return float((whole_s(spent) - spent.seconds("application_ns")).sum())


def _ticking(silences: int) -> Iterator[str]:
    """Yield a line on the silences for which no floor is tried, because the clock has ticks."""
    if silences:
        yield (
            f"{counted(silences, 'silence')} ended at ticks of the sender's clock (`timer_grid_ns` "
            "in the table `habits`), so no other minimum is tried there."
        )


_BESIDE = (
    "the capture was taken beside the receiver, where the sender's round trips are not seen, so no "
    "remedy is tried there."
)


def _known(waits: Table) -> int:
    """Return the number of waits that began after the first known round trip."""
    return int(waits.exists("srtt_ns").sum())


def _told(one: Remedy) -> str:
    what = f"{one.name[0].upper()}{one.name[1:]}"
    waited = f"{rounded(one.waited_s)} s that retransmission timers waited"
    share = one.saved_s.value / one.waited_s
    text = f"{what} {SAVED_WORDS} {_with_interval(one.saved_s, ' s')}, {share:.0%} of the "
    text += f"{waited}, in {one.silences:,} of {counted(one.all_silences, 'silence')}"
    if one.spurious is not None:
        told = _with_interval(one.spurious)
        text += f", at the cost of {told} further spurious timeout{'' if told == '1' else 's'}"
    return f"{text}."


#: The floor of Linux without a setting [s].
_LINUX_FLOOR_S = 0.2


def _in_linux(shown: Sequence[Remedy], silences: Silences) -> Iterator[str]:
    """Yield a comparison of the shown floors with the floors of the sender and of other stacks."""
    floors = [one.floor_s for one in shown if one.floor_s is not None]
    if not floors:
        return
    # If SACK blocks came before a wait, the timer may have started earlier than the wait. So its
    # minimum may be longer than the wait shows.
    known = np.isfinite(silences.above_srtt_s) & ~silences.first["sacked"]
    own = np.unique(silences.above_srtt_s[known]).tolist()
    text = ""
    if len(own) == 1:
        text = f"The sender's shortest wait was {duration(own[0])} above srtt, so its own minimum "
        text += "is not longer than that. "
    if len(own) > 1:
        text = f"The senders' shortest waits were {duration(own[0])} to {duration(own[-1])} above "
        text += "srtt. A minimum near or above a sender's own minimum is not tried on this sender. "
    if _LINUX_FLOOR_S in floors:
        text += (
            "Linux has 200 ms by default, so a minimum of 200 ms changes nothing on a Linux sender "
            "with the default setting. "
        )
    yield (
        f"{text}In a stack whose minimum RTO is for the whole timer, as in RFC 6298, set a minimum "
        "that is longer by srtt."
    )


def _ack_delays(shown: Sequence[Remedy], habits: Table) -> Iterator[str]:
    """Yield a caution if a shown floor may be shorter than the delay of a delayed ACK."""
    from netspurt.analysis.remedies import LINUX_ACK_DELAY_S

    if not any(one.floor_s is not None and one.floor_s <= LINUX_ACK_DELAY_S for one in shown):
        return
    lone = int(habits["lone_acks"].sum())
    longest_s = habits.filled("lone_ack_delay_ns_max", 0).max() / 1e9
    seen = f"{counted(lone, 'ACK')} of lone segments came at most {duration(longest_s)} late here. "
    yield (
        f"{seen if lone else 'The capture shows no ACK of a lone segment. '}Linux receivers may "
        f"delay such an ACK by {duration(LINUX_ACK_DELAY_S)}, other receivers by up to 200 ms. "
        "With a shorter minimum, a lone segment to such a receiver causes a spurious timeout."
    )


def _failed(found: Outages) -> Iterator[str]:
    """Yield what is known of silences with several timeouts, and what a lower floor changes."""
    one = found.silences == 1
    where, these, outages = (
        ("one silence", "this wait", "the outage")
        if one
        else (f"{found.silences:,} silences", "these waits", "each outage")
    )
    silences = "this silence" if one else "these silences"
    yield (
        f"In {where} {SEVERAL_TIMEOUTS_WORDS}. The cause of {these} of "
        f"{duration(found.waited_s)} was probably an outage, or a queue that stayed full. All "
        f"transmissions or their ACKs were lost for at least {duration(found.failed_s)}, until the "
        "last unanswered retransmission left. In such a time, the timer only decides how soon "
        f"after {outages} the next retransmission leaves. At high loss rates the transmissions may "
        "also have been lost independently of each other. Then a shorter timer helps here, too."
    )
    if found.floor_s is not None:
        yield (
            f"With a minimum of {1e3 * found.floor_s:g} ms above srtt {silences} would have been "
            f"between {_changed(found.least_s)} and {_changed(found.most_s)}, because the end of "
            f"{outages} is not known. On average over outages of very different lengths this "
            f"minimum saves {duration(found.mean_s)} in {counted(found.silences, 'outage')}."
        )


def _late(count: int) -> Iterator[str]:
    """Yield why silences with an answer to an earlier transmission cannot be shortened."""
    if count:
        yield (
            f"In {counted(count, 'silence')} the answer came so soon after the last retransmission "
            "that it must be the answer to an earlier transmission. The path had only delayed this "
            "transmission, so a shorter timer would have saved nothing."
        )


def _arrived(count: int) -> Iterator[str]:
    """Yield why no saved time is counted if the original had arrived."""
    if count:
        yield (
            f"In {counted(count, 'silence')} the original had arrived, so retransmissions were "
            "spurious: the path had delayed the original or its ACK, or had lost the ACK. A "
            "shorter timer saves time only if the ACK was lost. The capture does not show this, so "
            "no saved time is counted there."
        )


def _changed(saved_s: float) -> str:
    """Return a saved time in words. If the silences would be longer, `saved_s` is negative."""
    return f"{duration(abs(saved_s))} {'longer' if saved_s < 0 else 'shorter'}"


def _open_ended(silences: Silences) -> Iterator[str]:
    """Yield why no time is saved in silences without an answer."""
    open_ended = int((~silences.answered).sum())
    if open_ended:
        yield (
            f"In {counted(open_ended, 'silence')} no retransmission was answered, so nothing is "
            "saved there."
        )


def _with_interval(value: Interval, unit: str = "") -> str:
    told = f"{rounded(value.value)}{unit}"
    if not (np.isfinite(value.low) and np.isfinite(value.high)):
        return told
    return f"{told} ({rounded(value.low)} .. {rounded(value.high)})"


def _unseen(silent_s: float) -> Iterator[str]:
    """Yield a sentence if only later data shows timeouts that ended silences."""
    if silent_s:
        yield (
            f"Timeouts ended {duration(silent_s)} of silence, although no retransmission in the "
            "capture shows them. The sender had data before each silence, and after it sent only "
            "one segment until the ACK came. IP identifications show that it sent packets before "
            "this segment that never came to the capture point. What an earlier timer would have "
            "saved is unknown."
        )


def _far_above(far: FarAbove) -> Iterator[str]:
    """Yield a sentence if a sender's timer was far above the timer that RFC 6298 computes."""
    if not len(far.waited_s):
        return
    times, count = _range(far.waited_s, " s"), len(far.waited_s)
    # Beside the receiver, the ACK of a segment may have the same time as the segment.
    if far.srtt_s.all():
        times = f"{_range(far.waited_s / far.srtt_s, '')} round trips ({times})"
    at = f"At {counted(count, 'wait')}"
    these = "this wait" if count == 1 else "these waits"
    computes = f"RFC 6298 computes {_range(far.computed_s, ' s')} with a minimum of 1 s"
    if far.beside_senders:
        yield (
            f"{at} the sender's timer was {times}, but {computes}. So the sender kept an earlier "
            "backoff, or has a coarse or fixed timer. A lower minimum would not have shortened "
            f"{these}."
        )
        return
    yield (
        f"{at} the sender seemed to wait {times}, but {computes}. So either earlier "
        "retransmissions were lost before the capture point, or the sender kept an earlier "
        "backoff, or it has a coarse or fixed timer. In the last two cases a lower minimum would "
        f"not have shortened {these}."
    )


def _range(values: np.ndarray[tuple[int], np.dtype[np.float64]], unit: str) -> str:
    low, high = (rounded(float(end)) for end in (values.min(), values.max()))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def _no_waits(*, at_senders: bool) -> str:
    """Return a sentence on a capture without waits for timers.

    `at_senders` says whether all connections were captured beside the host that sent most of their
    data.
    """
    if at_senders:
        return (
            "No retransmission waited for a timer, so a shorter timer or tail loss probes would "
            "not help."
        )
    return (
        "As far as the capture shows, no retransmission waited for a timer. Only a capture beside "
        "the sender shows this for certain."
    )


#: The text if only the length of a silence suggests that retransmissions were tail loss probes.
_UNSURE = (
    "It is not certain that the sender sent tail loss probes: a sender without such probes sends "
    "the same packets after a timeout. If the sender's stack has no such probes, or if they are "
    "switched off (Linux: net.ipv4.tcp_early_retrans=0), a lower minimum RTO may have shortened "
    "the waits."
)


#: Linux's timer of tail loss probes (`tcp_schedule_loss_probe`).
_LONE_PROBE = (
    "On Linux, a lower rto_min shortens the wait for the probe of a lone segment, too: this wait "
    "is two round trips plus rto_min, but at most the RTO."
)


def _probe_waits(tables: Mapping[str, Table], least_s: float) -> Iterator[str]:
    """Yield a line on the waits for tail loss probes, if they took at least `least_s` together."""
    # The columns of the lines before need memory at the same time as the columns of this line.
    forget_columns(tables)
    probes = tables["waits"].where(timer="probe")
    waited_s = together_s(probes)
    if len(probes) and waited_s >= least_s:
        yield " ".join(
            [
                f"Connections also waited {duration(waited_s)} for tail loss probes. No remedy is "
                "tried for these waits.",
                *_on_probes(tables),
            ]
        )


def _on_probes(tables: Mapping[str, Table]) -> Iterator[str]:
    """Yield sentences on what shortens the waits for tail loss probes."""
    if (tables["waits"].where(timer="probe")["outstanding"] <= 1).any():
        yield _LONE_PROBE
    again = tables.get("retransmissions")
    if again is None:
        return
    if len(again.where(cause="tlp", cause_evidence="lone-by-time")):
        yield _UNSURE


def _why_none(tables: Mapping[str, Table], judged_waits: Table, found: Silences) -> str:
    """Return why no change of the sender's timers would have saved time.

    `judged_waits` has the waits that could be judged, and `found` their silences.
    """
    waits = tables["waits"]
    if len(waits) == 0:
        where = vantages_of(busiest_rows(tables["connections"]), tables)
        return _no_waits(at_senders=bool((where == "sender").all()))
    if len(judged_waits) == 0 and len(waits.where(timer="retransmission")):
        return f"At {counted(len(waits.where(timer='retransmission')), 'wait')} {_BESIDE}"
    if len(judged_waits) == 0:
        timers = {"probe": "tail loss probes", "syn": "SYNs"}
        kinds = [words for name, words in timers.items() if len(waits.where(timer=name))]
        told = (
            f"As far as the capture shows, connections waited only for timers of "
            f"{' and '.join(kinds)}. No remedy is tried for these waits."
        )
        return " ".join([told, *_on_probes(tables)])
    if _known(judged_waits) == 0:
        return (
            "No round trip is known from before the waits for timers, because no ACK of new data "
            "was captured before them. So it is unknown how much an earlier timer would have saved."
        )
    if not found.answered.any():
        return (
            "After the timeouts no retransmission was answered, so no remedy would have saved "
            "time: another timer does not help if the path or the peer has failed."
        )
    # If all timers have ticks, no minimum was tried.
    tried = (
        "Tail loss probes or RACK would not have saved time: with them"
        if found.ticking.all()
        else "No remedy would have saved time: with a shorter minimum, tail loss probes or RACK"
    )
    return f"{tried}, the retransmissions would have left about as late as they did."
