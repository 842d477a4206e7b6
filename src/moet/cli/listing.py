"""How a command lists its subcommands: by what they are for, each with its whole first sentence."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

LONGEST = 200
"""Letters of a first sentence that is told to its end; click would cut it after 45."""


class Listing(TyperGroup):
    """Commands by panel."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands by what they are for."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            panel = getattr(command, "rich_help_panel", None)
            panels.setdefault(panel if isinstance(panel, str) else "Commands", []).append(
                (name, command.get_short_help_str(LONGEST))
            )
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)
