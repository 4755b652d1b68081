"""Lists the commands with their options, read from the application that the command line runs."""

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
    """Yield each command and each group of commands, with the words that call it."""
    import typer

    from netspurt.cli.main import application

    yield from _below(("netspurt",), typer.main.get_command(application()))


def _below(path: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name in getattr(command, "commands", {}):
        subcommand = command.commands[name]
        if not subcommand.hidden:
            yield (*path, name), subcommand
            yield from _below((*path, name), subcommand)


def parameters(path: tuple[str, ...], command: Any) -> Iterator[tuple[str, str]]:
    """Yield the names of each argument and option, and its meaning, from the help."""
    context = _context(path, command)
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None and parameter.name != "help":
            # The names of Python's types mean nothing to readers.
            words = re.sub(r" <([^<>]*[|][^<>]*)>$", r" \1", record[0])
            yield re.sub(r" <[^<>]*>$", "", words), record[1]


def _context(path: tuple[str, ...], command: Any) -> Any:
    return command.make_context(" ".join(path), [], resilient_parsing=True)


def _section(path: tuple[str, ...], command: Any) -> str:
    words = " ".join(path)
    title = heading(min(len(path) + 1, 5), code(words), "command-" + "-".join(path[1:]))
    pieces = command.collect_usage_pieces(_context(path, command))
    usage = f"```text\n{' '.join([words, *pieces])}\n```\n"
    rows = [(code(names), _plain(meaning)) for names, meaning in parameters(path, command)]
    return "\n".join([title, usage, _prose(command), table(["", "meaning"], rows)])


def _prose(command: Any) -> str:
    """Return the paragraphs of a help text and of its epilog."""
    parts = [command.help or "", getattr(command, "epilog", None) or ""]
    return "\n\n".join(_plain(part.replace("\b", "")) for part in parts if part) + "\n"


def _plain(text: str) -> str:
    """Return a text with Markdown's signs escaped, except in code."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [re.sub(r"([<*_\[\]])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)
