"""Groups of commands that run a default command if the first word is not a command."""

from __future__ import annotations

from typing import Any

from netspurt.cli.words import CommandGroup


def defaulting_to(default: str) -> type[CommandGroup]:
    """Return a class of groups that run `default` if the first word is not a command."""

    class Defaulting(CommandGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            words = {*self.commands, "-h", "--help"}
            if args[0] not in words if args else not self.no_args_is_help:
                args = [default, *args]
            return super().parse_args(ctx, args)

        def format_options(self, ctx: Any, formatter: Any) -> None:
            """Write the options of the group and the options of the default command."""
            super().format_options(ctx, formatter)
            self.commands[default].format_options(ctx, formatter)

    return Defaulting
