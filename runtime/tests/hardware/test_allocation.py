"""Memory for tensors comes from devices: no other module allocates it with NumPy."""

import ast
import pathlib

import pytest

import capstan

SOURCE = pathlib.Path(capstan.__file__).parent

MODULES = [
    "resources/variable.py",
    "resources/containers.py",
    "executor/aliases.py",
    "executor/emit.py",
    "executor/fold.py",
    "executor/program.py",
    "executor/source.py",
    "executor/values.py",
]

ALLOCATING = frozenset(
    {"array", "arange", "copyto", "empty", "empty_like", "full", "full_like", "ones", "ones_like",
     "zeros", "zeros_like"}
)  # fmt: skip


@pytest.mark.parametrize("module", MODULES)
def test_a_module_outside_kernels_and_devices_allocates_no_memory_with_numpy(module: str) -> None:
    tree = ast.parse((SOURCE / module).read_text())
    named = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "np"
    }
    assert not named & ALLOCATING
