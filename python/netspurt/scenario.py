"""Reads, changes and runs scenarios. A scenario is the input of a run: links, flows and a seed.

A population is many connections of one kind. A link may follow a file, which has the link's delays,
rates, losses and handovers. A handover is a change of the path, with or without an outage.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from netspurt import _core
from netspurt.algorithms import files_named, read_code
from netspurt.interrupts import interruptible
from netspurt.run import Run
from netspurt.shipped import resolve
from netspurt.stored import TEXT_OCTETS_MAX, NotTextError, bounded_text
from netspurt.timelines.followed import read_followed
from netspurt.toml_text import values_of
from netspurt.wording import counted, unreadable

#: A function that takes the seconds simulated so far, and the length of the run in seconds.
Progress = Callable[[float, float], None]

#: The number of times that a run reports its progress.
_STEPS = 200


class Scenario:
    """A network, the flows over it, and the tables to record.

    Examples
    --------
    >>> import netspurt as ns
    >>> one = ns.new_scenario().replace({"flows.transfer.tcp.initial_window": "1 segment"})
    >>> one.replace({"stop": "240"})
    Traceback (most recent call last):
    ...
    netspurt.ScenarioError: `240` has no unit
       --> starting point with stop = "240"
        = write `240 ms` or `240 s`
    """

    def __init__(self, core: _core.Scenario) -> None:
        if not isinstance(core, _core.Scenario):
            raise TypeError("use `load(file)` for a file, or `Scenario.parse(text)` for a text")
        self._core = core

    def __repr__(self) -> str:
        return f"<Scenario {self.title!r} from {self.name}, seed {self.seed}>"

    @classmethod
    def parse(
        cls, text: str, name: str = "scenario", folder: str | os.PathLike[str] | None = None
    ) -> Scenario:
        """Read a scenario from text. `name` is the scenario's name in errors.

        `folder` has the files that the scenario names: files that links follow, and files with
        algorithms.

        Raises
        ------
        ScenarioError
            If the text is not a scenario, or the scenario is inconsistent.
        """
        name = name.encode(errors="replace").decode()
        return cls(_core.Scenario(name, _unbroken(text), _files(text, folder)))

    @classmethod
    def for_programs(  # noqa: PLR0913 - each is a choice of its own
        cls,
        text: str,
        name: str = "scenario",
        *,
        unset: Sequence[str] = (),
        values: Mapping[str, str] | None = None,
        side: str | None = None,
        peer: str | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> Scenario:
        """Read a scenario's text for programs at two of its nodes.

        Parameters
        ----------
        text
            The scenario. If the scenario has no flow of programs, a flow of programs is added.
        name
            The name for errors.
        unset
            Dotted paths of keys that are removed first, so that their defaults apply.
        values
            The new values by their dotted paths. Each value is TOML or bare text.
        side, peer
            The nodes. By default, they are the nodes of the flow with `app = "programs"`, or else
            the two nodes that have only one link.
        folder
            The folder of the files that the scenario names.

        Raises
        ------
        ScenarioError
            If the text is not a scenario, if the scenario lacks a key of `unset`, or if the nodes
            are not determined.
        """
        pairs = [(_unbroken(path), _unbroken(value)) for path, value in (values or {}).items()]
        name = name.encode(errors="replace").decode()
        code = _code(files_named("\n".join(values.values())), Path()) if values else []
        files = [*_files(text, folder), *_named(values or {}), *code]
        ends = (side, peer)
        text = _unbroken(text)
        return cls(_core.Scenario.for_programs(name, text, files, list(unset), pairs, ends))

    @property
    def programs_flow(self) -> str | None:
        """The flow whose ends are programs (`netspurt live exec`), or `None` without one."""
        return self._core.programs_flow()

    @property
    def name(self) -> str:
        """The scenario's name in errors. For a file, it is the path."""
        return self._core.name

    @property
    def title(self) -> str:
        """One line that says what the run shows."""
        return self._core.title

    @property
    def seed(self) -> int:
        """The seed of the run's random draws."""
        return self._core.seed

    @property
    def stop(self) -> float:
        """When a run ends, in seconds."""
        return self._core.stop_ns / 1e9

    @property
    def first_endpoint(self) -> str:
        """The path of the first flow's or population's endpoint, such as `flows.web.endpoint`."""
        return self._core.first_endpoint()

    @property
    def kernel_flow(self) -> str | None:
        """The first flow or population with an end that is the kernel's TCP, or `None`.

        A scenario with such an end can only be run live, in real time.
        """
        return self._core.kernel_flow()

    def replace(self, values: Mapping[str, Any]) -> Scenario:
        """Return the scenario with some values replaced.

        Parameters
        ----------
        values
            The new values by their dotted paths. As in a file, a value is a text with a unit, a
            number, a boolean, a list or a dictionary.

        Raises
        ------
        ScenarioError
            If a path or a value is wrong, or the result is inconsistent.
        """
        return self._with({path: as_toml(value) for path, value in values.items()})

    def set_text(self, values: Mapping[str, str], unset: Sequence[str] = ()) -> Scenario:
        """Return the scenario with some values replaced, each given as TOML or as bare text.

        Parameters
        ----------
        values
            The new values by their dotted paths.
        unset
            Dotted paths of keys that are removed first, so that their defaults apply.

        Raises
        ------
        ScenarioError
            If a path or a value is wrong, if the scenario does not have a key of `unset`, or if the
            result is inconsistent.
        """
        return self._with(values, unset)

    def _with(self, values: Mapping[str, str], unset: Sequence[str] = ()) -> Scenario:
        """Return the scenario after the keys of `unset` were removed and the new values were set.

        If a value names a file, the file is read from the working directory.
        """
        pairs = [(_unbroken(path), _unbroken(value)) for path, value in values.items()]
        code = _code(files_named("\n".join(values.values())), Path())
        before = dict(self._core.source()[2])
        for name, text in code:
            if before.get(name, text) != text:
                raise _core.ScenarioError(
                    f"two files are called `{name}`: the scenario's and the one in the working "
                    "directory\n   = give one of them another name"
                )
        return Scenario(self._core.with_values(pairs, [*_named(values), *code], list(unset)))

    @property
    def algorithms(self) -> list[tuple[str, str, str]]:
        """The algorithms that netspurt does not provide: text, file, SHA-256 of the file."""
        return self._core.algorithms()

    @property
    def code(self) -> list[tuple[str, str]]:
        """The files with algorithms that the scenario names: their names and texts."""
        return [(name, text) for name, text in self._core.source()[2] if name.endswith(".py")]

    def alone(self) -> Scenario:
        """Return the scenario without its `[sweep]`: a single run of the values in the file."""
        return Scenario(self._core.alone())

    def link_changes(self, link: str) -> str:
        """Return the changes of a link during a run, as the text of a file that a link can follow.

        The text has all handovers. It has the delay, the rate, the losses and the duplicates only
        if they change with time. Random delays of `slots` (a path over low satellites) are drawn
        with the scenario's seed.

        Raises
        ------
        ScenarioError
            If there is no such link, or the link does not change.
        """
        return self._core.link_changes(link)

    def notes(self) -> list[str]:
        """Return sentences on files that links follow, if a file is shorter or longer than the run.

        A link keeps its last values after the last change in the file that it follows. If a file
        has outages after the end of the run, the run does not reach them.
        """
        stop = self.stop
        ended = [
            f"link {link}, which follows {file}, changes last at {at / 1e9:.9g} s; from then on "
            f"the last values hold until the run ends at {stop:.9g} s"
            for link, file, at in self._core.followed_ends()
        ]
        return [*ended, *self._later_outages()]

    def _later_outages(self) -> Iterator[str]:
        """Yield a sentence for each followed file that has outages after the end of the run."""
        _, _, files = self._core.source()
        for name, text in files:
            if _HANDOVERS not in text or name.endswith(".py"):
                continue
            timeline = read_followed(text, name)
            ways = (timeline.forward, timeline.reverse or timeline.forward)
            outages = max(([one for one in way.outages if one.dead_ns] for way in ways), key=len)
            later = [one for one in outages if one.at_ns >= self._core.stop_ns]
            if not later:
                continue
            at, last = (f"{round(one.at_ns / 1e9, 3):.12g} s" for one in (later[0], later[-1]))
            when = f"at {at}" if len(later) == 1 else f"from {at} to {last}"
            until = max(one.at_ns + one.dead_ns for one in later) / 1e9
            yield (
                f"{name} has {counted(len(later), 'outage')} after the end of the run at "
                f"{self.stop:.9g} s ({when}), and {len(outages) - len(later):,} in the run; "
                f"--set stop='{math.ceil(until) + 1} s' plays all outages"
            )

    def resolved(self) -> str:
        """Return the scenario as TOML with every default written out."""
        return self._core.resolved()

    def run(self, progress: Progress | None = None) -> Run:
        """Simulate the scenario from beginning to end.

        Parameters
        ----------
        progress
            A function that is called from time to time with the seconds simulated so far, and the
            total seconds.

        Raises
        ------
        ValueError
            If an end of a flow or of a population is the kernel's TCP or a program, or if the run
            records more rows than `record.rows` allows.
        """
        if self.programs_flow is not None:
            raise ValueError(
                f"the ends of `{self.programs_flow}` are programs: "
                f"`netspurt live exec {self.name} -- COMMAND` runs the scenario"
            )
        if self.kernel_flow is not None:
            raise ValueError(
                f"an end of `{self.kernel_flow}` is the kernel's TCP: "
                f"`netspurt live run {self.name}` runs the scenario"
            )
        simulation = self._core.simulate()
        stop = simulation.stop_ns
        for step in range(1, _STEPS + 1):
            simulation.advance_to(stop * step // _STEPS)
            if progress is not None:
                progress(simulation.now_ns / 1e9, stop / 1e9)
        # The tables are made here. This takes long if they have millions of rows.
        return Run.of(interruptible(simulation.finish, "ending a run"), self._core)


def load(path: str | os.PathLike[str]) -> Scenario:
    """Read a scenario file, or a scenario that comes with netspurt, by its name.

    Raises
    ------
    ScenarioError
        If the text of the file is not a scenario, or the scenario is inconsistent.
    UnknownScenarioError
        If `path` is not the path of a file or a folder, does not end in `.toml`, and is not the
        name of a scenario.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import netspurt as ns
    >>> ns.load("rfc2416").seed
    1
    """
    path = resolve(path)
    return Scenario.parse(read_text(path), name=str(path), folder=Path(path).parent)


def cases(scenario: Scenario) -> int | None:
    """Return the number of cases of a scenario's `[sweep]`, or `None` if it has no `[sweep]`."""
    sweep = _core.Sweep.of(scenario._core)
    return None if sweep is None else len(sweep)


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a scenario file.

    Raises
    ------
    ScenarioError
        If the file's content is not text, or is too long for a scenario.
    OSError
        If the file cannot be read.
    """
    name = os.fspath(path)
    try:
        return bounded_text(path)
    except NotTextError as error:
        place = f"{name}:{error.line}:{error.column}"
        fix = "save the file as UTF-8, or name a scenario"
        raise _core.ScenarioError(f"not a text file\n   --> {place}\n    = {fix}") from None
    except ValueError:
        most = f"the file has more than {TEXT_OCTETS_MAX:,} octets"
        raise _core.ScenarioError(f"{most}\n   --> {name}\n    = name a scenario") from None
    except OSError as error:
        raise type(error)(unreadable(name, error, " cannot be read")) from error


#: The key with which a link names the file that it follows.
_FOLLOWS = "follows"
#: The key of the outages in a file that a link can follow.
_HANDOVERS = "handovers"


def _files(text: str, folder: str | os.PathLike[str] | None) -> list[tuple[str, str]]:
    """Return the names and texts of the files in `folder` that a scenario's text names."""
    if folder is None:
        return []
    return [*_followed(text, folder), *_code(files_named(text), Path(folder))]


def _code(names: Iterable[str], folder: Path) -> list[tuple[str, str]]:
    """Return the names and texts of the files with algorithms.

    A run folder has these files under their bare names. So a file is also looked for under its bare
    name.
    """
    found = []
    for name in names:
        files = [path for path in (folder / name, folder / Path(name).name) if path.is_file()]
        found += [(name, read_code(path)) for path in files[:1]]
    return found


def _followed(text: str, folder: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Return the names and texts of the files in `folder` that links follow."""
    if _FOLLOWS not in text:
        return []
    try:
        names = followed_names(text)
    except ValueError:
        return []  # The Rust core reports the mistake in the text.
    paths = {name: Path(folder, name) for name in names}
    return [(name, read_text(path)) for name, path in paths.items() if path.is_file()]


def followed_names(text: str) -> list[str]:
    """Return the names of the files that links of a scenario's text follow, sorted.

    Raises
    ------
    ValueError
        If the text is not TOML.
    """
    return sorted(set(_names(values_of(text))))


def _names(value: Any) -> Iterator[str]:
    """Yield the names of followed files in a value of a scenario and in the values inside it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if _ends(key) and isinstance(inner, str):
                yield inner
            yield from _names(inner)
        if _ends(value.get("path")) and isinstance(values := value.get("values"), list):
            yield from (name for name in values if isinstance(name, str))
    elif isinstance(value, list):
        for inner in value:
            yield from _names(inner)


def _ends(path: Any) -> bool:
    """Return whether a path, or one of a list of paths, ends with the key `follows`."""
    paths = path if isinstance(path, list) else [path]
    return any(isinstance(each, str) and each.rpartition(".")[2] == _FOLLOWS for each in paths)


def _named(values: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the names and texts of the files that links follow because of new settings.

    The files are in the working directory.
    """
    names: set[str] = set()
    for path, value in values.items():
        if path.endswith(f".{_FOLLOWS}"):
            names.add(value.strip("\"'"))
        elif _FOLLOWS in value:
            # The Rust core reports the mistakes in such a value.
            with suppress(ValueError):
                names.update(_names(values_of(f"value = {value}")))
    return [(name, read_text(name)) for name in sorted(names) if Path(name).is_file()]


def new_scenario() -> Scenario:
    """Return the scenario that `netspurt new` writes as a starting point."""
    return Scenario.parse(_core.STARTING_POINT, name="starting point")


def as_toml(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return f'"{"".join(_escaped(c) for c in value)}"'
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{as_toml(str(key))} = {as_toml(inner)}" for key, inner in value.items())
        return f"{{ {pairs} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(as_toml(inner) for inner in value)}]"
    raise TypeError(f"a scenario cannot contain a {type(value).__name__}: {value!r}")


def _unbroken(text: str) -> str:
    """Return the text, or raise an error if it contains lone surrogates, which are no characters.

    Python makes lone surrogates from octets of the command line that are not UTF-8.
    """
    broken = [character for character in text if 0xD800 <= ord(character) < 0xE000]
    if broken:
        raise ValueError(f"a scenario cannot contain a lone surrogate: {broken[0]!r} in {text!r}")
    return text


def _escaped(character: str) -> str:
    """Return a character as a TOML string writes it, escaped if necessary."""
    code = ord(_unbroken(character))
    plain = character not in '"\\' and code >= 0x20 and code != 0x7F
    return character if plain else f"\\u{code:04x}"
