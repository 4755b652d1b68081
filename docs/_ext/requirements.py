"""Prints what the extras named need beside the package's own requirements, for pip."""

import sys
import tomllib
from pathlib import Path

if __name__ == "__main__":
    project = Path(__file__).parents[2] / "pyproject.toml"
    needs = tomllib.loads(project.read_text())["project"]
    extras = needs["optional-dependencies"]
    print(
        *needs["dependencies"],
        *(line for extra in sys.argv[1:] for line in extras[extra]),
        sep="\n",
    )
