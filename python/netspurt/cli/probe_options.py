"""The options of `netspurt probe`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netspurt.cli import completing
from netspurt.cli.options import count as whole
from netspurt.cli.options import one_of, port, span_of

_KINDS = ("icmp", "udp", "tcp")

Host = Annotated[
    str | None,
    typer.Argument(help="A name or an address; omit it with --line.", show_default=False),
]

Kind = Annotated[
    str,
    typer.Option(
        parser=one_of(_KINDS),
        metavar="KIND",
        help="icmp: echoes. udp: datagrams to a host that echoes. tcp: a SYN, which a SYN-ACK "
        "or an RST answers.",
    ),
]

Port = Annotated[
    int | None,
    typer.Option(
        parser=port,
        metavar="N",
        help="The port, from 1 to 65535; by default 7 for udp, 80 for tcp.",
    ),
]

Four = Annotated[bool, typer.Option("-4", help="Use an IPv4 address.")]

Six = Annotated[bool, typer.Option("-6", help="Use an IPv6 address.")]

Count = Annotated[
    int | None,
    typer.Option(
        "--count",
        "-n",
        parser=whole,
        metavar="N",
        help="The number of echo probes. By default 512. With --hops the default is 5 for each "
        "hop, and with --for there is no limit by default.",
    ),
]

For = Annotated[
    float | None,
    typer.Option("--for", parser=span_of, metavar="TIME", help="The duration: 2h, 30min, 10s."),
]

Length = Annotated[
    str,
    typer.Option(
        metavar="RULE",
        help="Octets of each datagram: rfc889 (random from 0 to 256; a length below 40 becomes "
        "40), uniform:40-256, 64, or bursts:8 (eight of 40, eight of 256).",
    ),
]

Pace = Annotated[
    str,
    typer.Option(
        metavar="PACE",
        help="When a probe leaves: immediate (when the previous probe is answered), 200ms, or "
        "poisson:200ms. A probe never leaves before the previous probe is answered or given up.",
    ),
]

Timeout = Annotated[
    float | None,
    typer.Option(
        parser=span_of,
        metavar="TIME",
        help="An echo probe counts as lost if no answer comes within this time. By default 30 s "
        "as in RFC 889, or 2 s with --hops.",
    ),
]

Seed = Annotated[
    int | None,
    typer.Option(
        parser=whole, metavar="N", help="The seed of lengths and pace; by default a new seed."
    ),
]

Estimators = Annotated[
    list[str] | None,
    typer.Option(
        "--estimator",
        "-e",
        metavar="NAME[:KEY=VALUE,...]",
        help="A timer to compute along with the probes. May be repeated.",
        autocompletion=completing.estimators,
    ),
]

Out = Annotated[Path | None, typer.Option(help="The data file; by default probe-HOST-TIME.jsonl.")]

Rotate = Annotated[
    str | None,
    typer.Option(
        metavar="WHEN",
        help="Begin a new file after a time (1h) or a number of echo probes (10000).",
    ),
]

Calibrate = Annotated[
    int,
    typer.Option(
        parser=whole,
        metavar="N",
        help="The number of echo probes over loopback before the run. They show the machine's own "
        "delay.",
    ),
]

Hops = Annotated[
    bool, typer.Option("--hops", help="Show the delay of each hop, with -n echo probes each.")
]

EmulatedLine = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RATE,DELAY[,QUEUE]",
        help="Probe a host behind an emulated line, as '56 kbit/s, 20 ms, 50 packets', in "
        "namespaces. Give the option twice for forward and reverse.",
    ),
]

Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print only the summary, also in a terminal.")
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print a line for each echo probe, as ping does.")
]

AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]
