"""Fetches pages at fixed intervals, with a capture and ICMP echoes for each fetch.

By default, each site of a catalogue is fetched once a minute, always at the same address.
docs/probe.md describes polls.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import ssl
import struct
import subprocess
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from netspurt import _core
from netspurt.delays import read_delays
from netspurt.probe import Plan, ProbeLengths, resolve, run
from netspurt.probe_lines import CapturedLine, ReadyLine, read_as
from netspurt.quantities import seconds
from netspurt.stored import NotTextError, bounded_text
from netspurt.worker import CaptureTask, EndedEarlyError, ProbeError, worker

#: Seconds from one fetch of a site to the next.
EVERY = 60.0
#: For each fetch, `PINGS` echoes are sent. Each has `PING_OCTETS` octets, as many as a SYN with
#: options.
PINGS, PING_OCTETS = 5, 60


class CatalogueError(ValueError):
    """A mistake in a catalogue of sites."""


@dataclass(frozen=True)
class Site:
    """A page to fetch.

    Attributes
    ----------
    name
        The name of the site.
    url
        The address of the page: http or https.
    address
        The IP address of the server; `None` until the name of the host is resolved.
    ping
        The IP address to which echoes are sent; by default `address`.
    """

    name: str
    url: str
    address: str | None = None
    ping: str | None = None

    @property
    def host(self) -> str:
        """The host in the URL."""
        return urlsplit(self.url).hostname or ""

    @property
    def secure(self) -> bool:
        """True if the URL begins with https."""
        return urlsplit(self.url).scheme == "https"

    @property
    def port(self) -> int:
        """The port of the server."""
        return urlsplit(self.url).port or (443 if self.secure else 80)

    @property
    def page(self) -> str:
        """The path and query on the server."""
        parts = urlsplit(self.url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


@dataclass(frozen=True)
class Catalogue:
    """The sites and their schedule. Times are in seconds.

    Attributes
    ----------
    sites
        The pages.
    every
        The time from one fetch of a site to the next.
    timeout
        The maximum time of each wait for the server during a fetch.
    pings
        The number of echoes for each fetch; 0 for none.
    """

    sites: tuple[Site, ...]
    every: float = EVERY
    timeout: float = 30.0
    pings: int = PINGS


_KEYS = {"every": "a time such as 60 s", "timeout": "a time such as 30 s", "pings": "a number"}
_SITE_KEYS = ("url", "address", "ping")
#: The maximum number of octets of a site's name. File names contain the name, and a file name has
#: at most 255 octets.
_NAME_MOST = 200


def read_catalogue(path: Path) -> Catalogue:
    """Read a catalogue of sites.

    Parameters
    ----------
    path
        A TOML file with a table ``[sites.NAME]`` for each site. The table has ``url``. It may have
        ``address``, the IP address of the server, and ``ping``, an IP address for the echoes.
        Without ``address``, the host's name is resolved. The file may also have ``every``,
        ``timeout`` and ``pings``.

    Raises
    ------
    CatalogueError
        If the file is not a catalogue. The message names the file, and also the key and the fix if
        a key is wrong.
    """

    def wrong(key: str, why: str) -> CatalogueError:
        return CatalogueError(f"{path}: `{key}` {why}")

    try:
        text = bounded_text(path)
    except NotTextError as error:
        raise CatalogueError(f"{path}: {error}") from None
    except ValueError as error:
        raise CatalogueError(str(error)) from None
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise CatalogueError(f"{path}: not TOML: it is nested too deeply") from None
    except ValueError as error:
        raise CatalogueError(f"{path}: not TOML: {error}") from None
    for key in content:
        if key not in {*_KEYS, "sites"}:
            raise wrong(key, f"is not a key; the keys are {', '.join([*_KEYS, 'sites'])}")
    sites = content.get("sites")
    if not isinstance(sites, dict) or not sites:
        raise wrong("sites", 'names no site: write [sites.NAME] and url = "http://..." below it')
    every = _time(content.get("every", EVERY), lambda why: wrong("every", why))
    timeout = _time(content.get("timeout", 30.0), lambda why: wrong("timeout", why))
    pings = content.get("pings", PINGS)
    if not isinstance(pings, int) or isinstance(pings, bool) or not 0 <= pings <= 1000:
        raise wrong("pings", f"= {pings!r} is not a number of echoes from 0 to 1000")
    found = tuple(_site(name, about, wrong) for name, about in sites.items())
    return Catalogue(found, every, timeout, pings)


def _time(value: Any, wrong: Callable[[str], CatalogueError]) -> float:
    """Return a time in seconds, given as a number or as a text with a unit."""
    try:
        found = seconds(str(value))
    except ValueError:
        found = -1.0
    if isinstance(value, bool) or not 0 < found < 1e6:
        raise wrong(f'= {value!r} is not a time: write "60 s"')
    return found


def _site(name: str, about: Any, wrong: Callable[[str, str], CatalogueError]) -> Site:
    key = f"sites.{name}"
    if not name.replace("-", "").replace("_", "").isalnum() or len(name.encode()) > _NAME_MOST:
        raise wrong(
            key, f"cannot name files: use letters, digits, - and _, at most {_NAME_MOST} octets"
        )
    if not isinstance(about, dict):
        raise wrong(key, f'is {about!r} and not a table: write [{key}] and url = "..." below it')
    for one in about:
        if one not in _SITE_KEYS:
            raise wrong(f"{key}.{one}", f"is not a key; the keys are {', '.join(_SITE_KEYS)}")
        if not isinstance(about[one], str):
            raise wrong(f"{key}.{one}", f"= {about[one]!r} is not text: put it in quotes")
    if "url" not in about:
        raise wrong(key, 'has no `url`: write url = "http://host/page"')
    try:
        parts = urlsplit(about["url"])
        good = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
        good = good and about["url"].isprintable()
    except ValueError:
        good = False
    if not good:
        raise wrong(
            f"{key}.url", f"= {about['url']!r} is not the URL of a page: write http://host/page"
        )
    for one in ("address", "ping"):
        if one in about and not _is_address(about[one]):
            raise wrong(
                f"{key}.{one}",
                f"= {about[one]!r} is not an address: leave it out, or write 192.0.2.1",
            )
    return Site(name, about["url"], about.get("address"), about.get("ping"))


def _is_address(text: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        with contextlib.suppress(OSError):
            socket.inet_pton(family, text)
            return True
    return False


def settled(catalogue: Catalogue) -> list[Site]:
    """Return the sites with their addresses. This is the only place that resolves names.

    Raises
    ------
    CatalogueError
        If a host has no address.
    """
    found = []
    for site in catalogue.sites:
        try:
            address = site.address or resolve(site.host)
        except ProbeError as error:
            raise CatalogueError(
                f"sites.{site.name}.url: {error}: write its `address` if the name is not known here"
            ) from None
        found.append(Site(site.name, site.url, address, site.ping or address))
    return found


class _Fixed(http.client.HTTPConnection):
    """An HTTP connection to the address of a site; the host's name is not resolved again."""

    def __init__(self, site: Site, timeout: float) -> None:
        super().__init__(site.host, site.port, timeout=timeout)
        self.site = site
        self.opened = 0.0

    def connect(self) -> None:
        """Open the connection; `opened` is the time that this took without TLS, in seconds."""
        started = time.monotonic()
        self.sock = socket.create_connection((self.site.address, self.port), self.timeout)
        self.opened = time.monotonic() - started
        self.plain = self.sock
        if self.site.secure:
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(self.sock, server_hostname=self.site.host)


def fetch(site: Site, timeout: float) -> dict[str, Any]:
    """Fetch a page. Return its times [s], its octets, and the kernel's round-trip estimates.

    If the fetch fails, the result has the reason under `failed`.
    """
    started = time.monotonic()
    row: dict[str, Any] = {"site": site.name, "address": site.address, "port": site.port}
    row["at_unix"] = time.time()
    connection = _Fixed(site, timeout)
    try:
        connection.request("GET", site.page, headers={"Connection": "close"})
        row["opened_s"] = connection.opened
        row["local_port"] = connection.sock.getsockname()[1]
        # The response object closes its socket, so a second descriptor keeps the socket open.
        kept = socket.socket(fileno=os.dup(connection.sock.fileno()))
        try:
            answer = connection.getresponse()
            row["first_octet_s"] = time.monotonic() - started
            row["status"], row["octets"] = answer.status, len(answer.read())
            row["total_s"] = time.monotonic() - started
            row |= _tcp_info(kept)
        finally:
            kept.close()
    except (OSError, http.client.HTTPException) as error:
        row["failed"] = f"{type(error).__name__}: {error}"
    finally:
        connection.close()
    return row


def _tcp_info(connection: socket.socket) -> dict[str, Any]:
    """Return a connection's round-trip estimates from the kernel (`struct tcp_info`)."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    srtt, rttvar = struct.unpack_from("=II", info, 68)
    figures: dict[str, Any] = {"srtt_s": srtt / 1e6, "rttvar_s": rttvar / 1e6}
    if len(info) >= 152:
        (figures["min_rtt_s"],) = (struct.unpack_from("=I", info, 148)[0] / 1e6,)
    return figures


class Capture:
    """A capture. `packets` is the number of packets, which is known when the capture is closed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.packets = 0
        self._process = process

    def wait(self) -> None:
        """Wait until the capture fails. A capture that does not fail goes on until it is closed."""
        self._process.wait()


@contextlib.contextmanager
def capturing(peer: str, port: int, path: Path) -> Iterator[Capture]:
    """Capture the packets to and from an address.

    TCP packets are captured only if this address uses `port`; 0 means any port.

    Yields
    ------
    Capture
        `packets` is known when the capture is closed.

    Raises
    ------
    ProbeError
        If captures are not allowed on this machine, or if the file cannot be made.
    """
    with worker(CaptureTask(peer, port, str(path))) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        ready = process.stdout.readline()
        if not ready:
            raise EndedEarlyError
        read_as(ReadyLine, ready)
        capture = Capture(process)
        try:
            yield capture
        finally:
            process.stdin.close()
            for line in process.stdout:
                capture.packets = read_as(CapturedLine, line).packets


def fetch_and_measure(
    site: Site, number: int, folder: Path, catalogue: Catalogue, *, captures: bool
) -> dict[str, Any]:
    """Fetch a page with its capture and echoes; return the row of the fetch.

    `tcp_rtt_s` is the handshake's round trip in the capture. Without a capture, it is the kernel's
    minimum round trip. `ping_rtt_s` is the median of the echoes. With a capture, both round trips
    come from the kernel's timestamps. `ratio` is `tcp_rtt_s` divided by `ping_rtt_s`.
    """
    name = f"{site.name}-{number:05d}.pcapng"
    if captures:
        with capturing(site.address or "", site.port, folder / name) as capture:
            row = fetch(site, catalogue.timeout)
        row |= {"capture": name, "packets": capture.packets}
        row["tcp_rtt_s"] = handshake(folder / name, row)
    else:
        row = fetch(site, catalogue.timeout)
        row["tcp_rtt_s"] = row.get("min_rtt_s")
    row["number"] = number
    if catalogue.pings and site.ping is not None:
        row |= _pings(site, catalogue, number)
    if row.get("tcp_rtt_s") and row.get("ping_rtt_s"):
        row["ratio"] = row["tcp_rtt_s"] / row["ping_rtt_s"]
    return row


def _pings(site: Site, catalogue: Catalogue, seed: int) -> dict[str, Any]:
    plan = Plan(
        site.ping or "",
        count=catalogue.pings,
        timeout=min(catalogue.timeout, 2.0),
        lengths=ProbeLengths("fixed", (PING_OCTETS,)),
        calibrate=0,
        seed=seed,
    )
    try:
        recording = run(plan).recording()
    except ProbeError as error:
        return {"ping_failed": str(error)}
    if recording is None or recording.received == 0:
        return {"ping_answered": 0}
    return {
        "ping_answered": recording.received,
        "ping_rtt_s": float(np.nanmedian(recording.rtt_s)),
    }


def handshake(capture: Path, row: dict[str, Any]) -> float | None:
    """Return the round trip of a fetch's handshake [s], or `None` if the capture shows none.

    If the SYN was retransmitted, or the capture lacks it, the result is the first round trip after
    the handshake.
    """
    with contextlib.suppress(_core.DelaysError):
        for recording in read_delays(capture):
            ends = recording.name.rpartition(": ")[2]
            if f":{row.get('local_port')} to " in ends and not np.isnan(recording.rtt_s[0]):
                return float(recording.rtt_s[0])
    return None


def poll(
    catalogue: Catalogue,
    folder: Path,
    *,
    rounds: int | None = None,
    captures: bool = True,
    on_row: Callable[[dict[str, Any]], None] | None = None,
) -> int:
    """Fetch the sites of a catalogue at fixed intervals, and store the results in a folder.

    ``sites.json`` has the addresses. ``fetches.jsonl`` has a row for each fetch, written when the
    fetch is over. If `captures` is true, each fetch has a capture. An interrupt ends the polling;
    the `KeyboardInterrupt` reaches the caller.

    Parameters
    ----------
    catalogue
        The sites.
    folder
        The folder to make.
    rounds
        The number of fetches of each site; `None` for no limit.
    captures
        True to capture each fetch.
    on_row
        A function that is called with each row.

    Returns
    -------
    int
        The number of fetches.

    Raises
    ------
    CatalogueError
        If a host has no address.
    ProbeError
        If captures are not allowed on this machine.
    FileExistsError
        If the folder exists.
    """
    sites = settled(catalogue)
    folder.mkdir(parents=True)
    listed = [{"name": s.name, "url": s.url, "address": s.address, "ping": s.ping} for s in sites]
    (folder / "sites.json").write_text(json.dumps(listed, indent=2) + "\n", encoding="utf-8")
    count = 0
    started = time.monotonic()
    with (folder / "fetches.jsonl").open("x", encoding="utf-8") as rows:
        number = 0
        while rounds is None or number < rounds:
            number += 1
            # The sites are staggered, so that they do not disturb each other.
            for place, site in enumerate(sites):
                due = started + catalogue.every * (number - 1 + place / len(sites))
                time.sleep(max(0.0, due - time.monotonic()))
                row = fetch_and_measure(site, number, folder, catalogue, captures=captures)
                rows.write(json.dumps(row) + "\n")
                rows.flush()
                count += 1
                if on_row is not None:
                    on_row(row)
    return count
