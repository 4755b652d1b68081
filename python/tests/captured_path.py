"""Makes captures of a simulated transfer: beside both ends, and between two links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from netspurt.scenario import Scenario

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
#: A scenario with two links. The node between them and both ends have captures.
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
    """Run a transfer, and return the run's folder, with a capture of each end.

    `words` are values for the names in braces in `PATH`.
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

    `near` and `far` are the keys of the links. The folder has captures at the sender `a`, at the
    receiver `b`, and at `m` between the links.
    """
    text = PATH_OF_TWO.format(near=near, far=far, send=send, more=more, record=record)
    Scenario.parse(text, name="path").run().save(folder / "run")
    return folder / "run"
