"""Write a graph for inference (tensorflow/python/tools/optimize_for_inference.py).

`--input` and `--output` are the files. They hold text if `--frozen_graph=false`. `--input_names`
and `--output_names` are comma-separated names of nodes. `--placeholder_type_enum` is the dtype of
the inputs as a number, or one number for each input.
"""

import os
import sys
from collections.abc import Sequence

from capstan.api import file_contents, graph_stripping, inference_graphs
from capstan.core import dtypes
from capstan.python.tools import command_line
from capstan.resources import files
from capstan.train import meta_graph

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Optimize the graph that the flags name. `argv` has the flags (default: of this process).

    Return 0, or -1 if there is no input file, which is printed.

    Raises:
        ValueError: as for `optimize_for_inference`.
    """
    from tensorboard.compat.proto import graph_pb2

    number = str(dtypes.float32.as_datatype_enum)
    parser = command_line.parser(
        "optimize_for_inference",
        {
            **dict.fromkeys(("input", "output", "input_names", "output_names"), ""),
            "placeholder_type_enum": number,
        },
        {"frozen_graph": True, "toco_compatible": False},
    )
    options = parser.parse_args(argv)
    if not files.of(options.input).exists(options.input):
        sys.stdout.write(f"Input graph file '{options.input}' does not exist!\n")
        return -1
    kinds = [int(kind) for kind in options.placeholder_type_enum.split(",")]
    optimized = inference_graphs.optimize_for_inference(
        graph_stripping.parsed(options.input, options.frozen_graph, "graph", graph_pb2.GraphDef),
        options.input_names.split(","),
        options.output_names.split(","),
        kinds if len(kinds) > 1 else kinds[0],
        options.toco_compatible,
    )
    if options.frozen_graph:
        file_contents.write_string_to_file(options.output, optimized.SerializeToString())
    else:
        folder, name = os.path.split(options.output)
        meta_graph.write_graph(optimized, folder, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
