"""Tests the site of the documentation: it has no broken links, and Sphinx can build it.

The tests also check that the site explains all parts of the code.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from netspurt import _core

from conftest import NETSPURT, ROOT, Command
from lateness import real_time

sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from from_code import PARTS, filled
from from_code.columns import column_texts, columns, tables, unexplained, unused
from from_code.commands import all_commands, parameters
from from_code.mechanisms import profile_values, profiles, switches
from from_code.pictures import commands as drawn_by
from from_code.pictures import draw
from from_code.python_names import names, undocumented
from from_code.scenario_keys import schema, tables_of

#: Every page of the site, by its path.
PAGES = sorted(
    path
    for pattern in (
        "*.md",
        "authorities/**/*.md",
        "bench/*.md",
        "data/**/*.md",
        "docs/**/*.md",
        "papers/*/*.md",
    )
    for path in ROOT.glob(pattern)
    if "_build" not in path.parts
)

#: The pages in the folder `docs`.
OWN = [path for path in PAGES if path.is_relative_to(ROOT / "docs")]


@cache
def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of a page's headings, and the explicit anchors."""
    text = re.sub(r"^```.*?^```$", "", filled(page.read_text()), flags=re.DOTALL | re.MULTILINE)
    found_anchors = set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))
    for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        kept = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower())
        found_anchors.add(kept.strip().replace(" ", "-"))
    return found_anchors


def links(text: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the anchor of each link within the repository; each may be empty."""
    plain = re.sub(r"`[^`]*`", "", text)
    for target in re.findall(r"\]\(([^)\s]+)\)", plain):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            yield path, anchor


def broken(page: Path, text: str) -> list[str]:
    """Return a message for each link of a page to a target that does not exist."""
    messages = []
    for path, anchor in links(text):
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            messages.append(f"{page.relative_to(ROOT)}: no file {path}")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            messages.append(f"{page.relative_to(ROOT)}: no anchor {path}#{anchor}")
    return messages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    assert (
        broken(page, re.sub(r"^```.*?^```$", "", filled(page.read_text()), flags=re.S | re.M)) == []
    )


def test_a_broken_link_is_found() -> None:
    page = ROOT / "README.md"
    assert broken(page, "[x](docs/none.md)") == ["README.md: no file docs/none.md"]
    assert broken(page, "[x](docs/live.md#none)") == ["README.md: no anchor docs/live.md#none"]
    assert (
        broken(page, "[x](docs/live.md#populations) `[y](none.md)` [z](https://rfc.example)") == []
    )


def in_toctrees(page: Path) -> Iterator[Path]:
    """Yield the pages that a page's tables of contents name."""
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), re.S | re.M):
        for entry in block.splitlines():
            if entry and not entry.startswith(":"):
                named = re.fullmatch(r".+ <(.+)>", entry)
                yield from page.parent.glob(f"{named[1] if named else entry}.md")


def test_every_page_is_reached_from_the_front_page() -> None:
    reached, waiting = set[Path](), [ROOT / "docs" / "index.md"]
    while waiting:
        page = waiting.pop()
        if page.resolve() not in reached:
            reached.add(page.resolve())
            waiting += in_toctrees(page)
    assert {page.resolve() for page in PAGES} - reached == set()


#: Pages under *Guides* that are about files and interfaces, and not about results.
WITHOUT_VALIDATION = {"interchange.md", "report.md", "writing-an-estimator.md"}


def test_each_guide_states_its_validation_and_its_limits() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    guides = index.partition(":caption: Guides")[2].partition("```")[0]
    names = [f"{name}.md" for name in guides.split()]
    assert len(names) > 12
    for name in set(names) - WITHOUT_VALIDATION:
        titles = re.findall(r"^## (.+)$", (ROOT / "docs" / name).read_text(), re.MULTILINE)
        assert any("alidation" in title for title in titles), name
        assert any(re.search("[Ll]imits|ot supported", title) for title in titles), name


#: The languages of blocks of code, and for each language the test that runs or checks its blocks.
#: No test checks a block without a language.
CHECKED = {
    "": "no test: what a command printed once, files, formulas",
    "console": "test_docs.py runs each line",
    "python": "test_docs.py runs it",
    "toml": "test_site.py parses it; test_docs.py runs scenarios that have a name",
    "cddl": "test_qlog.py reads it",
    "csv": "test_docs.py writes it to a file, which the commands of its page use",
    "rust": "the core's tests compile docs/estimators.md",
    "pkt": "crates/netspurt-scenario/tests/scripts.rs plays it",
    "{toctree}": "Sphinx",
    "floors": "the tidy tests",
}


@pytest.mark.parametrize("page", OWN, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_language_is_listed_and_each_block_of_toml_is_valid(page: Path) -> None:
    fences = re.findall(r"^```(.*)$", page.read_text(), re.MULTILINE)
    assert len(fences) % 2 == 0
    assert {fence.split(" ")[0] for fence in fences[::2]} - set(CHECKED) == set()
    for block in re.findall(r"^```toml\n(.*?)^```", page.read_text(), re.S | re.M):
        tomllib.loads(block)


def test_the_pages_have_one_mark_for_each_part_that_is_made_from_the_code() -> None:
    marks = [
        mark for page in OWN for mark in re.findall(r"<!-- from the code: (.+) -->", prose(page))
    ]
    assert sorted(marks) == sorted(PARTS)


def test_every_key_and_every_switch_is_explained() -> None:
    whole = schema()
    unexplained_keys = [
        f"{path}.{key}"
        for path, part in tables_of(whole)
        for key, value in part["properties"].items()
        if not value.get("description")
    ]
    by_key = dict(switches(whole["$defs"]["TcpSpec"]))
    unexplained_keys += [key for key, switch in by_key.items() if not switch.get("description")]
    assert unexplained_keys == []
    with_values = {key for name in profiles(whole) for key in profile_values(name)}
    assert set(by_key) - with_values == set()


def test_every_column_has_a_meaning_and_every_meaning_belongs_to_a_column() -> None:
    assert unexplained() == []
    assert unused() == []
    assert len(columns().splitlines()) > 300


def test_every_table_of_a_run_is_documented(start_run: object) -> None:
    page = (ROOT / "docs" / "records.md").read_text()
    for name, table in start_run.tables.items():  # type: ignore[attr-defined]
        assert f"`{name}`" in page
        assert [column for column in table if column not in tables()[name]] == []


#: A transfer loses its last segment. A shim, a timer outside the host's TCP, retransmits it.
LOST_TAIL = """
stop = "3 s"
[links.wire]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "10 ms"
loss = [{ packets = [20] }, "none"]
[flows.one]
from = "a"
to = "b"
endpoint = "kernel"
profile = "reno-2005"
send = "20 segments"
shim = ["linux:rto_min=20ms", "off"]
"""


@real_time
def test_the_columns_of_live_tables_are_documented(netspurt: Command, tmp_path: Path) -> None:
    """The reference of columns takes the types of live tables from `docs/columns.toml`.

    Some machines that build the reference cannot make live runs.
    """
    import netspurt as ns

    capabilities = {name: (available, why) for name, available, why, _ in _core.capabilities()}
    available, why = capabilities["user and network namespaces"]
    if not available:
        pytest.skip(f"no live runs: {why}")
    (tmp_path / "tail.toml").write_text(LOST_TAIL)
    netspurt("live", "run", "tail.toml", "--budget", "1 s", "--out", "live")
    run = ns.open_run(tmp_path / "live")
    for name in ("arrivals", "deliveries", "shims"):
        dtypes = {column: str(run.tables[name][column].dtype) for column in run.tables[name]}
        types = {c: "text" if "U" in dtype[:2] else dtype for c, dtype in dtypes.items()}
        assert types == column_texts()[name]["live"]


def test_every_command_and_every_option_is_explained() -> None:
    unexplained_words = []
    for path, command in all_commands():
        if not (command.help or "").strip():
            unexplained_words.append(" ".join(path))
        unexplained_words += [
            f"{path} {words}" for words, meaning in parameters(path, command) if not meaning
        ]
    assert unexplained_words == []


def test_each_heading_occurs_once_in_the_list_of_commands() -> None:
    panels = re.findall(r"^## (.+)$", PARTS["commands"](), re.MULTILINE)
    assert panels[0] == "Simulate and look"
    assert len(panels) == len(set(panels)) > 4


def test_every_measure_of_claims_is_explained() -> None:
    from netspurt.papers.registry import MEASURES

    assert len(MEASURES) > 60
    undocumented_measures = [
        name for name, measure in MEASURES.items() if not (measure.__doc__ or "").strip()
    ]
    assert undocumented_measures == []


def test_every_timer_has_a_row_on_the_page_of_estimators() -> None:
    page = (ROOT / "docs" / "estimators.md").read_text()
    assert [name for name in _core.ALGORITHMS if f"| `{name}` |" not in page] == []


def test_every_public_name_of_the_package_is_explained() -> None:
    assert undocumented() == []
    assert len(list(names())) > 80


def test_an_inherited_or_generated_docstring_does_not_document_a_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import netspurt as ns
    from netspurt.run import Run, RunError
    from netspurt.sweep import Chunk

    docstring = Chunk.__doc__
    assert docstring
    monkeypatch.setattr(RunError, "__doc__", None)
    monkeypatch.setattr(Run.timelines, "__doc__", None)
    # If a data class has no docstring, Python uses the signature of the class as its docstring.
    monkeypatch.setattr(Chunk, "__doc__", "Chunk(first: int, count: int)")
    assert ns.RunError is RunError
    expected = {"netspurt.RunError", "netspurt.Run.timelines", "netspurt.sweep.Chunk"}
    assert set(undocumented()) == expected
    monkeypatch.setattr(Chunk, "__doc__", docstring.replace("count", "number"))
    assert "netspurt.sweep.Chunk.count" in undocumented()


def test_a_picture_that_the_commands_of_a_page_do_not_draw_is_an_error(tmp_path: Path) -> None:
    page = "<!-- picture: netspurt new x.toml && netspurt new x.toml | Never drawn -->"
    ((first, second),) = drawn_by(page)
    with pytest.raises(RuntimeError, match="exists already"):
        draw([first, second], tmp_path / "a.png")
    with pytest.raises(RuntimeError, match=r"wrote no picture\.png"):
        draw([first], tmp_path / "a.png")


def test_the_site_and_the_man_pages_are_built_without_a_warning(tmp_path: Path) -> None:
    if importlib.util.find_spec("sphinx") is None:
        pytest.skip("Sphinx is not installed: `make docs` installs it and builds the site")
    for builder in ("html", "man"):
        words = ["--quiet", "--nitpicky", "--fail-on-warning", "--keep-going", "--builder", builder]
        result = subprocess.run(
            [
                NETSPURT.with_name("python"),
                "-m",
                "sphinx",
                *words,
                "--conf-dir",
                "docs",
                ".",
                tmp_path,
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
    marks = sum(len(drawn_by(page.read_text())) for page in (ROOT / "docs").rglob("*.md"))
    shown = [file.read_bytes()[:4] for file in (tmp_path / "_pictures").iterdir()]
    assert shown == [b"\x89PNG"] * marks
    assert marks >= 3
    pages = {page.name: page.read_text() for page in tmp_path.glob("netspurt*.[157]")}
    assert len(pages) == 5
    # Man pages must have no tables, because a terminal of 80 columns is too narrow for a table.
    assert [name for name, text in pages.items() if ".TS" in text.splitlines()] == []
    # Links do not work in man pages, so the man page names the file of the linked page.
    assert "(docs/command.md)" in pages["netspurt.1"].replace("\\", "")
