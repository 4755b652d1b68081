"""Measures the size of a report (a page of HTML), and the time that Chromium needs to open it.

    python bench/report.py [MARKS ...]          # by default 100,000 and 1,000,000

MARKS is the number of marks in the pictures of the page: bars for segments, and points for ACKs,
round trips and values of cwnd. The page shows one flow that resembles a long transfer, with
instants in nanoseconds and jitter of a few microseconds. This program needs selenium and Debian's
packages chromium and chromium-driver. The time to open a page is the time from the start of the
navigation until every picture is drawn. Chromium opens each page five times, and this program
prints the minimum and the maximum.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from netspurt.pictures import Picture
from netspurt.pictures.marks import Bars, Points, Polyline, Scale
from netspurt.report import Section, page
from netspurt.report.parts import Flow, Group, Panel, Part, Side

ROUNDS = 5
MSS = 1448.0


def pictures(count: int) -> list[Panel]:
    """Return pictures with about `count` marks in total."""
    rng = np.random.default_rng(1)
    data = count // 2
    sent = np.cumsum(100_000 + rng.integers(0, 5_000, data))
    seq = 1 + MSS * np.arange(data)
    lost = np.sort(rng.choice(data, data // 1000, replace=False))
    acked = sent[::2] + 40_000_000 + rng.integers(0, 5_000, len(sent[::2]))
    t, acks, retransmitted = sent / 1e9, acked / 1e9, (sent[lost] + 80_000_000) / 1e9
    sampled = acks[: 2 * (count // 8) : 2]
    rtt = (acked[::2] - sent[::4])[: len(sampled)] / 1e9
    cwnd = 14_480.0 + np.floor(np.abs(np.sin(np.arange(len(acks)) / 4000)) * 400) * MSS
    red = {"label": "retransmitted", "ink": "red", "rank": 2.8, "dot": 4.5}
    sequence = Picture(
        (
            Polyline(label="ACK", ink="green", x=acks, y=seq[::2], steps=True),
            Bars(label="sent", ink="black", x=t, low=seq, high=seq + MSS, dot=1.8, rank=2.4),
            Bars(x=retransmitted, low=seq[lost], high=seq[lost] + MSS, **red),  # type: ignore[arg-type]
        ),
        Scale("sequence number", "B"),
    )
    samples = Points(label="round-trip sample", ink="grey", x=sampled, y=rtt)
    curve = Polyline(
        label="cwnd", ink="blue", x=acks[: count // 8], y=cwnd[: count // 8], steps=True
    )
    return [
        Panel("time-sequence", "Time and sequence", sequence),
        Panel("rto", "Round trip and RTO", Picture((samples,), Scale("round trip", "s", low=0.0))),
        Panel("cwnd", "Congestion window", Picture((curve,), Scale("cwnd", "B", low=0.0))),
    ]


def browser() -> Any:
    """Start Chromium without a window."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for word in ("headless=new", "no-sandbox", "disable-gpu", "window-size=1280,1600"):
        options.add_argument(f"--{word}")
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def opening_s(driver: Any, file: Path) -> float:
    """Return the time until a page is drawn, by the page's own clock [s]."""
    driver.get("about:blank")
    driver.get(file.as_uri())
    script = "return document.documentElement.dataset.ready"
    while not (ready := driver.execute_script(script)):
        time.sleep(0.01)
    return int(ready) / 1e3


def main() -> None:
    """Print a line for each count of marks."""
    counts = [int(text) for text in sys.argv[1:]] or [100_000, 1_000_000]
    driver = browser()
    with tempfile.TemporaryDirectory() as folder:
        for count in counts:
            flow = Flow("transfer", pictures(count))
            section = Section(
                f"{count:,} marks", [Part("long")], groups=[Group([Side("long", [flow])])]
            )
            file = Path(folder) / f"{count}.html"
            start = time.perf_counter()
            file.write_text(page([section], file, 2 * count))
            making_s = time.perf_counter() - start
            times_s = sorted(opening_s(driver, file) for _ in range(ROUNDS))
            print(
                f"{count:>9,} marks: {file.stat().st_size / 1e6:.2f} MB, made in {making_s:.1f} s, "
                f"opened in {times_s[0]:.2f} .. {times_s[-1]:.2f} s"
            )
    driver.quit()


if __name__ == "__main__":
    main()
