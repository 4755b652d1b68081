"""What tests share."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import netspurt as ns

ROOT = Path(__file__).parents[2]

#: The command, as the environment that runs the tests has it.
NETSPURT = Path(sys.executable).with_name("netspurt")

# A script that starts make in the background has it ignore interrupts, and so whatever is started
# from there: tests interrupt what they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def netspurt(tmp_path: Path) -> Command:
    """Run the command in an empty folder."""

    def run(
        *words: object, columns: int = 120, **options: object
    ) -> subprocess.CompletedProcess[str]:
        settings: dict[str, object] = {"cwd": tmp_path, "timeout": 120, **options}
        environment = {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1"}
        return subprocess.run(  # type: ignore[call-overload, no-any-return]
            [NETSPURT, *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            **settings,
        )

    return run


@pytest.fixture(scope="session")
def start() -> ns.Scenario:
    """RFC 2416's experiment, as its paper has it."""
    return ns.load(ROOT / "papers" / "rfc2416" / "start.toml")


@pytest.fixture(scope="session")
def start_run(start: ns.Scenario) -> ns.Run:
    """Its run."""
    return start.run()


def need(program: str) -> str:
    """Return the path of a program, or skip the test and say why."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed: nothing is compared against it")
    return path
