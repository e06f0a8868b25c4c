"""Parsers of the commands, whose flags of truth may stand alone, as `--clear_devices` does."""

import argparse
from collections.abc import Mapping


class Parser(argparse.ArgumentParser):
    """A parser that knows flags of truth."""

    def add_switch(self, flag: str, default: bool) -> None:
        """Add a flag that is set without a value, with `true` or with `True`."""
        self.add_argument(
            f"--{flag}",
            nargs="?",
            const=True,
            default=default,
            type=lambda text: text.lower() == "true",
            metavar="true|false",
            help=f"default: {str(default).lower()}",
        )


def parser(name: str, texts: Mapping[str, str], switches: Mapping[str, bool]) -> Parser:
    """Return the parser of a command with flags of text and flags of truth, and their defaults."""
    made = Parser(prog=f"python -m capstan.python.tools.{name}")
    for flag, default in texts.items():
        made.add_argument(f"--{flag}", default=default, help=f"default: {default!r}")
    for flag, is_set in switches.items():
        made.add_switch(flag, is_set)
    return made
