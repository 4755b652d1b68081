#!/usr/bin/env python3
"""Runs ns-2.35 (Debian's package `ns2`) on 97 cases and rewrites events.csv.gz in half a minute."""

import sys

import suites


def main() -> None:
    """Write the file."""
    if not suites.available():
        sys.exit("remake_suites.py: ns-2 is not installed (Debian: apt install ns2)")
    suites.write({case.title: suites.run(case) for case in suites.read_cases()})


if __name__ == "__main__":
    main()
