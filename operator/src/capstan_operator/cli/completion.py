"""Completion for shells: the words that can follow the words of a command line.

A shell's script runs `capstanctl __complete WORD ... PREFIX`, which prints one candidate on each
line. If there is none, the shell completes names of files.
"""

import argparse
import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence

from capstan_operator.cli import options
from capstan_operator.cli import parser as arguments
from capstan_operator.errors import OperatorError

Named = Callable[[str, argparse.Namespace], Iterable[str]]
"""Returns the names that a metavar stands for, such as the names of all jobs for `JOB`."""

_EQUALS = "="
"""A word of its own in bash, which splits `--output=json` into three words."""

_SCRIPTS = {
    "bash": """\
_capstanctl() {
    local IFS=$'\\n'
    COMPREPLY=($(capstanctl __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _capstanctl capstanctl
""",
    "zsh": """\
#compdef capstanctl
_capstanctl() {
    local -a candidates
    candidates=(${(f)"$(capstanctl __complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( $#candidates )); then
        compadd -- $candidates
    else
        _files
    fi
}
compdef _capstanctl capstanctl
""",
    "fish": """\
function __capstanctl_complete
    set -l words (commandline -opc)
    set -l prefix (commandline -ct)
    capstanctl __complete $words[2..-1] "$prefix" 2>/dev/null
end
complete -c capstanctl -n 'test -n "$(__capstanctl_complete)"' -f -a '(__capstanctl_complete)'
""",
}


def script(shell: str) -> str:
    """Return the script that connects a shell to `capstanctl __complete`."""
    return _SCRIPTS[shell]


def print_candidates(program: str, words: Sequence[str]) -> int:
    """Print the words that can replace the last word, one on each line."""
    for candidate in candidates(arguments.parser(program), words or [""], names):
        print(candidate)
    return 0


def candidates(parser: argparse.ArgumentParser, words: Sequence[str], named: Named) -> list[str]:
    """Return the words that can replace the last of `words`, sorted.

    `words` come after the name of the program. The last word may be empty.
    """
    *typed, prefix = words
    if typed and typed[-1] in options.CLUSTER:
        return []
    before = options.after_command(typed)
    if not before:
        found = _flags(parser) if prefix.startswith("-") else list(_commands(parser))
        return sorted(word for word in found if word.startswith(prefix))
    command = _commands(parser).get(before[0])
    if command is None:
        return []
    values, position, pending = _read(command, before[1:])
    if pending is not None and prefix == _EQUALS:
        prefix = ""
    if pending is None and prefix.startswith("-"):
        return sorted(word for word in _flags(command) if word.startswith(prefix))
    action = pending or _positional(command, position)
    if action is None:
        return []
    found = list(action.choices or named(str(action.metavar), values))
    return sorted(word for word in found if word.startswith(prefix))


def names(metavar: str, values: argparse.Namespace) -> Iterable[str]:
    """Return the names of jobs, or of the tasks of a job of this machine; none for other words."""
    if metavar not in ("JOB", "TASK"):
        return ()
    from capstan_operator.cli.run import STATE
    from capstan_operator.local.kept import Kept

    kept = Kept(STATE)
    if metavar == "TASK":
        job = kept.look(values.job)
        return () if job is None else [str(row.name) for row in job.status.tasks]
    in_cluster = any((values.namespace, values.context, values.kubeconfig))
    here = () if in_cluster else kept.names()
    return here or _of_cluster(values)


def _of_cluster(values: argparse.Namespace) -> Iterable[str]:
    from capstan_operator.cli import places

    async def listed() -> list[str]:
        async with places.cluster(values) as namespace:
            return [job.name for job in await namespace.jobs()]

    with contextlib.suppress(OperatorError):
        return asyncio.run(listed())
    return ()


def _read(
    command: argparse.ArgumentParser, words: Sequence[str]
) -> tuple[argparse.Namespace, int, argparse.Action | None]:
    """Read the typed words of a command.

    Return the values, the number of positional arguments, and the flag that still needs a value.
    """
    actions = command._actions
    values = argparse.Namespace(**{action.dest: None for action in actions})
    flags = {flag: action for action in actions for flag in action.option_strings}
    position, pending = 0, None
    for word in words:
        flag, equals, value = word.partition("=")
        if pending is not None and word == _EQUALS:
            continue
        if pending is not None:
            setattr(values, pending.dest, word)
            pending = None
        elif flag in flags:
            action = flags[flag]
            if equals:
                setattr(values, action.dest, value)
            elif action.nargs != 0:
                pending = action
        else:
            action_here = _positional(command, position)
            if action_here is not None and action_here.nargs != "*":
                setattr(values, action_here.dest, word)
            position += 1
    return values, position, pending


def _positional(command: argparse.ArgumentParser, position: int) -> argparse.Action | None:
    """Return the positional argument at a position."""
    actions = [action for action in command._actions if not action.option_strings]
    if actions and actions[-1].nargs == "*":
        position = min(position, len(actions) - 1)
    return actions[position] if position < len(actions) else None


def _flags(command: argparse.ArgumentParser) -> list[str]:
    return [flag for action in command._actions for flag in action.option_strings]


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}
