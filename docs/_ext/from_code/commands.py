"""The commands, from the application that the command line runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from from_code.markdown import code, heading, table


def commands() -> str:
    """Return a section for each command, with its arguments and options."""
    panels: dict[str, list[str]] = {}
    for path, command in all_commands():
        if len(path) == 2:
            panel = panels.setdefault(command.rich_help_panel, [])
        panel.append(_section(path, command))
    return "\n".join(f"## {name}\n\n" + "\n".join(parts) for name, parts in panels.items())


def all_commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each command and each group, with the words that call it."""
    import typer

    from netspurt.cli.main import application

    yield from _below(("netspurt",), typer.main.get_command(application()))


def _below(path: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name in getattr(command, "commands", {}):
        one = command.commands[name]
        if not one.hidden:
            yield (*path, name), one
            yield from _below((*path, name), one)


def parameters(path: tuple[str, ...], command: Any) -> Iterator[tuple[str, str]]:
    """Yield the words of each argument and option, and what they mean, as the help has them."""
    context = _context(path, command)
    for one in command.params:
        record = one.get_help_record(context)
        if record is not None and one.name != "help":
            # A type that Python has for a value is no word for readers.
            words = re.sub(r" <([^<>]*[|][^<>]*)>$", r" \1", record[0])
            yield re.sub(r" <[^<>]*>$", "", words), record[1]


def _context(path: tuple[str, ...], command: Any) -> Any:
    return command.make_context(" ".join(path), [], resilient_parsing=True)


def _section(path: tuple[str, ...], command: Any) -> str:
    words = " ".join(path)
    title = heading(min(len(path) + 1, 5), code(words), "command-" + "-".join(path[1:]))
    pieces = command.collect_usage_pieces(_context(path, command))
    usage = f"```text\n{' '.join([words, *pieces])}\n```\n"
    rows = [(code(names), _plain(told)) for names, told in parameters(path, command)]
    return "\n".join([title, usage, _prose(command), table(["", "meaning"], rows)])


def _prose(command: Any) -> str:
    """Return a help's paragraphs; what stands at its end belongs to it."""
    parts = [command.help or "", getattr(command, "epilog", None) or ""]
    return "\n\n".join(_plain(part.replace("\b", "")) for part in parts if part) + "\n"


def _plain(text: str) -> str:
    """Return a text whose signs have no meaning in Markdown, apart from code."""
    parts = re.split(r"(`[^`]*`)", text)
    plain = [re.sub(r"([<*_\[\]])", r"\\\1", part) for part in parts[::2]]
    return "".join(one for pair in zip(plain, [*parts[1::2], ""], strict=True) for one in pair)
