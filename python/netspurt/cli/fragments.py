"""`netspurt fragments`: which segment sizes suit a network that divides packets into fragments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli.output import columns, print_json

if TYPE_CHECKING:
    from netspurt.analysis.fragments import SmallNet, UnderLoss

#: The maximum number of best sizes that are shown.
_SHOWN = 6


def _octets(text: Any) -> Any:
    """Read a number of octets, with or without its unit."""
    if not isinstance(text, str):
        return text
    from netspurt.quantities import quantity

    try:
        unit, value = ("B", float(int(text))) if text.isdecimal() else quantity(text)
        if unit != "B" or value != int(value):
            raise ValueError
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number of octets, such as 250 B") from None
    return int(value)


def _share(text: Any) -> Any:
    """Read a probability, as a number or in percent."""
    if not isinstance(text, str):
        return text
    number, percent = text.removesuffix("%").strip(), text.endswith("%")
    try:
        value = float(number) / (100 if percent else 1)
        if not 0 < value < 1:
            raise ValueError
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a loss above 0 and below 1, such as 0.01 or 1%"
        ) from None
    return value


def fragments(
    mss: Annotated[
        list[int] | None,
        typer.Argument(
            parser=_octets,
            metavar="MSS",
            help="Segment sizes: octets of user data. By default the best ones.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            parser=_octets,
            metavar="OCTETS",
            help="The largest datagram that the net carries, with its IP header.",
        ),
    ] = 576,
    loss: Annotated[
        list[float] | None,
        typer.Option(
            "--loss",
            parser=_share,
            metavar="SHARE",
            help="Find the best size if this share of packets is lost: 0.01 or 1%. May be "
            "repeated.",
            show_default=False,
        ),
    ] = None,
    tcp_header: Annotated[
        int,
        typer.Option(
            "--tcp-header",
            parser=_octets,
            metavar="OCTETS",
            help="The length of the TCP header with its options; 32 with timestamps.",
        ),
    ] = 20,
    unaligned: Annotated[
        bool,
        typer.Option(
            "--unaligned",
            help="Fill each fragment completely, as in Jacobson's mail of 1988, instead of in "
            "units of 8 octets.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show how IPv4 divides TCP segments into fragments, and which sizes fill all fragments."""
    from netspurt.analysis.fragments import SmallNet, UnderLoss

    net = SmallNet(limit, unit=1 if unaligned else 8, tcp_header=tcp_header)
    sizes = mss or [size for size in net.full_sizes(_SHOWN) if size <= net.largest]
    under = [UnderLoss(net, share) for share in loss or []]
    if as_json:
        print_json(_as_data(net, sizes, under))
        return
    typer.echo("\n".join(_lines(net, sizes, under)))


def _as_data(net: SmallNet, sizes: list[int], under: list[UnderLoss]) -> dict[str, Any]:
    return {
        "limit_bytes": net.limit,
        "unit_bytes": net.unit,
        "tcp_header_bytes": net.tcp_header,
        "first_best_bytes": net.full_size(1),
        "step_bytes": net.carries,
        "sizes": [
            {
                "mss_bytes": size,
                "fragments_bytes": list(net.fragments(size)),
                "per_packet_bytes": net.per_packet(size),
            }
            for size in sizes
        ],
        "under_loss": [
            {
                "loss": one.loss,
                "packets": one.best_count(),
                "mss_bytes": net.full_size(one.best_count()),
                "packets_by_formula": one.closed_form(),
                "gain": one.gain(one.best_count()),
            }
            for one in under
        ],
    }


def _best(net: SmallNet) -> str:
    """Return a line on the segment sizes that fill all their fragments.

    The largest datagram of IP limits these sizes.
    """
    one = net.full_size(1)
    if net.full_size(2) > net.largest:
        return f"best size: {one}; no datagram of IP can fill two packets"
    ns = [n for n in range(4) if net.full_size(n + 1) <= net.largest]
    told = ", ".join(map(str, ns)) if len(ns) < 4 else "0, 1, 2, ..."
    return f"best sizes: {one} + {net.carries} n, for n = {told}"


def _lines(net: SmallNet, sizes: list[int], under: list[UnderLoss]) -> Iterator[str]:
    from netspurt.analysis.fragments import loss_that_pays

    how = "fragments are filled" if net.unit == 1 else "fragments in units of 8 octets (RFC 791)"
    yield f"datagrams of at most {net.limit} B; {how}"
    yield ""
    rows: list[tuple[str, ...]] = [
        ("mss", "packets", "user octets per packet", "user octets of each packet")
    ]
    for size in sizes:
        cut = net.fragments(size)
        cells = (f"{size} B", str(len(cut)), f"{net.per_packet(size):.1f} B")
        rows.append((*cells, _parts(cut)))
    yield from columns(rows, right=(0, 1, 2))
    yield ""
    yield _best(net)
    yield f"headers are {100 * net.share_of_headers:.1f} % of a full packet"
    if net.full_size(2) <= net.largest:
        yield (
            "segments of two packets deliver more data per packet than segments of one packet if "
            f"less than {100 * loss_that_pays(net):.2g} % of packets are lost"
        )
    if under:
        yield ""
        rows = [
            (
                "lost",
                "best mss",
                "packets",
                "packets by formula",
                "more data per packet than with one packet",
            )
        ]
        for one in under:
            best = one.best_count()
            cells = (f"{100 * one.loss:g} %", f"{net.full_size(best)} B", str(best))
            rows.append((*cells, f"{one.closed_form():.1f}", f"{100 * one.gain(best):+.1f} %"))
        yield from columns(rows, right=range(5))


def _parts(cut: tuple[int, ...]) -> str:
    """Return the parts of a segment as text. Many equal parts in the middle become a product."""
    if len(cut) <= 4:
        return " + ".join(map(str, cut))
    return f"{cut[0]} + {len(cut) - 2} x {cut[1]} + {cut[-1]}"
