"""Draws the pictures of the site: one for each `<!-- picture: COMMAND && COMMAND | CAPTION -->`.

The commands write `picture.png`, which replaces this mark. The repository contains no pictures.
Man pages do not show pictures.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

_MARK = re.compile(r"^<!-- picture: (.+?) \| (.+) -->$", re.MULTILINE)

#: The folder of pictures in the site.
_FOLDER = "_pictures"
#: The file that the commands write.
_WRITTEN = "picture.png"


def commands(page: str) -> list[list[list[str]]]:
    """Return, for each picture of a page, its commands; each command is a list of words."""
    return [
        [shlex.split(command) for command in mark[1].split(" && ")] for mark in _MARK.finditer(page)
    ]


def draw(words: list[list[str]], file: Path) -> None:
    """Run the commands of a picture in an empty folder, and copy their picture to `file`.

    Raises
    ------
    RuntimeError
        If a command fails, or if no command writes the picture.
    """
    with tempfile.TemporaryDirectory() as folder:
        for program, *rest in words:
            result = subprocess.run(
                [sys.executable, "-m", program, *rest],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            if result.returncode != 0:
                raise RuntimeError(f"{shlex.join([program, *rest])}: {result.stderr}")
        picture = Path(folder) / _WRITTEN
        if not picture.is_file():
            raise RuntimeError(f"{shlex.join(words[-1])} wrote no {_WRITTEN}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(picture.read_bytes())


def drawn(app: Any, name: str, source: list[str]) -> None:
    """Draw the pictures of a page into the site, and replace their marks by the pictures."""
    page = source[0]
    if app.builder.format != "html":
        source[0] = _MARK.sub("", page)
        return
    for n, (mark, words) in enumerate(zip(_MARK.finditer(page), commands(page), strict=True), 1):
        file = f"{name.replace('/', '-')}-{n}.png"
        draw(words, Path(app.outdir) / _FOLDER / file)
        place, caption = f"{'../' * name.count('/')}{_FOLDER}/{file}", escape(mark[2])
        image = f'<img src="{place}" alt="{caption}">'
        figure = f"<figure>{image}<figcaption>{caption}</figcaption></figure>"
        source[0] = source[0].replace(mark[0], figure)
