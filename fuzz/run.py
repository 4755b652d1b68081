"""Run the fuzz targets, one after the other, and print how often each target was executed.

Run `python fuzz/run.py [--seconds N] [TARGET...]`. The targets in Rust need a nightly
toolchain and cargo-fuzz. The target `stored`, which is written in Python, needs atheris and
netspurt. If a target stops early, the exit status is 1. If an input stopped the target, this
input is in `fuzz/artifacts/`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

FUZZ = Path(__file__).resolve().parent
ROOT = FUZZ.parent
STORED = "stored"

#: The maximum time [s] and memory [MiB] for an input, and the maximum length of an input [octets].
LIMITS = ["-timeout=10", "-rss_limit_mb=1024", "-malloc_limit_mb=1024", "-max_len=8192"]


def seeds(target: str) -> Iterator[bytes]:
    """Yield the first inputs of a target: files of the repository, or texts that are given here."""

    def files(pattern: str) -> Iterator[bytes]:
        return (path.read_bytes() for path in sorted(ROOT.glob(pattern)) if path.is_file())

    match target:
        case "scenario":
            yield from files("scenarios/**/*.toml")
        case "script":
            yield from files("crates/netspurt/scripts/**/*.pkt")
        case "delays":
            # The first octet, 0xff, names no format, so the reader has to detect the format.
            yield from (b"\xff" + octets for octets in files("data/*.*"))
        case "capture_reader":
            for octets in [*files("data/captures/**/*.pcap*"), *files("data/*.pcap")]:
                yield b"\0" + octets
                yield b"\1" + octets
        case "unpack":
            yield from files("data/captures/**/*.gz")
        case "distribution":
            for text in [
                "5 kB",
                "lognormal:mean=72kB,sigma=1",
                "pareto:mean=9kB,shape=1.2",
                "every:5ms",
            ]:
                yield text.encode()


def targets() -> list[str]:
    """Return the names of all targets."""
    return [*sorted(path.stem for path in (FUZZ / "fuzz_targets").glob("*.rs")), STORED]


def run(target: str, seconds: int) -> tuple[int, bool]:
    """Run a target. Return how often it was executed, and whether it found no failure."""
    corpus = FUZZ / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    for number, octets in enumerate(seeds(target)):
        (corpus / f"seed-{number}").write_bytes(octets[:8192])
    artifacts = FUZZ / "artifacts" / target
    artifacts.mkdir(parents=True, exist_ok=True)
    flags = [f"-max_total_time={seconds}", "-print_final_stats=1", *LIMITS]
    if target == STORED:
        command = [sys.executable, str(FUZZ / "stored.py"), str(corpus)]
        flags.append(f"-artifact_prefix={artifacts}/")
    else:
        command = ["cargo", "+nightly", "fuzz", "run", target, str(corpus), "--"]
    result = subprocess.run([*command, *flags], cwd=ROOT, stderr=subprocess.PIPE, check=False)
    messages = result.stderr.decode(errors="replace")
    count = re.search(r"stat::number_of_executed_units:\s*(\d+)", messages)
    if result.returncode:
        print(messages[-4000:], file=sys.stderr)
    return int(count[1]) if count else 0, result.returncode == 0


def main() -> None:
    """Run the targets that the command line names."""
    parser = argparse.ArgumentParser(description="Run the fuzz targets.")
    parser.add_argument("--seconds", type=int, default=60, help="time for each target [s]")
    parser.add_argument("target", nargs="*", help=f"one of {', '.join(targets())}; default: all")
    options = parser.parse_args()
    unknown = sorted(set(options.target) - set(targets()))
    if unknown:
        parser.error(f"there is no target `{unknown[0]}`: name one of {', '.join(targets())}")
    failed = []
    print(f"{'target':<16}{'executions':>14}")
    for target in options.target or targets():
        count, passed = run(target, options.seconds)
        failed += [] if passed else [target]
        print(f"{target:<16}{count:>14,}{'' if passed else '  stopped early'}", flush=True)
    if failed:
        names = ", ".join(failed)
        sys.exit(f"stopped early: {names}; inputs that stop a target are in {FUZZ / 'artifacts'}")


if __name__ == "__main__":
    main()
