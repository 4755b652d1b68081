"""Finds the command that takes a file or folder, if the user gave another command or none."""

from __future__ import annotations

from pathlib import Path

from netspurt.cli.output import named


def command_for(path: Path) -> str:
    """Return in words what a file or folder is, and the command that takes it.

    The text is empty if no command is known, or if the file cannot be read.
    """
    name = named(str(path))
    if (path / "sweep.json").is_file():
        return f"{name} is the folder of a sweep: `netspurt sweep show {name}` prints its results"
    if (path / "run.json").is_file():
        told = f"`netspurt report {name}` writes a page about it"
        return f"{name} is the folder of a run: {told}; its scenario is {named(str(path))}/{_TOML}"
    if not path.is_file():
        return ""
    try:
        return _of_file(path, name)
    except OSError:
        return ""


_TOML = "scenario.toml"


def _of_file(path: Path, name: str) -> str:
    from netspurt.captures import is_capture
    from netspurt.cli.opening import is_recording
    from netspurt.timelines.followed import is_followed, use_of_followed

    if is_capture(path):
        return f"{name} is a capture: `netspurt explain {name}` explains it"
    if path.suffix == ".toml" and is_followed(path):
        return use_of_followed(name)
    if path.suffix == ".toml":
        return f"{name} may be a scenario: `netspurt run {name}` runs it"
    if path.suffix == ".pkt":
        return f"{name} may be a script: `netspurt script {name}` plays it"
    if is_recording(path):
        return f"{name} is a recording of delays: `netspurt replay {name}` replays timers on it"
    return ""
