"""Prints the requirements of the package and of the named extras, for pip."""

import sys
import tomllib
from pathlib import Path

if __name__ == "__main__":
    project = Path(__file__).parents[2] / "pyproject.toml"
    metadata = tomllib.loads(project.read_text())["project"]
    extras = metadata["optional-dependencies"]
    print(
        *metadata["dependencies"],
        *(line for extra in sys.argv[1:] for line in extras[extra]),
        sep="\n",
    )
