"""Tests `netspurt poll` and `netspurt serve`.

`netspurt poll` fetches pages at fixed intervals. A catalogue is the file that lists the sites of
these pages. `netspurt serve` starts an echo, which returns all data, or a sink, which returns
nothing. The tests also match captures that were taken at two points.
"""

from __future__ import annotations

import itertools
import json
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import netspurt as ns
from netspurt import _core
from netspurt.line import over_line
from netspurt.matched import match
from netspurt.poll import CatalogueError, read_catalogue, settled

from lateness import real_time

#: For each capability of the machine: whether it is available, and the reason.
FOUND = {name: (available, found) for name, available, found, _ in _core.capabilities()}
AVAILABLE, WHY = FOUND["user and network namespaces"]
#: Skips a test if the machine has no namespaces.
namespaces = pytest.mark.skipif(not AVAILABLE, reason=f"no namespaces: {WHY}")

#: The words that start the command `netspurt`.
SELF = [sys.executable, "-P", "-c", "from netspurt.cli import start; start()"]

#: A server of one page; it also captures packets at its own end.
SERVER = """
import sys, http.server
from pathlib import Path
from netspurt.poll import capturing
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "20000")
        self.end_headers()
        self.wfile.write(bytes(20000))
    def log_message(self, *a): pass
with capturing("10.0.0.1", 0, Path(sys.argv[1])):
    server = http.server.ThreadingHTTPServer(("10.0.0.2", 8080), Page)
    print("ready", flush=True)
    import threading
    threading.Thread(target=server.serve_forever, daemon=True).start()
    import time
    while not Path(sys.argv[2]).exists(): time.sleep(0.05)
Path(sys.argv[2]).unlink()
"""


@namespaces
@real_time
def test_pages_are_fetched_on_schedule_and_each_fetch_has_a_capture_and_echo_probes(
    tmp_path: Path,
) -> None:
    (tmp_path / "sites.toml").write_text(
        'every = "1 s"\npings = 5\n[sites.one]\nurl = "http://one.example:8080/page"\n'
        'address = "10.0.0.2"\n[sites.two]\nurl = "http://10.0.0.2:8080/"\n'
    )
    second, stop = tmp_path / "far.pcapng", tmp_path / "stop"
    near = f"""
import subprocess, time
from pathlib import Path
words = {[*SELF, "poll", str(tmp_path / "sites.toml"), "-n", "3", "--out", str(tmp_path / "p")]!r}
status = subprocess.run(words).returncode
Path({str(stop)!r}).touch()
while Path({str(stop)!r}).exists(): time.sleep(0.05)
raise SystemExit(status)
"""
    far = [sys.executable, "-c", SERVER, str(second), str(stop)]
    assert over_line([sys.executable, "-c", near], far, forward="10 Mbit/s, 15 ms") == 0
    rows = [
        json.loads(line) for line in (tmp_path / "p" / "fetches.jsonl").read_text().splitlines()
    ]
    assert [row["site"] for row in rows] == ["one", "two"] * 3
    starts = [row["at_unix"] for row in rows if row["site"] == "one"]
    assert [b - a for a, b in itertools.pairwise(starts)] == pytest.approx([1, 1], abs=0.3)
    for row in rows:
        assert (row["status"], row["octets"], row["ping_answered"]) == (200, 20_000, 5)
        assert row["tcp_rtt_s"] >= 0.0299
    assert min(row["tcp_rtt_s"] for row in rows) < 0.035
    # The ratio is the round trip of the handshake divided by the round trip of the echo probes. On
    # an idle machine it is 1.0 to 1.1. Other work on the machine disturbs some fetches, but hardly
    # the median of all six.
    assert 0.8 < np.median([row["ratio"] for row in rows]) < 1.25
    sites = json.loads((tmp_path / "p" / "sites.json").read_text())
    assert {site["address"] for site in sites} == {"10.0.0.2"}
    for row in rows:
        capture = tmp_path / "p" / row["capture"]
        (matched,) = [
            pair for pair in match(capture, second) if pair.client.endswith(f":{row['local_port']}")
        ]
        # Both captures have the whole connection, from its SYN to its last FIN.
        assert (matched.only_first, matched.only_second) == (0, 0)
        assert matched.paired == matched.segments >= 17
        assert 0.0149 < matched.out_s < 0.1
        assert 0.0149 < matched.back_s < 0.1


def test_no_name_is_looked_up_after_polling_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from netspurt import poll as polling

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"page")

        def log_message(self, *_words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (tmp_path / "sites.toml").write_text(
        f'pings = 0\n[sites.here]\nurl = "http://localhost:{server.server_port}/"\n'
    )
    looked = []
    genuine = socket.getaddrinfo

    def lookup(host: str, *words: object, **more: object) -> object:
        looked.append(host)
        return genuine(host, *words, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    catalogue = read_catalogue(tmp_path / "sites.toml")
    catalogue = polling.Catalogue(
        (polling.Site("here", catalogue.sites[0].url, "127.0.0.1"),), 0.2, 5, 0
    )
    rows: list[dict[str, object]] = []
    count = polling.poll(catalogue, tmp_path / "p", rounds=3, captures=False, on_row=rows.append)
    server.shutdown()
    server.server_close()
    assert count == 3
    assert all(row["octets"] == 4 for row in rows)
    assert set(looked) <= {"127.0.0.1"}, "only the address may be looked up"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "names no site"),
        ("every = 'soon'\n[sites.a]\nurl = 'http://x/'", "`every` = 'soon' is not a time"),
        ("evry = 1\n[sites.a]\nurl = 'http://x/'", "`evry` is not a key"),
        ("[sites.a]\nulr = 'http://x/'", "`sites.a.ulr` is not a key; the keys are url"),
        ("[sites.a]\naddress = '192.0.2.1'", "`sites.a` has no `url`"),
        ("[sites.a]\nurl = 'ftp://x/'", "`sites.a.url` = 'ftp://x/' is not the URL of a page"),
        ("[sites.a]\nurl = 'http://x:99999/'", "is not the URL of a page"),
        (
            "[sites.a]\nurl = 'http://x/'\naddress = 'x'",
            "`sites.a.address` = 'x' is not an address",
        ),
        ("[sites.'a/b']\nurl = 'http://x/'", "cannot name files"),
        ("pings = -1\n[sites.a]\nurl = 'http://x/'", "`pings` = -1"),
        ("[sites\n", "not TOML"),
        ("a = " + "[" * 100_000, "not TOML: it is nested too deeply"),
        ("pings = " + "1" * 5000, "not TOML"),
        (f"[sites.{'a' * 201}]\nurl = 'http://x/'", "at most 200 octets"),
        ('[sites.a]\nurl = "http://x/\\u001b[2J"', "is not the URL of a page"),
        ("sites = 3", "names no site"),
        ("[sites]\na = 3", "`sites.a` is 3 and not a table"),
    ],
)
def test_a_mistake_in_a_catalogue_is_reported_with_its_key_and_the_fix(
    text: str, expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "sites.toml"
    path.write_text(text)
    with pytest.raises(CatalogueError) as caught:
        read_catalogue(path)
    assert expected in str(caught.value)
    assert str(path) in str(caught.value)


def test_only_a_site_without_an_address_is_looked_up(tmp_path: Path) -> None:
    path = tmp_path / "sites.toml"
    path.write_text(
        "[sites.a]\nurl = 'http://no.such.host.invalid/'\naddress = '192.0.2.1'\n"
        "[sites.b]\nurl = 'http://127.0.0.1/'\nping = '192.0.2.9'\n"
    )
    first, last = settled(read_catalogue(path))
    assert (first.address, first.ping, first.host) == (
        "192.0.2.1",
        "192.0.2.1",
        "no.such.host.invalid",
    )
    assert (last.address, last.ping) == ("127.0.0.1", "192.0.2.9")
    path.write_text("[sites.a]\nurl = 'http://no.such.host.invalid/'")
    with pytest.raises(CatalogueError, match="write its `address`"):
        settled(read_catalogue(path))


@namespaces
@real_time
def test_an_echo_is_slower_than_a_sink_over_the_same_line(tmp_path: Path) -> None:
    answers = {}
    for what in ("echo", "sink"):
        near = f"""
import json, signal, subprocess, time
from pathlib import Path
from netspurt.line import push
from netspurt.poll import capturing
with capturing("10.0.0.2", 0, Path({str(tmp_path / f"{what}-near.pcapng")!r})):
    told = push("10.0.0.2", 7, 300_000)
Path({str(tmp_path / f"{what}.json")!r}).write_text(json.dumps(told))
"""
        far = f"""
import subprocess, time
from pathlib import Path
from netspurt.poll import capturing
told = Path({str(tmp_path / f"{what}.json")!r})
with capturing("10.0.0.1", 0, Path({str(tmp_path / f"{what}-far.pcapng")!r})):
    words = {[*SELF, "serve", what, "--address", "10.0.0.2"]!r}
    with subprocess.Popen(words) as server:
        while not told.exists(): time.sleep(0.02)
        server.terminate()
        server.wait()
"""
        status = over_line(
            [sys.executable, "-c", near],
            [sys.executable, "-c", far],
            forward="1 Mbit/s, 20 ms, 8 packets",
        )
        assert status == 0
        answers[what] = json.loads((tmp_path / f"{what}.json").read_text())
    assert answers["echo"]["returned"] == 300_000
    assert answers["sink"]["returned"] == 0
    assert answers["echo"]["rate_bps"] < answers["sink"]["rate_bps"] < 1e6
    (matched,) = match(tmp_path / "echo-near.pcapng", tmp_path / "echo-far.pcapng")
    # Each of the two directions has at least 300,000 octets. Packets that a queue dropped are in
    # one capture only.
    assert matched.paired > 2 * 300_000 // 1448
    assert matched.only_first + matched.only_second < matched.paired / 2
    assert ns.read_delays(tmp_path / "echo-near.pcapng")
