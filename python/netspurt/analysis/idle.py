"""Finds the idle times of a connection: its longest silences, and the cause of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: The cause of a silence.
Waited = Literal["loss", "peer", "think", "window", "round-trip", "application"]

#: Each cause in words.
IN_WORDS: dict[str, str] = {
    "loss": "a retransmission ended the silence",
    "peer": "the other end had sent nothing that needs an answer",
    "think": "the end worked on what the other end had sent",
    "window": "the receive window was full",
    "round-trip": "packets were on their way, for a round trip",
    "application": "there was nothing to send, as far as the packets show",
}

assert tuple(IN_WORDS) == get_args(Waited)

#: The time from an acknowledgment to the next packet is the reaction of the sender. The
#: acknowledgment released the packet if the reaction is at most `_REACTION_SHARE` of the silence.
_REACTION_SHARE = 0.1
#: The maximum time by which the capturing host and the sender make a reaction longer, in seconds.
_HOST_DELAY_S = 0.001
#: The maximum ratio of a reaction to the reaction in the handshake.
_REACTION_FACTOR = 1.5


@dataclass(frozen=True)
class Packets:
    """The packets of a TCP connection in the order in which they passed one point, shape (n,) each.

    Attributes
    ----------
    t_s
        The instant at which each packet passed the point, in seconds.
    forward
        True if the initiator sent the packet.
    seq, length
        The sequence number of the packet's first octet, and the number of octets of its payload. A
        SYN and a FIN count as one octet each. Sequence numbers are unwrapped: they continue above
        2**32.
    ack, window
        The packet's acknowledgment number, unwrapped, and the receive window that the packet
        offers, in octets.
    syn, fin
        Whether the packet has a SYN, and whether it has a FIN.
    retransmission
        True if the packet is a retransmission, as far as the packets at this point show.
    """

    t_s: Floats
    forward: Flags
    seq: Counts
    length: Counts
    ack: Counts
    window: Counts
    syn: Flags
    fin: Flags
    retransmission: Flags

    def __post_init__(self) -> None:
        shapes = {getattr(self, name).shape for name in self.__dataclass_fields__}
        if shapes != {(len(self.t_s),)}:
            raise ValueError(f"the columns have the shapes {sorted(shapes)}: all must be (n,)")
        if np.any(np.diff(self.t_s) < 0):
            raise ValueError("t_s goes back in time: sort the packets by time")

    @classmethod
    def of(cls, **columns: ArrayLike) -> Packets:
        """Return packets from columns of any type. Columns that are left out are zero."""
        n = len(np.asarray(columns["t_s"]))
        kinds = {"t_s": float} | dict.fromkeys(("forward", "syn", "fin", "retransmission"), bool)
        return cls(
            **{
                name: np.asarray(columns.get(name, np.zeros(n)), dtype=kinds.get(name, np.int64))
                for name in cls.__dataclass_fields__
            }
        )

    @property
    def payload(self) -> Counts:
        """The octets of data of each packet, shape (n,)."""
        return self.length - self.syn - self.fin


@dataclass(frozen=True)
class Idle:
    """A silence of one end: the time between two packets that the end sent.

    Attributes
    ----------
    start_s, end_s
        The instants at which the packets passed, in seconds.
    before, after
        The indices of the packet before the silence and of the packet after it.
    waited_for
        The cause of the silence, one of `IN_WORDS`.
    """

    start_s: float
    end_s: float
    before: int
    after: int
    waited_for: Waited

    @property
    def length_s(self) -> float:
        """The length of the silence, in seconds."""
        return self.end_s - self.start_s


def longest_idle(packets: Packets, *, forward: bool) -> Idle | None:
    """Return the longest silence of one end, and its cause.

    Parameters
    ----------
    packets
        A connection.
    forward
        True for the silence of the initiator, false for the silence of the other end.

    Returns
    -------
    Idle or None
        `None` if the end sent fewer than two packets.

    Notes
    -----
    A SYN or a FIN counts as data. The first rule that applies decides:

    1. The packet after the silence is a retransmission: *loss*.
    2. The other end sent data during the silence. The last of this data divides the silence: the
       time before it counts for the other end (*peer*), and the time after it for this end
       (*think*). A part of each of these times is the time that packets need to reach an end and
       come back. This part is known from the handshake, and counts as *round-trip* instead. The
       longest of the three times decides.
    3. The packet after the silence has no data, so it answers the other end: *peer*.
    4. The other end had sent the latest data before the silence: *think*.
    5. The packet after the silence exceeds every receive window offered before the silence:
       *window*.
    6. Octets were outstanding, and the packet followed an acknowledgment within a tenth of the
       silence, or within about the end's reaction time: *round-trip*.
    7. In all other cases: *application*. If the capture is beside the receiver, the packet may also
       be a retransmission. If the original was lost before this point, the capture does not show
       that the packet is a retransmission.

    Examples
    --------
    >>> packets = Packets.of(
    ...     t_s=[0.0, 0.05, 0.06, 0.9], forward=[1, 0, 0, 0], seq=[1, 1, 1461, 1461],
    ...     length=[300, 1460, 1460, 1460], retransmission=[0, 0, 0, 1],
    ... )
    >>> idle = longest_idle(packets, forward=False)
    >>> idle.waited_for, round(idle.length_s, 2)
    ('loss', 0.84)
    """
    pairs = _silences(packets, forward=forward)
    if len(pairs) == 0:
        return None
    gaps = packets.t_s[pairs[:, 1]] - packets.t_s[pairs[:, 0]]
    before, after = pairs[int(np.argmax(gaps))].tolist()
    return _idle(packets, before, after, _reactions(packets, forward=forward))


def idles(packets: Packets, *, forward: bool, at_least_s: float) -> list[Idle]:
    """Return all silences of one end that last at least `at_least_s` seconds."""
    pairs = _silences(packets, forward=forward)
    gaps = packets.t_s[pairs[:, 1]] - packets.t_s[pairs[:, 0]]
    reactions = _reactions(packets, forward=forward)
    long = pairs[gaps >= at_least_s].tolist()
    return [_idle(packets, before, after, reactions) for before, after in long]


def _silences(packets: Packets, *, forward: bool) -> NDArray[np.intp]:
    """Return the indices of neighbouring packets of one end, shape (k, 2)."""
    own = np.flatnonzero(packets.forward == forward)
    return np.stack([own[:-1], own[1:]], axis=1)


def reaction_s(packets: Packets, *, forward: bool) -> float:
    """Return the time in which one end answered the other in the handshake, as the packets show it.

    If the capture is beside the end that answered, the time is nearly zero. If the capture is
    beside the other end, the time is a round trip. The result is zero if the handshake is missing.
    """
    answered = np.flatnonzero(packets.syn & (packets.forward != forward))
    if len(answered) == 0:
        return 0.0
    after = np.flatnonzero(packets.forward == forward)
    after = after[after > answered[-1]]
    return float(packets.t_s[after[0]] - packets.t_s[answered[-1]]) if len(after) else 0.0


def _reactions(packets: Packets, *, forward: bool) -> tuple[float, float]:
    return reaction_s(packets, forward=forward), reaction_s(packets, forward=not forward)


def _idle(packets: Packets, before: int, after: int, reactions: tuple[float, float]) -> Idle:
    start, end = (float(packets.t_s[place]) for place in (before, after))
    return Idle(start, end, before, after, _waited(packets, before, after, reactions))


def _longest_part(until_s: float, since_s: float, reactions: tuple[float, float]) -> Waited:
    """Return which part of a silence was the longest.

    `until_s` is the time from the beginning of the silence to the other end's last data. `since_s`
    is the time from this data to the end of the silence. `reactions` are the reaction times of this
    end and of the other end.
    """
    own, other = min(since_s, reactions[0]), min(until_s, reactions[1])
    parts: dict[Waited, float] = {
        "round-trip": own + other,
        "peer": until_s - other,
        "think": since_s - own,
    }
    return max(parts, key=lambda part: parts[part])


def _waited(packets: Packets, before: int, after: int, reactions: tuple[float, float]) -> Waited:
    if packets.retransmission[after]:
        return "loss"
    start, end = packets.t_s[before], packets.t_s[after]
    of_other_end = np.arange(before + 1, after)
    of_other_end = of_other_end[packets.forward[of_other_end] != packets.forward[after]]
    with_data = of_other_end[packets.length[of_other_end] > 0]
    if len(with_data):
        # The other end's last data counts, and not its first, because the other end may have
        # retransmitted lost data between its first and its last data.
        last = float(packets.t_s[with_data[-1]])
        return _longest_part(last - float(start), float(end) - last, reactions)
    if packets.length[after] == 0:
        return "peer"
    latest = np.flatnonzero(packets.length[: before + 1] > 0)[-1:]
    if np.any(packets.forward[latest] != packets.forward[after]):
        # This end may have acknowledged the other end's data, but has not answered it yet.
        return "think"
    return _held_back(packets, before, after, of_other_end, reactions[0])


def _held_back(
    packets: Packets, before: int, after: int, of_other_end: NDArray[np.intp], reaction: float
) -> Waited:
    """Return the cause of a silence before data that does not answer the other end.

    `of_other_end` are the packets of the other end during the silence.
    """
    start, end = packets.t_s[before], packets.t_s[after]
    peer_before = np.flatnonzero(packets.forward[:before] != packets.forward[after])
    right = packets.seq[after] + packets.length[after]
    edges = packets.ack[peer_before] + packets.window[peer_before]
    if len(edges) and right > edges.max():
        return "window"
    sent_places = np.flatnonzero(packets.forward[: before + 1] == packets.forward[after])
    sent = (packets.seq[sent_places] + packets.length[sent_places]).max()
    acked = packets.ack[peer_before].max(initial=0)
    reaction_max = max(_REACTION_SHARE * (end - start), _REACTION_FACTOR * reaction) + _HOST_DELAY_S
    if sent > acked and len(of_other_end) and end - packets.t_s[of_other_end[-1]] <= reaction_max:
        return "round-trip"
    return "application"
