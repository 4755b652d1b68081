"""Makes captures of a simulated transfer at both ends of a path, and between its links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from netspurt.scenario import Scenario

#: A scenario with one link from `a` to `b`. A test gives values for the names in braces.
PATH = """
stop = "{stop}"
seed = {seed}
[links.path]
between = ["a", "b"]
rate    = "{rate}"
delay   = "25 ms"
queue   = "{queue} packets"
loss    = {{ probability = {loss} }}
{link}
[flows.x]
from    = "a"
to      = "b"
profile = "linux-6"
send    = "{send}"
tcp.congestion = "{congestion}"
{more}
[record]
spy     = ["a", "b"]
capture = true
"""
#: A scenario with two links, from `a` to `m` and from `m` to `b`. Each node has a capture.
PATH_OF_TWO = """
stop = "60 s"
seed = 3
[path]
nodes = ["a", "m", "b"]
links = [{{ {near} }}, {{ {far} }}]
[flows.x]
from    = "a"
to      = "b"
profile = "linux-6"
send    = "{send}"
{more}
[record]
spy     = ["a", "m", "b"]
capture = true
{record}
"""


def captured(folder: Path, **words: Any) -> Path:
    """Run a transfer over one link, and return the folder of this run.

    The folder has captures at the sender `a` and at the receiver `b`. The arguments `words` are
    values for the names in braces in `PATH`.
    """
    known = {"seed": 3, "rate": "50 Mbit/s", "queue": 2000, "loss": 0, "congestion": "cubic"}
    known |= {"more": "", "link": "", "send": "2 MB", "stop": "120 s"}
    run = Scenario.parse(PATH.format(**{**known, **words}), name="path").run()
    run.save(folder / "run")
    return folder / "run"


def captured_between(
    folder: Path, near: str, far: str, *, send: str = "1 MB", more: str = "", record: str = ""
) -> Path:
    """Run a transfer over two links, and return the folder of this run.

    The text `near` has the keys of the first link, and the text `far` those of the second link.
    The folder has captures at the sender `a`, at the receiver `b`, and at `m` between the links.
    """
    text = PATH_OF_TWO.format(near=near, far=far, send=send, more=more, record=record)
    Scenario.parse(text, name="path").run().save(folder / "run")
    return folder / "run"
