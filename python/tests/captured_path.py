"""Makes captures beside both ends of a simulated transfer over one link."""

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


def captured(folder: Path, **words: Any) -> Path:
    """Run the transfer with these values; return its folder, which has a capture of each end."""
    known = {"seed": 3, "rate": "50 Mbit/s", "queue": 2000, "loss": 0, "congestion": "cubic"}
    known |= {"more": "", "link": "", "send": "2 MB", "stop": "120 s"}
    run = Scenario.parse(PATH.format(**{**known, **words}), name="path").run()
    run.save(folder / "run")
    return folder / "run"
