"""Recorded delays: the probes of a path and their outcomes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netspurt import _core
from netspurt.interrupts import interruptible
from netspurt.stored import replacing, whole_octets

#: The maximum of a delay and of a recording's duration: about thirty years.
_LONGEST_S = 1e9

#: A pause in sending is a time between two probes of more than `PAUSE` times the median time.
PAUSE = 5

#: When a retransmission timer learns of a reply: before the next probe leaves, or on arrival.
Order = Literal["sequence", "causal"]


class Delays:
    """A recording of one path.

    `read_delays` makes a recording from the files of many tools. `Delays.of` makes it from arrays.

    Examples
    --------
    >>> import netspurt as ns
    >>> path = ns.Delays.of([0.040, 0.042, None, 0.041], every=1.0)
    >>> path.sent, path.received, path.lost
    (4, 3, 1)
    """

    def __init__(self, core: _core.Delays) -> None:
        self._core = core

    @classmethod
    def of(  # noqa: PLR0913 - each is a column of its own
        cls,
        rtt: ArrayLike | Sequence[float | None],
        *,
        sent: ArrayLike | None = None,
        every: float | None = None,
        wire_bytes: ArrayLike | None = None,
        order: Order | None = None,
        name: str = "delays",
    ) -> Delays:
        """Return the recording of probes with known delays.

        Parameters
        ----------
        rtt
            Delays in seconds, shape (n,); NaN or `None` if no reply came.
        sent
            When each probe left, in seconds, shape (n,), in ascending order. Give either `sent` or
            `every`.
        every
            The seconds from one probe to the next. Without `every` and `sent`, times are unknown.
        wire_bytes
            Octets of each probe on the wire, shape (n,).
        order
            When a timer learns of a reply: on arrival (`causal`), or before the next probe
            (`sequence`). The default is `causal` if the probes' times are known, else `sequence`.
        name
            The name of the recording.

        Raises
        ------
        ValueError
            If columns differ in length, if a value is invalid, or if `sent` and `every` are both
            given.
        """
        delays = np.asarray(rtt, dtype=np.float64)
        if delays.ndim != 1:
            raise ValueError(f"rtt has the shape {delays.shape}: give one delay per probe")
        wrong = np.flatnonzero((delays < 0) | (delays > _LONGEST_S))
        if len(wrong):
            raise ValueError(
                f"rtt[{wrong[0]}] is {delays[wrong[0]]:g} s: delays are from 0 to {_LONGEST_S:g} s"
            )
        if every is not None:
            if sent is not None:
                raise ValueError("`sent` and `every` both say when probes left: give one of them")
            sent = np.arange(len(delays)) * every
        order = order or ("sequence" if sent is None else "causal")
        core = _core.Delays(
            name,
            _nanoseconds(np.where(np.isnan(delays), -1e-9, delays)),
            None if sent is None else _instants(sent, len(delays)),
            None if wire_bytes is None else _octets(wire_bytes, len(delays)),
            order,
        )
        return cls(core)

    def lost_after(self, seconds: float) -> Delays:
        """Return a recording in which replies after more than `seconds` count as lost.

        RFC 889 counted a probe as lost after 30 s. A note gives the number of late replies.

        Parameters
        ----------
        seconds
            The maximum delay of a reply, above zero and below 1e9.

        Raises
        ------
        ValueError
            If `seconds` is not above zero and below 1e9.

        Examples
        --------
        >>> import netspurt as ns
        >>> path = ns.Delays.of([0.1, 31.0, None], every=1.0).lost_after(30)
        >>> path.received, path.lost, path.notes
        (1, 2, ['one reply later than 30 s is counted as lost'])
        """
        if not 0 < seconds < 1e9:
            raise ValueError(
                f"lost_after({seconds}): give seconds above zero and below 1e9, such as 30"
            )
        return Delays(self._core.lost_after(round(seconds * 1e9)))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the probes as CSV. `read_delays` reads this file as the same recording.

        The CSV has the instant at which the recording began, if it is known. It does not have the
        notes, the duplicates, the directions of losses, one-way delays beside round trips, or the
        probes that `untimed` counts. It does not say which replies were late, either. The file
        appears when it is complete.

        Parameters
        ----------
        path
            The file.

        Examples
        --------
        >>> import netspurt as ns, tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = ns.Delays.of([0.1, None], wire_bytes=[40, 256]).save(f"{folder}/two.csv")
        ...     (back,) = ns.read_delays(file)
        >>> back.order, back.lost, back.wire_bytes.tolist()
        ('sequence', 1, [40, 256])
        """
        path = Path(path)
        times = self.send_times != "unknown"
        sent_ns = "sent" if self.began_is_local else "sent_ns"
        head = [
            "order",
            "measure",
            "probe",
            *([sent_ns] if times else []),
            "rtt_ns",
            "size_bytes",
        ]
        rtts = ("" if rtt is np.ma.masked else str(rtt) for rtt in self.rtt_ns)
        each = [self.number.tolist(), *([self._left()] if times else []), rtts]
        rows = zip(*each, self.wire_bytes.tolist(), strict=True)
        with replacing(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
            print(*head, sep=",", file=file)
            for row in rows:
                print(self.order, self.measure, *row, sep=",", file=file)
        return path

    @property
    def name(self) -> str:
        """The given name or the file's name, and the path's name if the file has several paths."""
        return self._core.name

    @property
    def format(self) -> str:
        """The format of the file from which the recording was read."""
        return self._core.format

    @property
    def measure(self) -> str:
        """The kind of delays: `round-trip`, `one-way`, or `smoothed` (the output of a filter)."""
        return self._core.measure

    @property
    def order(self) -> str:
        """`causal` if a timer learns of a reply on arrival; `sequence` if before the next probe."""
        return self._core.order

    @property
    def send_times(self) -> str:
        """The source of the times of sending: `recorded`, `computed` or `unknown`."""
        return self._core.send_times

    @property
    def began(self) -> float | None:
        r"""The instant of the first probe [s since 1970, UTC], or `None` if it is not known.

        If `began_is_local` is true, the file has local times without a zone. In that case, the
        value is the local time, treated as UTC.

        Examples
        --------
        >>> import netspurt as ns, tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "a.csv")
        ...     _ = file.write_text("timestamp,rtt_ms\n2024-10-22T10:11:12Z,20\n")
        ...     (path,) = ns.read_delays(file)
        >>> path.began, path.began_is_local
        (1729591872.0, False)
        """
        return None if self._core.began is None else self._core.began[0] / 1e9

    @property
    def began_is_local(self) -> bool:
        """True if `began` is a local time, because the file has no zone."""
        return self._core.began is not None and self._core.began[1]

    @property
    def is_loopback(self) -> bool:
        """True if the file shows that the probed address is a loopback address."""
        return self._core.loopback

    @property
    def sent(self) -> int:
        """The number of probes that were sent, including the probes that `untimed` counts."""
        return self._core.counts[0]

    @property
    def received(self) -> int:
        """The number of answered probes, including late answers and answers without a delay."""
        return self._core.counts[1]

    @property
    def lost(self) -> int:
        """The number of probes without a known reply."""
        return self._core.counts[2]

    @property
    def late(self) -> int:
        """The number of probes that were answered after the tool had given up waiting."""
        return self._core.counts[3]

    @property
    def untimed(self) -> int:
        """The number of probes that were answered without a recorded delay."""
        return self._core.counts[4]

    @property
    def duplicates(self) -> int:
        """The number of replies after the first reply to the same probe."""
        return self._core.counts[5]

    @property
    def notes(self) -> list[str]:
        """Sentences on what was assumed and what was left out when the file was read."""
        return self._core.notes

    def __len__(self) -> int:
        """Return the number of probes in the arrays, without the probes that `untimed` counts."""
        return len(self._core)

    def __repr__(self) -> str:
        read = f", read as {self.format}" if self.format else ""
        return f"<Delays {self.name!r}: {self.sent} probes, {self.lost} lost{read}>"

    @property
    def number(self) -> NDArray[np.uint64]:
        """The numbers of the probes, shape (n,)."""
        return self._core.number()

    @cached_property
    def sent_s(self) -> NDArray[np.float64]:
        """When each probe left [s since the beginning], shape (n,).

        If `send_times` is `unknown`, the values have no meaning. The array is computed once, and
        cannot be changed.
        """
        return _unchangeable(self._core.sent_ns() / 1e9)

    @cached_property
    def rtt_s(self) -> NDArray[np.float64]:
        """The delays in seconds, shape (n,), or NaN if lost.

        The array is computed once, and cannot be changed.
        """
        rtt = self._core.rtt_ns()
        return _unchangeable(np.where(rtt < 0, np.nan, rtt / 1e9))

    @property
    def late_replies(self) -> NDArray[np.bool_]:
        """True for each probe whose reply came after the tool had stopped waiting, shape (n,)."""
        return self._core.late()

    @property
    def forward_s(self) -> NDArray[np.float64]:
        """The one-way delays of the requests in seconds, by the clocks of both ends, shape (n,).

        They are NaN if not recorded. A difference of the clocks may make them negative.
        """
        forward = self._core.forward_ns()
        if forward is None:
            return np.full(len(self), np.nan)
        return np.where(forward == np.iinfo(np.int64).min, np.nan, forward / 1e9)

    @property
    def lost_direction(self) -> NDArray[np.uint8]:
        """Where each probe was lost, shape (n,): 1 forward, 2 reverse, 0 nowhere or unknown."""
        lost = self._core.lost_direction()
        return np.zeros(len(self), dtype=np.uint8) if lost is None else lost

    @property
    def wire_bytes(self) -> NDArray[np.uint32]:
        """Octets of each probe on the wire, shape (n,); zero if unknown."""
        return self._core.wire_bytes()

    @property
    def rtt_ns(self) -> np.ma.MaskedArray[Any, np.dtype[np.int64]]:
        """The delays in whole nanoseconds, shape (n,); masked if lost."""
        return np.ma.masked_less(self._core.rtt_ns(), 0)

    @property
    def sent_ns(self) -> NDArray[np.int64]:
        """When each probe left [ns since the beginning], shape (n,).

        If `send_times` is `unknown`, the values have no meaning.
        """
        return self._core.sent_ns()

    def _left(self) -> list[Any]:
        """Return when each probe left: ns since 1970, a local time, or ns since the beginning."""
        if self._core.began is None:
            return list(self.sent_ns.tolist())
        began_ns, local = self._core.began
        left = self.sent_ns + began_ns
        texts = np.datetime_as_string(left.astype("M8[ns]")) if local else left
        return list(texts.tolist())

    def loss_runs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return, for each run of losses, the index of its first loss, and its length, shape (k,).

        Examples
        --------
        >>> import netspurt as ns
        >>> first, length = ns.Delays.of([0.1, None, None, 0.1, None]).loss_runs()
        >>> first.tolist(), length.tolist()
        ([1, 4], [2, 1])
        """
        lost = np.isnan(self.rtt_s).astype(np.int8)
        steps = np.diff(np.concatenate([[0], lost, [0]]))
        first, end = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
        return first, end - first

    def loss_words(self) -> list[str]:
        """Return a list with a sentence on the runs of losses, or an empty list.

        Examples
        --------
        >>> import netspurt as ns
        >>> ns.Delays.of([float("nan")] * 3 + [0.1] * 4).loss_words()
        ['all 3 losses in a row, before the first answer']
        """
        first, length = self.loss_runs()
        if len(length) < 1 or length.sum() < 2:
            return []
        longest = int(np.argmax(length))
        if len(length) == 1:
            where = ", before the first answer" if first[0] == 0 else self._since(int(first[0]))
            return [f"all {length[0]:,} losses in a row{where}"]
        single = int(np.sum(length == 1))
        if single == len(length):
            return ["no two consecutive losses"]
        ones = f"{single:,} of them of one probe" if single else "none of one probe"
        summary = f"losses in {len(length):,} groups of consecutive probes, {ones}; the longest: "
        return [f"{summary}{length[longest]:,} probes{self._since(int(first[longest]))}"]

    def pause_words(self) -> list[str]:
        """Return a list with a sentence on the pauses in sending, or an empty list.

        A pause is a time between two probes that exceeds five times the median of these times.

        Examples
        --------
        >>> import netspurt as ns
        >>> ns.Delays.of([0.1] * 4, sent=[0, 1, 2, 12]).pause_words()
        ['a pause in sending of 10 s, 0:00:02 after the beginning: what the path did is unknown']
        """
        if self.send_times == "unknown" or len(self) < 3:
            return []
        gaps = np.diff(self.sent_s)
        long = np.flatnonzero(gaps > PAUSE * np.median(gaps))
        if not len(long) or not np.median(gaps) > 0:
            return []
        first = long[np.argmax(gaps[long])]
        where = f"{gaps[first]:.3g} s{self._since(int(first))}"
        if len(long) > 1:
            where = f"{where}; {len(long)} pauses in all"
        return [f"a pause in sending of {where}: what the path did is unknown"]

    def _since(self, place: int) -> str:
        """Return in words when a probe left, or which probe it is if the times are unknown."""
        if self.send_times == "unknown":
            return f", beginning with probe {place + 1:,}"
        seconds = round(float(self.sent_s[place]))
        return f", {seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02} after the beginning"

    def summary(self) -> dict[str, Any]:
        """Return the name, the format, the counts, and statistics of the delays.

        Returns
        -------
        dict
            The statistics, in milliseconds: `min_ms`, `mean_ms`, `max_ms`, `mdev_ms`, the
            percentiles `p1_ms`, `median_ms`, `p90_ms`, `p95_ms` and `p99_ms`. They are `None` if
            there is no delay. `mdev_ms` is the standard deviation of the population, as ping
            prints it. Late replies count; duplicates do not.

        Examples
        --------
        >>> import netspurt as ns
        >>> summary = ns.Delays.of([0.040, 0.042, None, 0.044]).summary()
        >>> summary["lost"], summary["median_ms"]
        (1, 42.0)
        """
        known = self.rtt_ns.compressed() / 1e6
        about = ("name", "format", "measure", "order", "send_times", "began", "began_is_local")
        more = ("sent", "received", "lost", "late", "duplicates", "untimed")
        return {
            **{what: getattr(self, what) for what in (*about, *more)},
            **_statistics(known),
        }


#: The percentiles of a summary, by their names.
_PERCENTILES = {"p1_ms": 1, "median_ms": 50, "p90_ms": 90, "p95_ms": 95, "p99_ms": 99}


def _unchangeable(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same array, after it has been made read-only."""
    values.flags.writeable = False
    return values


def _statistics(known_ms: NDArray[np.float64]) -> dict[str, float | None]:
    """Return the statistics of delays [ms], or `None` for each if there is no delay."""
    names = ("min_ms", "mean_ms", "max_ms", "mdev_ms", *_PERCENTILES)
    if not len(known_ms):
        return dict.fromkeys(names)
    values = [known_ms.min(), known_ms.mean(), known_ms.max(), known_ms.std()]
    values += np.percentile(known_ms, list(_PERCENTILES.values())).tolist()
    return {name: float(value) for name, value in zip(names, values, strict=True)}


def _nanoseconds(seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(seconds * 1e9).astype(np.int64)


def _instants(sent: ArrayLike, count: int) -> NDArray[np.int64]:
    instants = np.asarray(sent, dtype=np.float64)
    if instants.shape != (count,):
        raise ValueError(f"`sent` has the shape {instants.shape}, and there are {count} delays")
    if count == 0:
        return _nanoseconds(instants)
    since = instants - instants[0]
    if not np.isfinite(since).all():
        raise ValueError("`sent` has a time that is not a number")
    if (np.diff(instants) < 0).any():
        raise ValueError("`sent` goes back in time: put the probes in the order of sending")
    if since[-1] > _LONGEST_S:
        raise ValueError(f"`sent` lasts {since[-1]:g} s: at most {_LONGEST_S:g} s are allowed")
    return _nanoseconds(since)


def _octets(wire_bytes: ArrayLike, count: int) -> NDArray[np.uint32]:
    octets = np.asarray(wire_bytes)
    if octets.shape != (count,):
        raise ValueError(f"`wire_bytes` has the shape {octets.shape}, and there are {count} delays")
    with np.errstate(invalid="ignore"):
        whole_octets = octets.astype(np.uint32)
    if (whole_octets != octets).any():
        place = int(np.flatnonzero(whole_octets != octets)[0])
        raise ValueError(f"wire_bytes[{place}] is {octets[place]}: write whole octets")
    return whole_octets


@dataclass(frozen=True)
class Malformed:
    """A line that looks like part of the format but cannot be read.

    Attributes
    ----------
    line
        The line's number, from 1.
    text
        The beginning of the line.
    why
        The mistake in the line.
    """

    line: int
    text: str
    why: str


class Recordings(list[Delays]):
    """The recordings in a file.

    Attributes
    ----------
    malformed
        The malformed lines.
    """

    malformed: list[Malformed]

    def __init__(self, recordings: list[Delays], malformed: list[Malformed]) -> None:
        super().__init__(recordings)
        self.malformed = malformed


#: The columns of `netspurt orbit delays --csv`. The delays are one-way.
ORBIT_COLUMNS = ("t_s", "distance_km", "delay_s")


def read_delays(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - what users call it
    interval: float | None = None,
    columns: Mapping[str, Any] | None = None,
) -> Recordings:
    """Read recorded delays, from ping and many other tools.

    Parameters
    ----------
    path
        The file.
    format
        The format of the file. By default, netspurt recognises it by the file's content.
    interval
        Seconds from one probe to the next, if the file does not have the times of sending.
    columns
        The columns of a table. Each of `rtt`, `sent`, `received`, `seq`, `lost` and `group` is a
        column's name or its number, counted from 1. `unit` (of delays) and `time_unit` (of
        instants) are `s`, `ms`, `us` or `ns`. `dates` is `dmy` or `mdy`. `one_way` is true if the
        delays are one-way. It is not needed for netspurt's files, for columns such as `owd`, and
        for lists of whole numbers.

    Returns
    -------
    Recordings
        A list of `Delays`. The malformed lines are in `malformed`.

    Raises
    ------
    DelaysError
        If the file is empty, has no known format, or has no delay. Also if an interval is given,
        and the file has the times of sending.
    ValueError
        If the interval is not a time, if a column is not valid, or if RRDtool wrote the file. Also
        if the file is a device with more than 64 MiB, such as ``/dev/zero``.
    OSError
        If the file cannot be read.
    """
    if interval is not None and not 0 < interval <= _LONGEST_S:
        raise ValueError(f"interval = {interval}: write seconds above zero")
    name, content = os.fspath(path), whole_octets(path)
    if format in (None, "csv") and content.startswith(",".join(ORBIT_COLUMNS).encode()):
        columns = {"one_way": True, **(columns or {})}
    words = [
        (key, str(value).lower() if isinstance(value, bool) else str(value))
        for key, value in (columns or {}).items()
    ]
    if (one_way := dict(words).get("one_way", "true")) not in ("true", "false"):
        raise ValueError(f"one_way = {one_way!r}: write true or false")
    if content.startswith(b"RRD\0"):
        raise ValueError(
            f"{name}: a file of RRDtool, such as SmokePing's, holds means of rounds and not the "
            "delays of single probes: export the median with `rrdtool xport` as CSV and read "
            "it with `--column rtt=NAME --column unit=s`, or record with ping"
        )
    interval_ns = None if interval is None else round(interval * 1e9)
    how = partial(_core.read_delays, format=format, interval_ns=interval_ns, columns=words or None)
    found, malformed = interruptible(partial(how, name, content), "reading delays")
    return Recordings([Delays(one) for one in found], [Malformed(*one) for one in malformed])
