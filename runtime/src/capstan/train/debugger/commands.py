"""The commands of the debugger's prompt: they show the dumps of a run, and choose the next runs.

Nothing here reads a terminal or runs a step, so each command is a line of text and its answer.
"""

import argparse
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np

from capstan import errors
from capstan.framework.tensor import Tensor
from capstan.train.debugger import dump_folder, dumped, watching, wrapper

Filter = Callable[[dumped.DebugTensorDatum, Any], bool]

HELP = """\
  run [-t TIMES] [-n] [-f FILTER] [--node_name_filter REGEX] [--op_type_filter REGEX]
      [--tensor_dtype_filter REGEX]   run; with -n without dumps, with -f until a tensor passes
  lt [-f FILTER] [-n NODE_REGEX] [-t OP_REGEX]   list the dumped tensors
  pt TENSOR[SLICES] [-n NUMBER] [-a]   print a dumped tensor, its NUMBERth dump, all elements
  ni [-a] [-d] [-t] NODE   show a node; with its attributes, its dumps, its traceback
  li NODE, lo NODE   list the inputs of a node, or the nodes that read its outputs
  pf TENSOR   print a fed value
  ri   show the fetches and feeds of the run
  exit   end the program"""
_SHORT = {
    "r": "run", "list_tensors": "lt", "print_tensor": "pt", "node_info": "ni", "list_inputs": "li",
    "list_outputs": "lo", "print_feed": "pf", "run_info": "ri", "quit": "exit", "q": "exit",
    "h": "help",
}  # fmt: skip


class Plan(NamedTuple):
    """The next runs: how many, whether the last of them dumps, and the filter that ends them."""

    times: int = 1
    dumps: bool = True
    filter: str | None = None
    options: watching.WatchOptions = watching.WatchOptions()


class Exit(NamedTuple):
    """The user wants to end the program."""


class View(NamedTuple):
    """What the commands show. Before a run, `dump` is None. `fault` is the error of the run."""

    run: wrapper.Run
    filters: Mapping[str, Filter]
    dump: dump_folder.DebugDumpDir | None = None
    fault: errors.OpError | None = None


class _RefusedError(Exception):
    """A command is wrong. The text says why."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _RefusedError(f"{self.prog}: {message}")


def answer(line: str, view: View) -> str | Plan | Exit:
    """Return the text that a command shows, or what the user wants next."""
    name, *words = line.split() or [""]
    name = _SHORT.get(name, name)
    try:
        if name == "run":
            return _run(words, view)
        if name in ("exit", "help", ""):
            return Exit() if name == "exit" else HELP
        if name not in _COMMANDS:
            return f'ERROR: "{name}" is no command. Enter help for the commands'
        return _COMMANDS[name](words, view)
    except (_RefusedError, ValueError, LookupError) as refused:
        return f"ERROR: {refused}"
    except re.error as fault:
        return f"ERROR: this is not a regular expression: {fault}"


def _run(words: list[str], view: View) -> Plan:
    parser = _parser("run")
    parser.add_argument("-t", "--times", type=int, default=1)
    parser.add_argument("-n", "--no_debug", action="store_true")
    parser.add_argument("-f", "--till_filter_pass")
    for field in ("node_name", "op_type", "tensor_dtype"):
        parser.add_argument(f"--{field}_filter")
    found = parser.parse_args(words)
    if found.till_filter_pass is not None:
        _filter(found.till_filter_pass, view)
    patterns = (found.node_name_filter, found.op_type_filter, found.tensor_dtype_filter)
    for pattern in patterns:
        re.compile(pattern or "")
    options = watching.WatchOptions(None, *patterns)
    return Plan(found.times, not found.no_debug, found.till_filter_pass, options)


def run_info(words: list[str], view: View) -> str:
    """Return the number, the fetches and the feeds of a run, and its error."""
    lines = [f"Session.run() call #{view.run.number}:", f"  fetches: {_named(view.run.fetches)}"]
    lines += [f"  feed: {_name(key)}" for key in view.run.feeds]
    if view.fault is not None:
        lines += ["The run ended with an error:", f"  {view.fault}"]
    return "\n".join(lines)


def _list_tensors(words: list[str], view: View) -> str:
    parser = _parser("lt")
    parser.add_argument("-f", "--tensor_filter")
    parser.add_argument("-n", "--node_name_filter", default="")
    parser.add_argument("-t", "--op_type_filter", default="")
    found = parser.parse_args(words)
    dump = _dump(view)
    passes = _filter(found.tensor_filter, view) if found.tensor_filter else None
    node, op = re.compile(found.node_name_filter), re.compile(found.op_type_filter)
    data = dump.dumped_tensor_data if passes is None else dump.find(passes)
    rows = [
        (
            f"[{(datum.timestamp - (dump.t0 or 0)) / 1000:.3f}]",
            str(datum.dump_size_bytes),
            _op_type(dump, datum.node_name),
            datum.tensor_name,
        )
        for datum in data
        if node.match(datum.node_name) and op.match(_op_type(dump, datum.node_name))
    ]
    suffix = f' passing filter "{found.tensor_filter}"' if found.tensor_filter else ""
    return f"{len(rows)} dumped tensor(s){suffix}:\n" + _table(
        [("t (ms)", "Size (B)", "Op type", "Tensor name"), *rows]
    )


def _print_tensor(words: list[str], view: View) -> str:
    parser = _parser("pt")
    parser.add_argument("tensor")
    parser.add_argument("-n", "--number", type=int, default=-1)
    parser.add_argument("-a", "--all", action="store_true")
    found = parser.parse_args(words)
    name, slices = _sliced(found.tensor)
    node, _, slot = name.partition(":")
    data = [
        datum
        for datum in _dump(view).dumped_tensor_data
        if datum.node_name == node and datum.output_slot == int(slot or 0)
    ]
    if not data:
        raise _RefusedError(f'"{name}" was not dumped. Enter lt for the names of the tensors')
    if not -len(data) <= found.number < len(data):
        raise _RefusedError(f"there are {len(data)} dumps of {name}, numbered from 0")
    datum = data[found.number]
    heading = f'Tensor "{datum.watch_key}", dump {data.index(datum) + 1} of {len(data)}:'
    return f"{heading}\n{_shown(datum.get_tensor(), slices, everything=found.all)}"


def _node_info(words: list[str], view: View) -> str:
    parser = _parser("ni")
    parser.add_argument("-a", "--attributes", action="store_true")
    parser.add_argument("-d", "--dumps", action="store_true")
    parser.add_argument("-t", "--traceback", action="store_true")
    parser.add_argument("node")
    found = parser.parse_args(words)
    dump, name = _dump(view), found.node.partition(":")[0]
    lines = [
        f"Node {name}",
        f"  Op: {dump.node_op_type(name)}",
        f"  Device: {dump.node_device(name)}",
        _listed("input(s)", dump.node_inputs(name)),
        _listed("control input(s)", dump.node_inputs(name, is_control=True)),
        _listed("recipient(s)", dump.node_recipients(name)),
        _listed("control recipient(s)", dump.node_recipients(name, is_control=True)),
    ]
    if found.attributes:
        texts = [
            f"{key}: {str(value).strip()}" for key, value in dump.node_attributes(name).items()
        ]
        lines.append(_listed("attribute(s)", texts))
    if found.dumps:
        lines.append(_listed("dumped tensor(s)", dump.debug_watch_keys(name)))
    if found.traceback:
        calls = textwrap.indent("".join(dump.node_traceback(name).format()).rstrip(), "  ")
        lines.append(f"  Traceback of the creation of the node:\n{calls}")
    return "\n".join(lines)


def _list_inputs(words: list[str], view: View) -> str:
    name = _only(words, "li")
    return f"Inputs to node {name}:\n{_listed('input(s)', _dump(view).node_inputs(name))}"


def _list_outputs(words: list[str], view: View) -> str:
    name = _only(words, "lo")
    recipients = _dump(view).node_recipients(name)
    return f"Recipients of node {name}:\n{_listed('recipient(s)', recipients)}"


def _print_feed(words: list[str], view: View) -> str:
    name, slices = _sliced(_only(words, "pf", keep_slot=True))
    for key, value in view.run.feeds.items():
        if _name(key) in (name, f"{name}:0"):
            return f'Tensor "{_name(key)}" (feed)\n{_shown(np.asarray(value), slices)}'
    raise _RefusedError(f'the run does not feed "{name}"')


_COMMANDS: dict[str, Callable[[list[str], View], str]] = {
    "lt": _list_tensors,
    "pt": _print_tensor,
    "ni": _node_info,
    "li": _list_inputs,
    "lo": _list_outputs,
    "pf": _print_feed,
    "ri": run_info,
}


def _parser(name: str) -> _Parser:
    return _Parser(prog=name, add_help=False)


def _dump(view: View) -> dump_folder.DebugDumpDir:
    if view.dump is None:
        raise _RefusedError("there are no dumps yet. Enter run")
    return view.dump


def _filter(name: str, view: View) -> Filter:
    if name not in view.filters:
        raise _RefusedError(f'no filter is called "{name}": there are {", ".join(view.filters)}')
    return view.filters[name]


def _only(words: list[str], command: str, *, keep_slot: bool = False) -> str:
    if len(words) != 1:
        raise _RefusedError(f"{command} takes one name")
    return words[0] if keep_slot else words[0].partition(":")[0]


def _op_type(dump: dump_folder.DebugDumpDir, node: str) -> str:
    # A node that the compiler has added is in no graph of the client.
    return dump.node_op_type(node) if dump.node_exists(node) else ""


def _sliced(text: str) -> tuple[str, Any]:
    """Return the name of a tensor and the slices behind it: `x:0[0, :2]`."""
    found = re.fullmatch(r"([^\[]+)(?:\[([-\d:,\s]+)\])?", text)
    if found is None:
        raise _RefusedError(f"{text!r} is no tensor. Write name:0 or name:0[0,1:3]")
    if found[2] is None:
        return found[1], ()
    places: list[int | slice] = []
    for part in found[2].split(","):
        numbers = [int(each) if each.strip() else None for each in part.split(":")]
        places.append(slice(*numbers) if len(numbers) > 1 else int(part))
    return found[1], tuple(places)


def _shown(value: Any, slices: Any, *, everything: bool = False) -> str:
    if isinstance(value, dumped.InconvertibleTensorProto):
        return str(value)
    try:
        part = value[slices] if slices else value
    except IndexError as fault:
        raise _RefusedError(str(fault)) from None
    text = np.array2string(np.asarray(part), threshold=part.size + 1 if everything else 1000)
    return f"  dtype: {value.dtype}\n  shape: {value.shape}\n\n{text}"


def _listed(what: str, names: list[str]) -> str:
    return "\n".join([f"  {len(names)} {what}:", *(f"    {name}" for name in names)])


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _name(key: Any) -> str:
    return key.name if isinstance(key, Tensor) else str(getattr(key, "name", key))


def _named(fetches: Any) -> str:
    if isinstance(fetches, dict):
        return _named(list(fetches.values()))
    if isinstance(fetches, list | tuple):
        return ", ".join(map(_named, fetches))
    return _name(fetches)
