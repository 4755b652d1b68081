"""Provides fixtures and helpers that many test files use."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import netspurt as ns

# The processes that run tests already use all cores. Threads of numpy would only slow them down.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

ROOT = Path(__file__).parents[2]

#: The program `netspurt` beside the Python interpreter that runs the tests.
NETSPURT = Path(sys.executable).with_name("netspurt")

# If a script starts make in the background, make and all its children ignore SIGINT. Tests send
# SIGINT to the programs that they start, so this file sets the default handler again.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: A function that runs a command line and returns its result.
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start the browser Chromium without a window."""
    webdriver: Any = pytest.importorskip(
        "selenium.webdriver", reason="selenium is not installed: no page is opened"
    )
    from selenium.webdriver.chrome.service import Service

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium or chromedriver is not installed: no page is opened")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    words = ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage")
    for word in (*words, "window-size=1280,1000"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    yield started
    started.quit()


@pytest.fixture
def process(tmp_path: Path) -> Command:
    """Run `netspurt` in a separate process, in an empty folder.

    A test uses a separate process if it tests signals, limits, the output of other programs, or
    the order of standard output and standard error.
    """

    def run(*words: object, columns: int = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [NETSPURT, *map(str, words)],
            cwd=tmp_path,
            timeout=120,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1"},
        )

    return run


@pytest.fixture
def netspurt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Run `netspurt` inside the process of the test, in an empty folder.

    This takes 1 % of the time that a call of the fixture `process` takes.
    """
    from netspurt.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*words: object, columns: int = 120) -> subprocess.CompletedProcess[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, "argv", ["netspurt", *map(str, words)])
        handlers = [(number, signal.getsignal(number)) for number in _HANDLED]
        capsys.readouterr()
        try:
            main()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        finally:
            for number, handler in handlers:
                signal.signal(number, handler)
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(list(map(str, words)), status, out, err)

    return run


@pytest.fixture
def no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each live run that checks a paper fail, as on a machine without network namespaces.

    A live run sends packets through the kernel of this machine.
    """

    def refuse(*_: object, **__: object) -> None:
        raise ns.LiveError("no live run: no namespaces")

    monkeypatch.setattr("netspurt.papers.bench.run_live", refuse)


#: The signals for which the command `netspurt` sets its own handlers.
_HANDLED = (signal.SIGINT, signal.SIGPIPE, signal.SIGTERM)


def refused(result: subprocess.CompletedProcess[str], *says: str) -> None:
    """Check that a command printed one error and no output, and ended with status 2.

    The error must contain each of the texts `says`.
    """
    assert result.returncode == 2, result
    assert result.stdout == "", result.stdout
    assert result.stderr.lower().count("error:") == 1, result.stderr
    for words in says:
        assert words in result.stderr, result.stderr


def rewrite_sweep(folder: Path, **changes: Any) -> None:
    """Change keys of a sweep's manifest `sweep.json`, and store the new checksum in it."""
    file = folder / "sweep.json"
    data = json.loads(file.read_text()) | changes | {"sha256": ""}
    text = json.dumps(data, indent=2) + "\n"
    data["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    file.write_text(json.dumps(data, indent=2) + "\n")


@pytest.fixture(scope="session")
def start() -> ns.Scenario:
    """Return the scenario of the experiment in RFC 2416."""
    return ns.load(ROOT / "papers" / "rfc2416" / "start.toml")


@pytest.fixture(scope="session")
def start_run(start: ns.Scenario) -> ns.Run:
    """Return a run of the scenario `start`."""
    return start.run()


@pytest.fixture(scope="session")
def saved_run(start_run: ns.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the run `start_run`. A test copies the folder before it writes to it."""
    return start_run.save(tmp_path_factory.mktemp("saved") / "start")


def need(program: str) -> str:
    """Return the path of a program, or skip the test and say why."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed: nothing is compared against it")
    return path


def example(name: str) -> str:
    """Return the path of an example program in Rust, built with Cargo's profile `dev`.

    The tests in Rust build the same program with the same options, so it is not built twice.
    """
    build = [need("cargo"), "build", "--quiet", "--workspace", "--example", name]
    subprocess.run(build, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return str(target / "debug" / "examples" / name)
