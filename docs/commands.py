"""The commands of `capstanctl` as Markdown, from its parser."""

import argparse
import importlib
from collections.abc import Iterator


def reference(_: str) -> str:
    """Return a section for each command: usage, description, arguments, exit status."""
    parser = importlib.import_module("capstan_operator.cli.parser").parser("capstanctl")
    chosen = next(action for action in parser._actions if isinstance(action.choices, dict))
    sections = (_section(name, command) for name, command in sorted(chosen.choices.items()))
    return "\n".join(line for section in sections for line in section)


def _section(name: str, command: argparse.ArgumentParser) -> Iterator[str]:
    yield f"## {name}"
    yield ""
    yield f"    {_usage(command)}"
    yield ""
    yield _escaped(command.description or "")
    yield ""
    yield "| argument | effect |"
    yield "|---|---|"
    for action in command._actions:
        if not isinstance(action, argparse._HelpAction):
            yield f"| {_names(action)} | {_effect(action)} |"
    yield ""
    if command.epilog:
        yield _escaped(command.epilog)
        yield ""


def _usage(command: argparse.ArgumentParser) -> str:
    words = (_word(action) for action in command._actions if not action.option_strings)
    return " ".join([command.prog, "[FLAG ...]", *words])


def _word(action: argparse.Action) -> str:
    word = action.metavar or "{" + ",".join(action.choices or ()) + "}"
    if action.nargs == "*":
        return f"[{word} ...]"
    return f"[{word}]" if action.nargs == "?" else str(word)


def _names(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{_word(action)}`"
    value = "" if action.nargs == 0 else f" {action.metavar or _choices(action)}"
    return ", ".join(f"`{flag}{value}`" for flag in action.option_strings)


def _choices(action: argparse.Action) -> str:
    return "{" + ",".join(map(str, action.choices or ())) + "}"


def _effect(action: argparse.Action) -> str:
    text = (action.help or "") % {"default": action.default}
    return _escaped(text[:1].upper() + text[1:])


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<(", "&lt;(")
