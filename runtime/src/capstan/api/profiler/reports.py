"""Shows a view of a profile: prints it, or writes it to a file (print_model_analysis.cc)."""

import dataclasses
import sys
from typing import Any, Final

from capstan.api import file_io
from capstan.api.profiler import pprof, timelines
from capstan.api.profiler.options import Options
from capstan.api.profiler.profile_data import ProfileData
from capstan.core import profiler_messages as messages

_VIEWS: Final = {
    "scope": "the nodes of the graph, below their name scopes.",
    "graph": "the nodes of the graph, each above its inputs.",
    "code": "the lines of the program that made the nodes, below their callers.",
    "op": "the op types of the graph. Nodes of a type are added up.",
}
_FACTS: Final = {
    "accelerator_micros": "accelerator execution time: the time of kernels on accelerators.",
    "bytes": "requested bytes: all memory that the operation requested.",
    "cpu_micros": "cpu execution time: the time from the start of the operation to its end.",
    "device": "device: the device that ran the operation.",
    "float_ops": "flops: the floating-point operations, where a registered function counts them.",
    "input_shapes": "input shape: the shapes of the inputs.",
    "micros": "total execution time: the sum of accelerator and cpu execution time.",
    "occurrence": "occurrence: how often the operation runs.",
    "op_types": "op_types: the op, the device and the types of the op log.",
    "output_bytes": "output bytes: the memory of the outputs.",
    "params": "param: the number of elements of a variable.",
    "peak_bytes": "peak bytes: the most memory that the operation held at a time.",
    "residual_bytes": "residual bytes: the memory that the operation keeps after its end.",
}


def show(data: ProfileData, view: str, options: Options) -> Any:
    """Show a view, and return its message: a GraphNodeProto or a MultiGraphNodeProto.

    The message is empty, and standard error has the reason, if the data lacks the step or the
    lines of the program, or if the view cannot be written in the form that the options ask for.
    """
    empty = (
        messages.GraphNodeProto if view in ("scope", "graph") else messages.MultiGraphNodeProto
    )()
    reason = _refusal(data, view, options)
    if reason is not None:
        sys.stderr.write(f"{reason}\n")
        return empty
    if view == "graph" and options.output == "timeline" and options.step < 0:
        for step in sorted(data.steps):
            show(data, view, dataclasses.replace(options, step=step))
        return empty
    if view in ("scope", "graph"):
        root: Any = data.nodes_view(view, options)
    else:
        root = data.groups_view(view, options)
    _write(data, view, root, options)
    return root.encode()


def _refusal(data: ProfileData, view: str, options: Options) -> str | None:
    """Return why a view cannot be shown, or None."""
    if options.step >= 0 and options.step not in data.steps:
        steps = " ".join(map(str, sorted(data.steps)))
        return f"Options -step={options.step} not found.\nAvailable steps: {steps}"
    if view == "code" and not data.has_traces:
        return "No code trace information"
    if view == "op" and options.output == "timeline":
        return "op view doesn't support timeline yet. Consider graph/scope/code view."
    if options.output == "pprof":
        if view != "code":
            return "Only 'code' view supports pprof output now."
        if len(options.select) != 1:
            return "Can only select 1 attribute for pprof output."
        if options.select[0] not in pprof.SELECTABLE:
            return f"pprof doesn't support -select={options.select[0]}"
    return None


def _write(data: ProfileData, view: str, root: Any, options: Options) -> None:
    if options.output == "timeline":
        write = timelines.write_graph if view == "graph" else timelines.write_tree
        write(root, options.outfile, options.step)
    elif options.output == "pprof":
        pprof.write(root, options.select[0], options.outfile)
    elif options.output == "file":
        with file_io.GFile(options.outfile, "w") as output:
            output.write(_report(data, view, root, options))
    elif options.output == "stdout":
        sys.stdout.write(
            "\n=========================Options=============================\n"
            f"{options.text()}"
            "\n==================Model Analysis Report======================\n"
            f"{_report(data, view, root, options)}"
            "\n======================End of Report==========================\n"
        )


def _report(data: ProfileData, view: str, root: Any, options: Options) -> str:
    """Return the text of a view, with an explanation."""
    warning = (
        "\n\nFound an accelerator, but no times of its kernels. The accelerator execution times "
        "are therefore 0.\n\n"
        if data.misses_streams
        else ""
    )
    facts = "\n".join(_FACTS.get(name, f"Unknown select: {name}") for name in options.select)
    explained = f"\nDoc:\n{view}: {_VIEWS[view]}\n{facts}\n\nProfile:\n"
    return f"{warning}{explained}{''.join(root.lines())}"
