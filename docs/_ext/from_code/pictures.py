"""Pictures of the site: `<!-- picture: COMMAND && COMMAND | CAPTION -->` becomes one at build.

The commands are those of the page; the last one writes `picture.png`. No picture is kept in the
repository, and man pages have none.
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

#: The folder of pictures in the site, and the file that the commands write.
_FOLDER = "_pictures"
_WRITTEN = "picture.png"


def commands(page: str) -> list[list[list[str]]]:
    """Return the words of the commands of each picture of a page."""
    return [[shlex.split(one) for one in mark[1].split(" && ")] for mark in _MARK.finditer(page)]


def draw(words: list[list[str]], file: Path) -> None:
    """Run the commands of a picture in an empty folder, and keep what they draw as `file`.

    Raises
    ------
    RuntimeError
        If a command fails, or none writes the picture.
    """
    with tempfile.TemporaryDirectory() as folder:
        for program, *rest in words:
            ran = subprocess.run(
                [sys.executable, "-m", program, *rest],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            if ran.returncode != 0:
                raise RuntimeError(f"{shlex.join([program, *rest])}: {ran.stderr}")
        made = Path(folder) / _WRITTEN
        if not made.is_file():
            raise RuntimeError(f"{shlex.join(words[-1])} wrote no {_WRITTEN}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(made.read_bytes())


def drawn(app: Any, name: str, source: list[str]) -> None:
    """Draw the pictures of a page into the site, and show them where their marks are."""
    page = source[0]
    if app.builder.format != "html":
        source[0] = _MARK.sub("", page)
        return
    for n, (mark, words) in enumerate(zip(_MARK.finditer(page), commands(page), strict=True), 1):
        file = f"{name.replace('/', '-')}-{n}.png"
        draw(words, Path(app.outdir) / _FOLDER / file)
        place, told = f"{'../' * name.count('/')}{_FOLDER}/{file}", escape(mark[2])
        shown = f'<figure><img src="{place}" alt="{told}"><figcaption>{told}</figcaption></figure>'
        source[0] = source[0].replace(mark[0], shown)
