"""Compares the kernel's TCP with the profile `linux-6`, in twenty conversations with losses.

``.venv/bin/python authorities/linux/conversations.py`` runs each conversation five times on the
running kernel. It writes ``conversations.csv``: when each reply was complete, in milliseconds from
its request. This takes five minutes. With ``--show``, the program does not use the kernel: it
prints the table of VALIDATION.md for the stored runs.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from beside import in_time

from netspurt.scenario import Scenario, as_toml

if TYPE_CHECKING:
    from netspurt.run import Run

FILE = Path(__file__).resolve().parent / "conversations.csv"
RUNS = 5
#: The maximum lateness of a delivery [s].
BUDGET_S = 0.004
#: The instants at which the model's connection starts, in microseconds after a jiffy.
PHASES_US = range(0, 4000, 500)
#: Two replies agree if the difference of their times is at most this [ms].
TOLERANCE_MS = 5.0

#: When each reply of a run was complete, in milliseconds from its request.
Replies = tuple[float, ...]


@dataclass(frozen=True)
class Conversation:
    """Twelve requests for a reply of `reply_kb` kB each, over a path with losses.

    The path loses some packets from the server; `lost` has the numbers of these packets.
    """

    rate_mbit: int
    delay_ms: int
    reply_kb: int
    lost: tuple[int, ...]

    def scenario(self, endpoint: str, start_us: int = 0) -> Scenario:
        """Return the scenario, with the kernel or the model at both ends."""
        link: dict[str, Any] = {"between": ["c", "s"], "rate": f"{self.rate_mbit} Mbit/s"}
        link |= {"delay": f"{self.delay_ms} ms", "queue": "100 packets"}
        link |= {"loss": ["none", {"packets": list(self.lost)}]}
        app = {"reply": f"{self.reply_kb} kB", "requests": 12, "think": "30 ms", "serve": "2 ms"}
        tcp = {"congestion": "cubic", "acks": "every segment", "receive_buffer": "2 MB"}
        flow: dict[str, Any] = {"from": "c", "to": "s", "profile": "linux-6", "endpoint": endpoint}
        flow |= {"start": f"{start_us} us", "send": "400 B", "app": app}
        whole: dict[str, Any] = {"stop": "20 s", "seed": 1, "links": {"path": link}}
        whole["flows"] = {"web": flow | {"tcp": tcp | {"nagle": True}}}
        whole["record"] = {"tables": [], "capture": False}
        text = "\n".join(f"{key} = {as_toml(value)}" for key, value in whole.items())
        return Scenario.parse(text, name=self.name)

    @property
    def name(self) -> str:
        """The path, the size of a reply, and the first lost packet's number: `6M-20ms-50k-2`."""
        return f"{self.rate_mbit}M-{self.delay_ms}ms-{self.reply_kb}k-{self.lost[0]}"


CONVERSATIONS = (
    Conversation(6, 20, 50, (2, 96, 139, 382)),
    Conversation(6, 20, 50, (5, 60, 61, 200, 300)),
    Conversation(6, 20, 20, (3, 20, 40, 41, 90)),
    Conversation(6, 20, 50, (36, 37, 80, 150, 151, 152)),
    Conversation(10, 10, 50, (2, 96, 139, 382)),
    Conversation(10, 10, 100, (12, 100, 101, 180, 400)),
    Conversation(10, 30, 30, (10, 25, 70, 71, 140)),
    Conversation(2, 20, 20, (4, 18, 33, 50, 90)),
    Conversation(2, 50, 20, (2, 19, 36, 37, 80)),
    Conversation(2, 50, 50, (8, 50, 90, 91, 150)),
    Conversation(20, 20, 100, (11, 80, 150, 220, 300)),
    Conversation(20, 40, 50, (6, 40, 41, 42, 120)),
    Conversation(20, 5, 50, (9, 44, 88, 132, 176)),
    Conversation(6, 40, 50, (15, 55, 95, 135, 175)),
    Conversation(6, 60, 20, (1, 17, 33, 49, 65)),
    Conversation(6, 20, 10, (4, 12, 20, 28, 29)),
    Conversation(1, 30, 20, (7, 21, 35, 49, 63)),
    Conversation(4, 20, 40, (2, 3, 60, 61, 110, 111)),
    Conversation(8, 15, 60, (20, 70, 71, 72, 160, 230)),
    Conversation(5, 25, 30, (22, 44, 66, 88, 110)),
)


def replies(run: Run) -> Replies:
    """Return when each reply was complete, in milliseconds from its request."""
    return tuple(round(int(at) / 1e6, 3) for at in run.requests["complete_ns"])


def largest_difference(first: Replies, second: Replies) -> float:
    """Return the largest difference between two times of the same reply, in milliseconds."""
    return max(abs(a - b) for a, b in zip(first, second, strict=True))


@dataclass(frozen=True)
class Beside:
    """A comparison of the kernel's and the model's runs of a conversation, in milliseconds."""

    conversation: Conversation
    #: For each run of the kernel, the largest difference from the model's most similar run.
    differences: list[float]
    #: The largest difference between two runs of the kernel.
    spread: float

    @classmethod
    def of(cls, conversation: Conversation, kernel: list[Replies]) -> Beside:
        """Compare the kernel's runs with the model's runs, one for each of `PHASES_US`."""
        model = [replies(conversation.scenario("model", phase).run()) for phase in PHASES_US]
        differences = [min(largest_difference(run, other) for other in model) for run in kernel]
        spread = max(largest_difference(a, b) for a, b in itertools.combinations(kernel, 2))
        return cls(conversation, differences, spread)

    @property
    def agree(self) -> int:
        """How many of the kernel's runs agree with one of the model's runs in all replies."""
        return sum(difference <= TOLERANCE_MS for difference in self.differences)

    def row(self) -> str:
        """Return the row of VALIDATION.md."""
        talk = self.conversation
        path = f"{talk.rate_mbit} Mbit/s, {talk.delay_ms} ms, {talk.reply_kb} kB"
        agreement = f"{self.agree} of {len(self.differences)}"
        numbers = f"{agreement} | {min(self.differences):.1f} | {self.spread:.1f}"
        return f"| {path} | {', '.join(map(str, talk.lost))} | {numbers} |"


def on_the_kernel(conversation: Conversation) -> Replies:
    """Return the replies of a run on the kernel with no delivery later than `BUDGET_S`."""
    with tempfile.TemporaryDirectory() as folder:
        return replies(in_time(conversation.scenario("kernel"), Path(folder), BUDGET_S))


def filed() -> dict[str, list[Replies]]:
    """Return the runs of the kernel that the file holds, by the names of their conversations."""
    runs: dict[str, list[Replies]] = {talk.name: [] for talk in CONVERSATIONS}
    with FILE.open(newline="") as file:
        for name, _, *values in itertools.islice(csv.reader(file), 1, None):
            runs[name].append(tuple(map(float, values)))
    return runs


def main() -> None:
    """Run the conversations on the kernel and write the file, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true")
    if parser.parse_args().show:
        kernel = filed()
        for talk in CONVERSATIONS:
            print(Beside.of(talk, kernel[talk.name]).row())
        return
    rows = []
    for number in range(RUNS):
        for talk in CONVERSATIONS:
            rows.append((talk.name, number, *on_the_kernel(talk)))
            print(f"{number}: {talk.name}", file=sys.stderr)
    with FILE.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("conversation", "run", *(f"reply{n}_ms" for n in range(1, 13))))
        out.writerows(rows)


if __name__ == "__main__":
    main()
