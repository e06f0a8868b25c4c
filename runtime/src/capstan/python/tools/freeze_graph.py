"""Write a graph whose variables are constants (tensorflow/python/tools/freeze_graph.py).

The command has a flag for each argument of `freeze_graph`, with the name of the argument.
"""

from collections.abc import Sequence

from capstan.python.tools import command_line
from capstan.train import freezing

__all__ = ["freeze_graph", "freeze_graph_with_def_protos", "main"]

_WITHOUT_DEFAULT = (
    *("input_graph", "input_saver", "input_checkpoint", "input_meta_graph"),
    *("input_saved_model_dir", "output_graph", "output_node_names", "initializer_nodes"),
    *("variable_names_whitelist", "variable_names_blacklist"),
)

freeze_graph = freezing.freeze_graph
freeze_graph_with_def_protos = freezing.freeze_graph_with_def_protos


def main(argv: Sequence[str] | None = None) -> None:
    """Freeze the graph that the flags name. `argv` has the flags (default: of this process).

    Raises:
        OSError, ValueError: as for `freeze_graph`.
        SystemExit: there is no such flag, or `--checkpoint_version` is neither 1 nor 2.
    """
    parser = command_line.parser(
        "freeze_graph",
        {
            **dict.fromkeys(_WITHOUT_DEFAULT, ""),
            "restore_op_name": "save/restore_all",
            "filename_tensor_name": "save/Const:0",
            "saved_model_tags": "serve",
        },
        {"input_binary": False, "clear_devices": True},
    )
    parser.add_argument("--checkpoint_version", type=int, choices=(1, 2), default=2)
    freezing.freeze_graph(**vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
