"""Print the tensors of a checkpoint (tensorflow/python/tools/inspect_checkpoint.py).

`--file_name` is the prefix of the checkpoint. `--tensor_name` prints one tensor, `--all_tensors`
prints all of them, and `--all_tensor_names` prints their names. The count of elements leaves out
the tensors that match `--count_exclude_pattern`. `--printoptions` has settings of NumPy, such as
`threshold=9999`.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.python.tools import command_line
from capstan.train import checkpoint_listing

__all__ = ["main", "parse_numpy_printoption", "print_tensors_in_checkpoint_file"]

print_tensors_in_checkpoint_file = checkpoint_listing.print_tensors_in_checkpoint_file


def main(argv: Sequence[str] | None = None) -> int:
    """Print what the flags ask for. `argv` has the flags (default: of this process).

    Return 0, or 1 if there is no `--file_name`.
    """
    parser = command_line.parser(
        "inspect_checkpoint",
        dict.fromkeys(("file_name", "tensor_name", "count_exclude_pattern"), ""),
        {"all_tensors": False, "all_tensor_names": False},
    )
    parser.add_argument("--printoptions", nargs="*", type=parse_numpy_printoption)
    options = parser.parse_args(argv)
    if not options.file_name:
        parser.print_usage()
        return 1
    print_tensors_in_checkpoint_file(
        options.file_name,
        options.tensor_name,
        options.all_tensors,
        options.all_tensor_names,
        count_exclude_pattern=options.count_exclude_pattern,
    )
    return 0


def parse_numpy_printoption(kv_str: str) -> None:
    """Change a setting with which NumPy prints arrays, such as `precision=3`.

    Raises:
        argparse.ArgumentTypeError: there is no such setting, or its value is of another type.
    """
    name, equals, text = kv_str.partition("=")
    current: dict[str, Any] = dict(np.get_printoptions())
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"'{kv_str}' is not in the form k=v.")
    if name not in current:
        raise argparse.ArgumentTypeError(f"'{name}' is not a valid printoption.")
    kind = type(current[name])
    if kind not in (bool, float, int, str):
        raise argparse.ArgumentTypeError(
            f"Setting '{name}' from the command line is not supported."
        )
    try:
        value = _truth(text) if kind is bool else kind(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    setting: dict[str, Any] = {name: value}
    np.set_printoptions(**setting)


def _truth(text: str) -> bool:
    found = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
    if text.lower() not in found:
        raise ValueError(f"Non-boolean argument to boolean flag: {text}")
    return found[text.lower()]


if __name__ == "__main__":
    sys.exit(main())
