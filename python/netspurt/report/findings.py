"""The finding of a capture: what was retransmitted and why, what it cost, and what would help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netspurt.analysis.seen import heard
from netspurt.captures import Explained
from netspurt.causes import tallied
from netspurt.report.words import span
from netspurt.wording import counted, number, plain

#: How the lines begin that say where the time went, and what the lines on remedies contain.
_TIME = "Time went to"
_REMEDY = "would have saved"


def finding(found: Explained, lines: Sequence[str]) -> str:
    """Return the sentences that a reader of a capture needs first.

    Parameters
    ----------
    found
        The capture, or several together.
    lines
        The lines that `netspurt explain` prints of it.
    """
    return plain(" ".join(_sentences(found, lines)))


def shares(lines: Sequence[str]) -> list[str]:
    """Return of the lines on a capture the one that says where the time went, if there is one."""
    return [plain(line) for line in lines if line.startswith(_TIME)][:1]


def _sentences(found: Explained, lines: Sequence[str]) -> Iterator[str]:
    data = int(found.table("connections")["data_packets"].sum())
    if data == 0:
        return
    again = found.table("retransmissions")
    if len(again) == 0:
        yield f"Nothing was retransmitted in {counted(data, 'data packet')}."
        return
    of = tallied(again["cause"].tolist(), likeliest=False)
    yield f"{counted(len(again), 'retransmission')} in {counted(data, 'data packet')}: {of}."
    yield from _verdicts(again["verdict"].tolist())
    spent = heard(found.tables)
    silence, repair = (float(spent.seconds(f"{name}_ns").sum()) for name in ("timeout", "repair"))
    if silence or repair:
        times = f"{span(silence) if silence else 'No time'} passed in silence before timers"
        yield f"{times}, {span(repair)} in repair." if repair else f"{times}."
    yield from [line for line in lines if _REMEDY in line][:1]


def _verdicts(verdicts: Sequence[str]) -> Iterator[str]:
    """Yield how many retransmissions were spurious, and of how many this cannot be known."""
    spurious, unknown = verdicts.count("spurious"), verdicts.count("unknown")
    told = f"{number(spurious)} {'was' if spurious == 1 else 'were'} spurious"
    told = told if spurious else "None is known to be spurious"
    yield f"{told}; of {number(unknown)} it cannot be known." if unknown else f"{told}."
