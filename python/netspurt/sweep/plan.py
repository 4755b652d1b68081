"""The numbered cases of a sweep. A case is one combination of its values, with one seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from netspurt import _core
from netspurt.markup import html_lines, html_table
from netspurt.scenario import Scenario

#: The label of a value of an axis. An axis is a setting that the sweep varies.
Label = int | float | str

#: The names of the columns that every sweep, or every table of its results, has. An axis cannot
#: have such a name.
RESERVED = frozenset((*_core.SWEEP_COLUMNS, *_core.RESULT_COLUMNS))


class Sweep:
    """The cases of a sweep, numbered from 0.

    Examples
    --------
    >>> import netspurt as ns
    >>> base = ns.new_scenario().replace({"stop": "20 s"})
    >>> path = "flows.transfer.tcp.initial_window"
    >>> window = {"path": path, "values": ["1 segment", "4 segments"]}
    >>> sweep = Sweep.of(base.replace({"sweep": {"seeds": 3, "over": {"window": window}}}))
    >>> len(sweep), sweep.names, sweep.seeds
    (6, ['window'], 3)
    >>> sweep.scenario(0).seed == sweep.scenario(3).seed
    True
    """

    def __init__(
        self,
        core: _core.Sweep,
        scenario: Scenario | None,
        title: str,
        remake: tuple[Callable[..., Sweep], Any],
    ) -> None:
        self._core = core
        #: A function that makes the sweep again in another process, and its arguments.
        self._remake = remake
        #: The scenario as TOML, or an empty text if `Sweep.listed` made the sweep.
        self.scenario_text = "" if scenario is None else scenario._core.text
        #: The name and the text of each file with an algorithm that the scenario uses.
        self.code = [] if scenario is None else scenario.code
        #: One line that says what the sweep shows.
        self.title = title

    def __reduce__(self) -> tuple[Callable[..., Sweep], Any]:
        return self._remake

    def __len__(self) -> int:
        return len(self._core)

    def __repr__(self) -> str:
        return f"<Sweep of {len(self)} cases over {', '.join(self.names) or 'seeds'}>"

    def _repr_html_(self) -> str:
        return html_lines(self.title or "a sweep", [self._summary()]) + html_axes(self.labels)

    def _summary(self) -> str:
        pairing = "paired" if self.paired else "not paired"
        drawing = f"; each run draws {', '.join(self.drawn)}" if self.drawn else ""
        runs = f"{self.seeds} runs of each combination"
        return f"{len(self):,} cases: {runs}, {pairing}{drawing}"

    @classmethod
    def of(cls, scenario: Scenario) -> Sweep:
        """Return the sweep that a scenario's `[sweep]` describes.

        Raises
        ------
        ValueError
            If the scenario has no `[sweep]`.
        """
        core = _core.Sweep.of(scenario._core)
        if core is None:
            raise ValueError(
                f"{scenario.name} has no [sweep]: add one with `--set sweep.seeds=10`, or in a "
                "file of your own with `[sweep.over.NAME]`, a `path` and `values`"
            )
        remake = (_of_source, (scenario.name, *scenario._core.source()))
        return cls(core, scenario, scenario.title, remake)

    @classmethod
    def listed(
        cls,
        cases: Iterable[tuple[Mapping[str, Label], Scenario]],
        *,
        seeds: int = 1,
        paired: bool = True,
        events: int | None = None,
        time: float | None = None,
        title: str = "",
    ) -> Sweep:
        """Return a sweep over scenarios that a Python program made.

        Such a sweep is for scenarios that no `[sweep]` table can describe. Scenarios with the same
        labels are repeats of each other, each with its own seed. So thousands of random paths may
        all have the same labels, or no labels.

        Parameters
        ----------
        cases
            For each case, its labels by name, and a scenario made by `Scenario.replace`. The
            labels of all cases have the same names.
        seeds
            The number of runs of each scenario.
        paired
            If it is true, and all scenarios have the same `seed`, the n-th runs of all sets of
            labels have the same seed.
        events
            The maximum number of wake-ups of a case (events of the simulation).
        time
            The maximum wall-clock time of a case, in seconds. A case is stopped when it reaches
            `events` or `time`.
        title
            One line that says what the sweep shows.

        Raises
        ------
        ValueError
            If there are no cases, if `seeds` is below 1, if the names of labels differ, or if a
            name is a column that every sweep has.

        Examples
        --------
        >>> import netspurt as ns
        >>> base = ns.new_scenario().replace({"stop": "20 s"})
        >>> path = "flows.transfer.tcp.initial_window"
        >>> sweep = Sweep.listed(
        ...     ({"window": n}, base.replace({path: f"{n} segments"})) for n in (1, 2, 4)
        ... )
        >>> len(sweep)
        3
        """
        rows = [(dict(labels), scenario) for labels, scenario in cases]
        names = _names_of(rows, seeds)
        core = _core.Sweep.listed(
            names,
            [(list(labels.values()), scenario._core) for labels, scenario in rows],
            seeds=seeds,
            paired=paired,
            events=events,
            time_ns=None if time is None else round(time * 1e9),
        )
        texts = [
            (labels, scenario._core.text, scenario.name, scenario.code) for labels, scenario in rows
        ]
        options = {"seeds": seeds, "paired": paired, "events": events, "time": time}
        remake = (_of_list, (texts, {**options, "title": title}))
        return cls(core, None, title, remake)

    @property
    def names(self) -> list[str]:
        """The names of the axes."""
        return self._core.names

    @property
    def drawn(self) -> list[str]:
        """The names of the axes whose values are drawn at random for every run."""
        return self._core.drawn

    @property
    def is_live(self) -> bool:
        """True if an end of a flow in a case runs the kernel's TCP.

        Such a sweep needs the engine `Live`, which runs cases in real time.
        """
        return self._core.is_live

    def check_simulated(self) -> None:
        """Check that no end of a flow in any case runs the kernel's TCP.

        Raises
        ------
        ScenarioError
            If an end of a flow in a case runs the kernel's TCP.
        """
        self._core.check_simulated()

    @property
    def labels(self) -> dict[str, list[Label]]:
        """The labels of each axis, in order; the keys are the names of the axes."""
        return dict(zip(self.names, self._core.labels(), strict=True))

    @property
    def seeds(self) -> int:
        """The number of runs of each combination."""
        return self._core.seeds

    @property
    def budget(self) -> tuple[int | None, int | None]:
        """The limits of a case: wake-ups, and real time in nanoseconds; `None` for no limit."""
        return self._core.budget

    @property
    def paired(self) -> bool:
        """True if the n-th runs of all combinations have the same seed."""
        return self._core.paired

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the sweep.

        Sweeps with equal fingerprints have the same cases and limits.
        """
        return self._core.fingerprint()

    def scenario(self, case: int) -> Scenario:
        """Return a case as a separate scenario.

        Raises
        ------
        IndexError
            If there is no such case.
        ScenarioError
            If the values of the case contradict each other.
        """
        return Scenario(self._core.scenario(case))

    def run_chunk(self, first: int, count: int) -> _core.Outcome:
        """Run consecutive cases on this thread."""
        return self._core.run_chunk(first, count)


def html_axes(labels: Mapping[str, list[Label]]) -> str:
    """Return the axes of a sweep with their labels. Of a long axis, only some labels are shown."""
    rows = []
    for name, axis_labels in labels.items():
        texts = [str(label) for label in axis_labels]
        shown = (
            texts
            if len(texts) <= _LABELS_SHOWN_MAX
            else [*texts[: _LABELS_SHOWN_MAX - 2], "...", texts[-1]]
        )
        rows.append([name, str(len(axis_labels)), ", ".join(shown)])
    return html_table(["axis", "number of labels", "labels"], rows, [1]) if rows else ""


#: The maximum number of labels of an axis that are shown.
_LABELS_SHOWN_MAX = 12


#: Pairs of texts: paths and values, or names and contents of files.
_Pairs = list[tuple[str, str]]


def _of_source(name: str, text: str, values: _Pairs, files: _Pairs) -> Sweep:
    """Return a scenario's sweep with changed values; `files` has the files that it uses."""
    core = _core.Scenario(name, text, files)
    return Sweep.of(Scenario(core.with_values(values, []) if values else core))


def _names_of(rows: Sequence[tuple[dict[str, Label], Scenario]], seeds: int) -> list[str]:
    """Check the labels of a sweep's cases, and return their names."""
    if not rows or seeds < 1:
        raise ValueError(
            "the sweep has no cases: give at least one scenario, and `seeds` of at least 1"
        )
    names = list(rows[0][0])
    if reserved := [name for name in names if name in RESERVED]:
        in_all = reserved[0] in _core.SWEEP_COLUMNS
        whose = "every sweep has" if in_all else "tables of results may have"
        raise ValueError(f"{whose} a column {reserved[0]!r}: choose another name")
    for labels, _ in rows:
        if list(labels) != names:
            raise ValueError(
                f"one case has labels {names}, and another has {list(labels)}: give all cases "
                "the same names in the same order"
            )
    return names


def _of_list(
    rows: list[tuple[dict[str, Label], str, str, _Pairs]], options: dict[str, Any]
) -> Sweep:
    cases = (
        (labels, Scenario(_core.Scenario(name, text, code))) for labels, text, name, code in rows
    )
    return Sweep.listed(cases, **options)
