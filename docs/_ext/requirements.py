"""Prints what building the site needs, for pip: the extra `docs` of pyproject.toml."""

import tomllib
from pathlib import Path

if __name__ == "__main__":
    project = Path(__file__).parents[2] / "pyproject.toml"
    extras = tomllib.loads(project.read_text())["project"]["optional-dependencies"]
    print(*extras["docs"], sep="\n")
