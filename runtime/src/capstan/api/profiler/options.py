"""The options of a profile, checked (tfprof_options.cc)."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from capstan.errors import InvalidArgumentError

OUTPUTS: Final = ("file", "none", "pprof", "stdout", "timeline")
_FILES: Final = frozenset(("file", "pprof", "timeline"))
"""The outputs that need the option `outfile`."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one profile. `output` is one of OUTPUTS, and `outfile` the name of its file.

    The fields before `output` are in the order in which TensorFlow prints them.
    """

    max_depth: int = 10
    min_bytes: int = 0
    min_peak_bytes: int = 0
    min_residual_bytes: int = 0
    min_output_bytes: int = 0
    min_micros: int = 0
    min_accelerator_micros: int = 0
    min_cpu_micros: int = 0
    min_params: int = 0
    min_float_ops: int = 0
    min_occurrence: int = 0
    step: int = -1
    order_by: str = "name"
    account_type_regexes: tuple[str, ...] = ()
    start_name_regexes: tuple[str, ...] = ()
    trim_name_regexes: tuple[str, ...] = ()
    show_name_regexes: tuple[str, ...] = ()
    hide_name_regexes: tuple[str, ...] = ()
    account_displayed_op_only: bool = False
    select: tuple[str, ...] = ()
    output: str = "stdout"
    outfile: str = ""

    def text(self) -> str:
        """Return the options as the profiler prints them: one a line."""
        *plain, output, _ = ((field.name, getattr(self, field.name)) for field in fields(self))
        name, kind = output
        file = f"outfile={self.outfile}" if self.outfile else ""
        lines = [*plain, (name, f"{kind}:{file}")]
        return "".join(f"{f'-{name}':<28}{_shown(value)}\n" for name, value in lines)


def parse(given: Mapping[str, Any]) -> Options:
    """Return the options of a user's dictionary. An option that it lacks has its default.

    Raises:
        InvalidArgumentError: the output is unknown, or lacks the name of its file.
    """
    known = {
        field.name: given[field.name]
        for field in fields(Options)
        if field.name in given and field.name != "output"
    }
    for name, value in known.items():
        if name == "select":
            known[name] = tuple(sorted(set(value)))
        elif name.endswith("regexes"):
            known[name] = tuple(value)
    output, outfile = _parse_output(given.get("output", "stdout"))
    if given.get("dump_to_file"):
        output, outfile = "file", given["dump_to_file"]
    return Options(**known | {"output": output, "outfile": outfile})


def _parse_output(text: str) -> tuple[str, str]:
    """Return the kind of `kind:outfile=name`, and the name."""
    output, _, rest = (text or "stdout").partition(":")
    if output not in OUTPUTS:
        raise _invalid(f"Unknown output type: {output}, Valid types: {','.join(OUTPUTS)}")
    outfile = ""
    for pair in filter(None, rest.split(",")):
        key, _, value = pair.partition("=")
        if not value:
            raise _invalid(f"The format of an output is {output}:key=value,key=value, not {text!r}")
        if key != "outfile" or output not in _FILES:
            raise _invalid(f"Unrecognized options {key} for output_type: {output}")
        outfile = value
    if output in _FILES and not outfile:
        raise _invalid(
            f"Missing required output_options for {output}. E.g. {output}:outfile=/tmp/profile"
        )
    return output, outfile


def _invalid(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, tuple) else str(value)
