"""`netspurt report`: one page of HTML that shows runs, captures, recordings and sweeps.

A recording has the measured delays of probes, and a replay applies retransmission timers to it. A
sweep is many runs of one scenario, with different values or seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netspurt import _core
from netspurt.cli import replay_options as option
from netspurt.cli.capture_files import captures_of
from netspurt.cli.capture_folders import capture_folder
from netspurt.cli.opening import is_explained, is_run, open_tables
from netspurt.cli.output import complain, named, unstyled
from netspurt.cli.recordings import REPLAYED
from netspurt.cli.replay_settings import SETTINGS, Settings, settings_of

if TYPE_CHECKING:
    from netspurt.delays import Delays
    from netspurt.report import Section
    from netspurt.report.compared import Subject
    from netspurt.sweep import SweepFolder
    from netspurt.timers import Replay

#: The name of a page without `--out`.
_PAGE = "report.html"

_NO_RECORDING = "--estimator applies to recordings of delays, and no path has a recording"


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH",
            help="Run folders, captures, folders of captures, sweeps, recordings of delays, or "
            "folders of replays. Two paths that are runs or captures are compared. If a recording "
            "needs --format, --column, --interval or --order, replay it first with `netspurt "
            "replay --out FOLDER`, and give that folder.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The page. The default for a folder is report.html in the folder. The default for "
            "a file NAME is NAME-report.html beside the file. The default for several paths is "
            "report.html in the working directory.",
        ),
    ] = None,
    estimators: option.Estimators = None,
) -> None:
    """Write a report with tables and pictures as one HTML page, which needs no network.

    An existing file is never overwritten.
    """
    from netspurt.report import page
    from netspurt.stored import check_free, write_new

    if out is not None and out.suffix not in (".html", ".htm"):
        raise ValueError(f"{out}: the name of a page must end in .html or .htm")
    file = check_free(out or _default_page(paths), "file" if out else "file with --out")
    write_new(file, page(list(_sections(paths, estimators or [])), file))
    typer.echo(file)


def _default_page(paths: Sequence[Path]) -> Path:
    """Return the file of the page without `--out`."""
    if len(paths) > 1:
        return Path(_PAGE)
    only = paths[0]
    return only / _PAGE if only.is_dir() else only.with_name(f"{only.name}-{_PAGE}")


def _sections(paths: Sequence[Path], estimators: Sequence[str]) -> Iterator[Section]:
    """Yield the sections of the page for the paths, in their order.

    If there are only two paths, and both are runs or captures, one section compares them.
    """
    from netspurt.report import compared_section
    from netspurt.report.drawn import BUDGET
    from netspurt.stored import is_partial

    for path in paths:
        if not path.exists():
            raise ValueError(f"{path} does not exist")
        if is_partial(path):
            raise ValueError(
                f"{path} is not complete: the command that makes it still runs, or was killed. "
                "Wait until the command ends, or run it again"
            )
    if estimators and not any(map(_has_recordings, paths)):
        raise ValueError(_NO_RECORDING)
    names = [named(path.resolve().name) for path in paths]
    if len(set(names)) < len(names):
        names = [named(str(path)) for path in paths]
    both = list(zip(paths, names, strict=True))
    if len(both) == 2 and all(_has_packets(path) for path in paths):
        yield compared_section([_subject(*one, room=_HALF) for one in both])
        return
    for path, name in both:
        if not _has_recordings(path):
            yield from _alone(path, name, BUDGET // len(both))
        elif captures := captures_of(path):
            yield from capture_folder(path, captures, BUDGET // len(both))
            yield from _recordings(path, name, estimators, beside=True)
        else:
            yield from _recordings(path, name, estimators)


def _alone(path: Path, name: str, room: int) -> Iterator[Section]:
    """Yield the section of a sweep, a run or a capture."""
    from netspurt.report import capture_section, run_section, sweep_section
    from netspurt.report.flows import Room
    from netspurt.sweep import open_sweep

    if _is_sweep(path):
        opened = open_sweep(path)
        yield sweep_section(opened, name, list(_on_seeds(opened)))
        return
    one = _subject(path, name)
    if is_run(one.run):
        yield run_section(one.run, name, one.lines, Room(room))
    elif is_explained(one.run):
        yield capture_section(one.run, name, one.lines, Room(room))


def _on_seeds(folder: SweepFolder) -> Iterator[str]:
    """Yield a sentence if the seeds of a sweep had no effect, or are too few for intervals."""
    from netspurt.analysis.cases import summarise
    from netspurt.cli.sweep_words import of_few_runs, of_seeds, suggested

    cases = folder.read()
    measure = suggested(cases, folder)
    rows = summarise(cases, measure, folder.names, folder.labels)
    shown = [(row.mean, row.repeats) for row in rows]
    yield from of_seeds(cases, folder, shown)
    yield from of_few_runs([measure], shown)


def _is_sweep(path: Path) -> bool:
    return (path / "sweep.json").is_file()


def _has_recordings(path: Path) -> bool:
    """Return whether a path may have recordings: it is no sweep, no run's folder and no capture."""
    return not (_is_sweep(path) or _has_packets(path))


def _has_packets(path: Path) -> bool:
    """Return whether a path is a run's folder or a capture."""
    from netspurt.captures import is_capture

    return (path / "run.json").is_file() or is_capture(path)


#: The maximum number of characters in a line of a table that has half the width of a page.
_HALF = 62


def _subject(path: Path, name: str, room: int | None = None) -> Subject:
    """Open a run or a capture. Tables of connections have at most `room` characters in a line."""
    from netspurt.cli.explain_files import FEW
    from netspurt.cli.explained import lines
    from netspurt.cli.running import lines_beside_flows
    from netspurt.report.compared import Subject

    opened = open_tables(path)
    if is_explained(opened):
        return Subject(opened, name, list(lines(opened, None, few=FEW, own_room=room)))
    return Subject(opened, name, list(lines_beside_flows(opened)) if is_run(opened) else [])


def _recordings(
    path: Path, name: str, estimators: Sequence[str], *, beside: bool = False
) -> Iterator[Section]:
    """Yield a section for each recording of a file or of a folder.

    If there are several, a section for all of them together comes first.

    The timers are `estimators`. If `estimators` is empty, a replay's folder gets the timers of its
    replay, and any other path gets the usual timers. The options of a replay's folder apply in
    every case. `beside` is true if the folder has captures. Such a folder may have no recording.

    Raises
    ------
    ValueError
        If a file is not a recording, if a folder without captures has no recording, or if there is
        no recording for `estimators`.
    """
    from netspurt.report import recordings_section

    found = list(_replays(path, name, estimators, beside=beside))
    if not found and estimators:
        raise ValueError(_NO_RECORDING)
    if not found and not beside:
        raise ValueError(f"{path}: no recording can be replayed")
    if len(found) > 1:
        yield recordings_section(path, found)
        found = [replace(section, within=True) for section in found]
    yield from found


def _replays(
    path: Path, name: str, estimators: Sequence[str], *, beside: bool
) -> Iterator[Section]:
    """Yield a section for each recording of a file or of a folder."""
    from netspurt.advice import advise
    from netspurt.cli.recordings import How, read_all
    from netspurt.cli.replay_report import lines, mentioned
    from netspurt.report import replay_section

    for file, reading in read_all([path], How(None, None, {}, captures=not beside)):
        if isinstance(reading, Exception):
            raise _with_hint(reading, file)
        kept = settings_of(file)
        used = kept or Settings()
        for one in reading:
            try:
                found = _replay(file, one, estimators, used)
            except _core.ReplayError as error:
                if file == path:
                    raise
                complain(error, "left out:")
                continue
            told = name if len(reading) == 1 and file == path else _short(one.name, file, path)
            advice = advise([found], used.price, tune=used.tune)
            text = [
                *_departures(file, kept),
                *(unstyled(line) for line in lines(advice, details=True)),
            ]
            # `advise` also replays timers whose constants it computed from the recording. The
            # section shows only the timers in the table of `netspurt replay`.
            shown = advice.replays[0].only(mentioned(advice))
            pick = advice.pick if advice.is_decided else ""
            yield replay_section(shown, told, text, str(file), pick)


def _with_hint(error: Exception, file: Path) -> Exception:
    """Return an error of reading a file. If another command must be run first, it is named."""
    from netspurt.timelines.followed import is_followed, use_of_followed

    if file.suffix == ".toml":
        if is_followed(file):
            return ValueError(use_of_followed(named(str(file))))
        return ValueError(
            f"{file}: a scenario has no results to report: `netspurt run {file} --out DIR`, then "
            "`netspurt report DIR`"
        )
    if not isinstance(error, _core.DelaysError) or "--" not in error.fix:
        return error
    return ValueError(
        f"{error}; only `netspurt replay` has this option: `netspurt replay {file} ... --out DIR`, "
        "then `netspurt report DIR`"
    )


def _short(name: str, file: Path, path: Path) -> str:
    """Return the short name of a recording: its file relative to `path`, and its own name.

    For a recording in the table of a replay, only its own name is returned, if it has one.
    """
    own = name.removeprefix(str(file)).removeprefix(": ")
    place = str(file.relative_to(path)) if path.is_dir() else file.name
    return own if own and file.name == REPLAYED else ": ".join(filter(None, (place, own)))


def _departures(file: Path, kept: Settings | None) -> Iterator[str]:
    """Yield how the advice on a replay's folder differs from what `netspurt replay` printed."""
    if file.name == REPLAYED and kept is None:
        yield (
            f"{SETTINGS} is missing beside {REPLAYED}, so this page uses the defaults of --clock, "
            "--told, --cost, --loss and --tune."
        )
    if kept is not None and kept.pool:
        yield (
            "The replay had --pool, which recommends one timer for all recordings; this page "
            "recommends one for each recording."
        )


def _replay(file: Path, delays: Delays, estimators: Sequence[str], settings: Settings) -> Replay:
    """Replay timers on a recording: the given timers, the timers of its file, or the usual ones."""
    from netspurt.cli.replaying import Replaying, algorithms_of
    from netspurt.table import Table
    from netspurt.timers import USUAL, replay

    order, named = None, list(estimators)
    if not named and file.name == REPLAYED:
        name = delays.name.removeprefix(f"{file}: ")
        rows = Table(_core.Table.read("replay", str(file))).where(recording=name)
        order, named = str(rows["order"][0]), list(dict.fromkeys(map(str, rows["estimator"])))
    how = Replaying(order, settings.clock, settings.told, quiet=False)
    algorithms = algorithms_of([delays], named or USUAL, how)
    return replay(delays, algorithms, order=order, clock=how.clock, told=how.told)
