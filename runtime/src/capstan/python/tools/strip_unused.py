"""Write the part of a graph between inputs and outputs (tensorflow/python/tools/strip_unused.py).

Each flag of the command has the name of an argument of `strip_unused_from_files`.
"""

import sys
from collections.abc import Sequence

from capstan.api import graph_stripping
from capstan.core import dtypes
from capstan.python.tools import command_line

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Strip the graph that the flags name. `argv` has the flags (default: of this process).

    Return 0, or -1 if there is no input file or no output name, which is logged.

    Raises:
        KeyError: the graph lacks an input.
        AssertionError: the graph lacks an output.
    """
    parser = command_line.parser(
        "strip_unused",
        dict.fromkeys(("input_graph", "output_graph", "input_node_names", "output_node_names"), ""),
        {"input_binary": False, "output_binary": True},
    )
    number = dtypes.float32.as_datatype_enum
    parser.add_argument("--placeholder_type_enum", type=int, default=number)
    failed = graph_stripping.strip_unused_from_files(**vars(parser.parse_args(argv)))
    return failed or 0


if __name__ == "__main__":
    sys.exit(main())
