"""Checks the source distribution: its files, and the targets of the links in its README."""

from __future__ import annotations

import fnmatch
import re
import subprocess
import tomllib
from pathlib import PurePath

import pytest

from conftest import ROOT

#: The contents of `pyproject.toml`.
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

#: Files that only the repository needs.
LEFT_OUT = {".ci", ".gitignore", ".github"}


def test_every_tracked_file_is_in_the_source_distribution() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this folder is not a Git repository")
    result = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    patterns = [pattern["path"] for pattern in PROJECT["tool"]["maturin"]["include"]]
    # maturin itself adds the package, the licences, the lock file, and the crates of the extension.
    # `papers` and `scenarios` are links to folders of the package.
    patterns += [f"crates/{name}/*" for name in ("netspurt", "netspurt-live", "netspurt-py")]
    patterns += ["python/netspurt/*", "LICENSE-*", "Cargo.lock", "papers", "scenarios"]
    for name in result.stdout.splitlines():
        if PurePath(name).parts[0] not in LEFT_OUT:
            held = [p for p in patterns if fnmatch.fnmatch(name, p.replace("**/*", "*"))]
            assert held, f"{name} is not in the source distribution"


def test_each_link_of_the_readme_leads_to_https_or_a_file() -> None:
    links = re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text())
    assert len(links) > 10
    for link in links:
        assert link.startswith("https://") or (ROOT / link).is_file(), link


def test_the_metadata_has_links() -> None:
    urls = PROJECT["project"]["urls"]
    assert urls
    assert all(url.startswith("https://") for url in urls.values())
