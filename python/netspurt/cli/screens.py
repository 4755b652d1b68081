"""Screens that show the progress of work in a terminal of any width.

Drawing does not disturb measurements, because live runs (runs in real time) and probing are
separate processes.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from netspurt.cli.output import harmless, paint, raw
from netspurt.cli.path_report import span
from netspurt.wording import counted, octets

if TYPE_CHECKING:
    from netspurt.live_report import Scene, SenderScene

#: The least time between two drawings of a screen, in seconds.
EVERY_S = 0.1

#: A function that draws lines in place of the previous lines. It skips lines that come too soon
#: after the previous lines. If `last` is true, it always draws the lines.
Draw = Callable[..., None]

#: The characters of a small curve, from the least value to the greatest.
_STEPS = "▁▂▃▄▅▆▇█"


def is_screen(stream: TextIO) -> bool:
    """Return whether a stream is a terminal whose cursor can be moved."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def screen(stream: TextIO) -> Iterator[Draw | None]:
    """Draw lines in place on a terminal, and remove them when the work has ended.

    Yields
    ------
    Callable or None
        The function `draw(lines)`. It calls `lines` with the available width in characters and the
        available number of lines, and draws the lines that `lines` returns. With `last=True` it
        always draws them. Without a terminal, `None` is yielded.
    """
    if not is_screen(stream):
        yield None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(file=raw(stream))
    shown = float("-inf")
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def draw(lines: Callable[[int, int], Sequence[str]], *, last: bool = False) -> None:
            nonlocal shown
            if not last and time.monotonic() - shown < EVERY_S:
                return
            shown = time.monotonic()
            told = "\n".join(lines(console.width, console.height - 1)[: console.height - 1])
            text = Text.from_ansi(harmless(told), no_wrap=True, overflow="crop")
            live.update(text, refresh=True)

        yield draw


def curve(values: Sequence[float], most: int) -> str:
    """Return the last values, at most `most`, as a small curve whose lowest level is zero.

    Examples
    --------
    >>> curve([0, 1, 2, 4], 10), curve([0, 1, 2, 4], 2), curve([], 5)
    ('▁▃▅█', '▅█', '')
    """
    some = list(values)[-most:] if most > 0 else []
    top = max(some, default=0) or 1
    return "".join(_STEPS[min(int(8 * value / top), 7)] for value in some)


def bar(share: float, room: int) -> str:
    """Return a bar of a share from 0 to 1.

    Examples
    --------
    >>> bar(0.5, 8), bar(2.0, 3)
    ('━━━━────', '━━━')
    """
    full = round(max(0.0, min(share, 1.0)) * room)
    return "━" * full + "─" * (room - full)


def short(text: str, room: int) -> str:
    """Return a text, cut to at most `room` characters.

    Examples
    --------
    >>> short("transfer", 8), short("transfer", 5)
    ('transfer', 'tran…')
    """
    return text if len(text) <= room else text[: max(room - 1, 0)] + "…"


class LiveScreen:
    """The screen of a live run: its time, the state of each sender, and each queue.

    Parameters
    ----------
    name
        The scenario.
    stop
        The latest end of the run, in seconds.
    """

    #: The number of values that a curve keeps.
    _MOST = 400

    def __init__(self, name: str, stop: float) -> None:
        self.name, self.stop = name, stop
        self.scene: Scene | None = None
        self._past: dict[str, deque[float]] = {}

    def take(self, scene: Scene) -> None:
        """Update the screen with the state of the run."""
        self.scene = scene
        for sender in scene.senders:
            self._keep(_named(sender), sender.cwnd_bytes)
        for queue in scene.queues:
            self._keep(f"{queue.link} {queue.direction}", queue.packets)

    def _keep(self, name: str, value: float) -> None:
        self._past.setdefault(name, deque(maxlen=self._MOST)).append(value)

    def lines(self, columns: int, rows: int) -> list[str]:
        """Return at most `rows` lines: the time, the senders, and then the queues.

        The screen cuts lines that are longer than `columns` characters.
        """
        scene = self.scene
        if scene is None:
            return []
        passed = scene.passed_ms / 1e3
        told = f"{passed:.1f} s of at most {self.stop:g} s"
        head = f"{short(f'running {self.name} live', columns - len(told) - 2)}  {told}"
        shown = [head, bar(passed / self.stop, min(columns, 60))]
        for sender in scene.senders:
            shown += ["", *self._sender(sender, columns)]
        if scene.queues:
            shown += ["", short("queues when the last packet arrived", columns)]
        for queue in scene.queues:
            name = f"{queue.link} {queue.direction}"
            held = counted(queue.packets, "packet")
            shown.append(self._row(name, f"{held:>12} {octets(queue.bytes):>9}", columns))
        return shown[:rows]

    def _sender(self, sender: SenderScene, columns: int) -> list[str]:
        name = _named(sender)
        cwnd, flight = octets(sender.cwnd_bytes), octets(sender.flight_bytes)
        srtt = "-" if sender.srtt_ns is None else span(sender.srtt_ns)
        rto = f"RTO {span(sender.rto_ns)}, SRTT {srtt}, in flight {flight}"
        rto += f", backoff {sender.backoff}" if sender.backoff > 1 else ""
        state = "  in recovery" if sender.in_recovery else ""
        first = self._row(name, f"{'cwnd':>12} {cwnd:>9}", columns)
        second = f"  {short(rto, columns - 2 - len(state))}"
        return [first, second + (state and paint(state, "yellow", sys.stderr))]

    def _row(self, name: str, told: str, columns: int) -> str:
        """Return a line with a name, its values, and its curve in the remaining width."""
        room = max(12, min(28, columns - len(told) - 14))
        head = f"{short(name, room):<{room}}{told}"
        return f"{head}  {curve(self._past[name], columns - len(head) - 2)}"


def _named(sender: SenderScene) -> str:
    return sender.flow if sender.direction == "forward" else f"{sender.flow} (reverse)"


@contextmanager
def live_screen(name: str, stop: float) -> Iterator[Callable[[Any], None] | None]:
    """Show a live run on the terminal of standard error; without a terminal, yield `None`."""
    with screen(sys.stderr) as draw:
        if draw is None:
            yield None
            return
        shown = LiveScreen(name, stop)

        def take(scene: Scene) -> None:
            shown.take(scene)
            draw(shown.lines)

        yield take
