"""Scenarios: read, vary, run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from netspurt import _core
from netspurt.run import Run

#: Called with the seconds simulated so far and the seconds in all.
Progress = Callable[[float, float], None]

_STEPS = 200


class Scenario:
    """A network, what flows over it, and what to record.

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
            raise TypeError("`load(file)` reads a scenario file, `Scenario.parse(text)` its text")
        self._core = core

    def __repr__(self) -> str:
        return f"<Scenario {self.title!r} from {self.name}, seed {self.seed}>"

    @classmethod
    def parse(cls, text: str, name: str = "scenario") -> Scenario:
        """Read a scenario's text; `name` is what errors call it.

        Raises
        ------
        ScenarioError
            When the text is not a scenario, or the scenario does not hold together.
        """
        name = name.encode(errors="replace").decode()
        return cls(_core.Scenario(name, _unbroken(text)))

    @classmethod
    def for_programs(
        cls,
        text: str,
        name: str = "scenario",
        *,
        values: Mapping[str, str] | None = None,
        side: str | None = None,
        peer: str | None = None,
    ) -> Scenario:
        """Read a scenario's text for programs at two of its nodes.

        Parameters
        ----------
        text
            The scenario. It may have no flow; the one of programs is then added.
        name
            What errors call it.
        values
            Dotted paths to values, each as TOML or as bare text.
        side, peer
            The nodes; by default those of the flow with `app = "programs"`, or the two ends of the
            links.

        Raises
        ------
        ScenarioError
            When the text is not a scenario, or the nodes are not told.
        """
        pairs = [(_unbroken(path), _unbroken(value)) for path, value in (values or {}).items()]
        name = name.encode(errors="replace").decode()
        return cls(_core.Scenario.for_programs(name, _unbroken(text), pairs, (side, peer)))

    @property
    def programs_flow(self) -> str | None:
        """The flow whose ends are programs, which `netspurt live exec` runs."""
        return self._core.programs_flow()

    @property
    def name(self) -> str:
        """What errors call it; for a file, its path."""
        return self._core.name

    @property
    def title(self) -> str:
        """What the run shows, in a line."""
        return self._core.title

    @property
    def seed(self) -> int:
        """What seeds its random draws."""
        return self._core.seed

    @property
    def stop(self) -> float:
        """When a run of it ends, in seconds."""
        return self._core.stop_ns / 1e9

    @property
    def kernel_flow(self) -> str | None:
        """The first flow with an end that is the kernel's: such a scenario can only be run live."""
        return self._core.kernel_flow()

    def replace(self, values: Mapping[str, Any]) -> Scenario:
        """Return the scenario with values set over it.

        Parameters
        ----------
        values
            Dotted paths to values as they stand in a file: texts with units, numbers,
            booleans, lists and dictionaries.

        Raises
        ------
        ScenarioError
            When the result does not hold together.
        """
        pairs = [(_unbroken(path), as_toml(value)) for path, value in values.items()]
        return Scenario(self._core.with_values(pairs))

    def set_text(self, values: Mapping[str, str]) -> Scenario:
        """Return the scenario with values set over it, each as TOML or else as bare text.

        Raises
        ------
        ScenarioError
            When the result does not hold together.
        """
        pairs = [(_unbroken(path), _unbroken(value)) for path, value in values.items()]
        return Scenario(self._core.with_values(pairs))

    def resolved(self) -> str:
        """Return the scenario as TOML with every default spelt out."""
        return self._core.resolved()

    def run(self, progress: Progress | None = None) -> Run:
        """Run it from beginning to end.

        Parameters
        ----------
        progress
            Called now and then with the seconds simulated so far and in all.

        Raises
        ------
        ValueError
            When an end of a flow is the kernel's.
        """
        if self.kernel_flow is not None:
            raise ValueError(
                f"flow `{self.kernel_flow}` has an end of the kernel's: "
                f"`netspurt live run {self.name}` runs it"
            )
        simulation = self._core.simulate()
        stop = simulation.stop_ns
        for step in range(1, _STEPS + 1):
            simulation.advance_to(stop * step // _STEPS)
            if progress is not None:
                progress(simulation.now_ns / 1e9, stop / 1e9)
        return Run.of(simulation.finish(), self._core)


def load(path: str | os.PathLike[str]) -> Scenario:
    """Read a scenario file.

    Raises
    ------
    ScenarioError
        When it is not a scenario, or does not hold together.
    OSError
        When it cannot be read.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise _core.ScenarioError(f"not a text file\n   --> {path}") from None
    except OSError as error:
        raise type(error)(f"{path} cannot be read: {error.strerror}") from error
    return Scenario.parse(text, name=str(path))


def new_scenario() -> Scenario:
    """Return the scenario that `netspurt new` writes: four packets into three buffers."""
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
    raise TypeError(f"a scenario holds no {type(value).__name__}: {value!r}")


def _unbroken(text: str) -> str:
    """Return a text that holds no halves of characters, as from a command line that is no text."""
    broken = [character for character in text if 0xD800 <= ord(character) < 0xE000]
    if broken:
        raise ValueError(f"a scenario holds no half of a character: {broken[0]!r} in {text!r}")
    return text


def _escaped(character: str) -> str:
    """Return a character as it stands in a text of TOML."""
    code = ord(_unbroken(character))
    plain = character not in '"\\' and code >= 0x20 and code != 0x7F
    return character if plain else f"\\u{code:04x}"
