"""Show, check and run a SavedModel (tensorflow/python/tools/saved_model_cli.py).

    python -m capstan.python.tools.saved_model_cli show --dir models/1 --all
    python -m capstan.python.tools.saved_model_cli run --dir models/1 --tag_set serve \\
        --signature_def serving_default --input_exprs 'images=np.zeros((1, 784))'

`scan` tells which operations of a model a server should not run.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from capstan.client import session
from capstan.framework import graph as graphs
from capstan.python.tools import signature_inputs, signature_listing
from capstan.train.debugger import local
from capstan.train.saved_model import loader, tags

__all__ = [
    *("create_parser", "get_meta_graph_def", "get_signature_def_map"),
    *("load_inputs_from_input_arg_string", "main", "preprocess_input_examples_arg_string"),
    *("preprocess_input_exprs_arg_string", "preprocess_inputs_arg_string", "run"),
    *("run_saved_model_with_feed_dict", "scan", "scan_meta_graph_def", "show"),
]

get_meta_graph_def = tags.get_meta_graph_def
load_inputs_from_input_arg_string = signature_inputs.load_inputs_from_input_arg_string
preprocess_input_examples_arg_string = signature_inputs.preprocess_input_examples_arg_string
preprocess_input_exprs_arg_string = signature_inputs.preprocess_input_exprs_arg_string
preprocess_inputs_arg_string = signature_inputs.preprocess_inputs_arg_string


def main(argv: Sequence[str] | None = None) -> None:
    """Carry out the command of the flags `argv` (default: those of this process).

    Raises:
        SystemExit: the flags are wrong.
    """
    options = create_parser().parse_args(argv)
    options.func(options)


def show(args: Any) -> None:
    """Print the tags, the signatures of one graph, one signature, or with `--all` everything.

    Raises:
        KeyError: there is no such signature.
        RuntimeError: no graph has these tags.
    """
    if args.all:
        _print(signature_listing.everything(args.dir))
    elif args.tag_set is None:
        _print(signature_listing.tag_sets(args.dir))
    elif args.signature_def is None:
        _print(signature_listing.signature_keys(args.dir, args.tag_set))
    else:
        _print(signature_listing.signature(args.dir, args.tag_set, args.signature_def))


def scan(args: Any) -> None:
    """Print which operations of the graphs a server should not run."""
    if args.tag_set:
        scan_meta_graph_def(get_meta_graph_def(args.dir, args.tag_set))
        return
    for meta in tags.read_saved_model(args.dir).meta_graphs:
        scan_meta_graph_def(meta)


def run(args: Any) -> None:
    """Print the outputs of a signature for the inputs of the flags. Blocks.

    Raises:
        AttributeError: the flags name no input.
        KeyError, RuntimeError, ValueError: as for `load_inputs_from_input_arg_string` and
            `run_saved_model_with_feed_dict`.
    """
    if not (args.inputs or args.input_exprs or args.input_examples):
        raise AttributeError(
            "At least one of --inputs, --input_exprs or --input_examples must be required"
        )
    run_saved_model_with_feed_dict(
        args.dir,
        args.tag_set,
        args.signature_def,
        load_inputs_from_input_arg_string(args.inputs, args.input_exprs, args.input_examples),
        args.outdir,
        args.overwrite,
        worker=args.worker,
        tf_debug=args.tf_debug,
    )


def get_signature_def_map(saved_model_dir: str, tag_set: str) -> Any:
    """Return the signatures of a graph by their keys."""
    return get_meta_graph_def(saved_model_dir, tag_set).signature_def


def scan_meta_graph_def(meta_graph_def: Any) -> None:
    """Print which operations of a graph a server should not run."""
    _print([signature_listing.denied_operations(meta_graph_def)])


def run_saved_model_with_feed_dict(  # noqa: PLR0913, as in TensorFlow
    saved_model_dir: str,
    tag_set: str,
    signature_def_key: str,
    input_tensor_key_feed_dict: Mapping[str, Any],
    outdir: str | None,
    overwrite_flag: bool,
    worker: str | None = None,
    init_tpu: bool = False,
    tf_debug: bool = False,
) -> None:
    """Print the outputs of a signature, and write each to `outdir`, if given, as `KEY.npy`. Blocks.

    The session runs in this process or on the server `worker`, such as `grpc://host:port`.
    `tf_debug` opens the debugger. Capstan knows no TPU: `init_tpu` has no effect.

    Raises:
        KeyError: the graph has no such signature.
        ValueError: the signature has no such input.
        RuntimeError: a file exists and `overwrite_flag` is not set, or no graph has these tags.
    """
    signature = signature_listing.signature_def(saved_model_dir, tag_set, signature_def_key)
    for key in input_tensor_key_feed_dict:
        if key not in signature.inputs:
            known = '"' + '", "'.join(signature.inputs) + '"'
            raise ValueError(
                f'"{key}" is not a valid input key. Please choose from {known}, or use --show '
                "option."
            )
    feeds = {signature.inputs[key].name: val for key, val in input_tensor_key_feed_dict.items()}
    names = {key: signature.outputs[key].name for key in sorted(signature.outputs)}
    with session.Session(worker or "", graph=graphs.Graph()) as sess:
        loader.load(sess, tag_set.split(","), saved_model_dir)
        runner = local.LocalCLIDebugWrapperSession(sess) if tf_debug else sess
        outputs = runner.run(names, feed_dict=feeds)
    for key, value in outputs.items():
        _print([f"Result for output key {key}:", str(value)])
        if outdir:
            _save(outdir, key, value, overwrite_flag)


def _save(folder: str, key: str, value: Any, overwrite: bool) -> None:
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{key}.npy")
    if os.path.exists(path) and not overwrite:
        raise RuntimeError(
            f'Output file {path} already exists. Add "--overwrite" to overwrite the existing '
            "output files."
        )
    np.save(path, value)
    _print([f"Output {key} is saved to {path}"])


def create_parser() -> argparse.ArgumentParser:
    """Return the parser of the flags. Its results have the function of the command as `func`."""
    parser = argparse.ArgumentParser(
        prog="python -m capstan.python.tools.saved_model_cli",
        description="Show, check and run a SavedModel.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    shown = commands.add_parser("show", help="show the signatures of a SavedModel")
    shown.set_defaults(func=show)
    shown.add_argument("--all", action="store_true", help="show all signatures of all graphs")
    shown.add_argument("--signature_def", help="the key of the signature to show")
    ran = commands.add_parser("run", help="run a signature and print its outputs")
    ran.set_defaults(func=run)
    ran.add_argument("--signature_def", required=True, help="the key of the signature to run")
    for flag, text in _INPUTS.items():
        ran.add_argument(f"--{flag}", default="", help=text)
    ran.add_argument("--outdir", help="a folder for the outputs, each as KEY.npy")
    ran.add_argument("--overwrite", action="store_true", help="replace files in --outdir")
    ran.add_argument("--tf_debug", action="store_true", help="run the model in the debugger")
    ran.add_argument("--worker", help="the server that runs the model, such as grpc://host:2222")
    scanned = commands.add_parser("scan", help="name the operations that a server should not run")
    scanned.set_defaults(func=scan)
    for command in (shown, ran, scanned):
        command.add_argument("--dir", required=True, help="the folder of the SavedModel")
        command.add_argument(
            "--tag_set", required=command is ran, help="the tags of a graph, with commas between"
        )
    return parser


_INPUTS = {
    "inputs": "files of arrays: KEY=FILE or KEY=FILE[NAME], with semicolons between",
    "input_exprs": "expressions of Python, KEY=EXPRESSION, in which np is NumPy",
    "input_examples": "examples, KEY=[{FEATURE: [VALUE, ...]}, ...]",
}


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
