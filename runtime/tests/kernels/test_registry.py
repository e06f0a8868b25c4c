"""The rows of the kernel table."""

import ast

import pytest

import capstan.kernels  # noqa: F401 - fills the table
from capstan.framework import opdef, ops  # noqa: F401 - fills the registry
from capstan.kernels import registry


def test_a_row_has_either_make_or_start() -> None:
    assert registry.Kernel("Now", lambda node: lambda: None).is_asynchronous is False
    row = registry.Kernel("Later", start=lambda node: lambda done, cancellation: done((), None))
    assert row.is_asynchronous is True
    with pytest.raises(ValueError, match="Neither needs either make or start"):
        registry.Kernel("Neither")
    with pytest.raises(ValueError, match="Both needs either make or start"):
        registry.Kernel("Both", lambda node: lambda: None, start=lambda node: lambda: None)


def _rows() -> list[registry.Kernel]:
    return [row for devices in registry._ROWS.values() for rows in devices.values() for row in rows]


def _rows_with_a_template() -> list[registry.Kernel]:
    return [row for row in _rows() if row.emit is not None]


@pytest.mark.parametrize("row", _rows_with_a_template(), ids=lambda row: f"{row.op}-{row.device}")
def test_an_expression_uses_only_its_arguments_and_a_constant_template(
    row: registry.Kernel,
) -> None:
    assert row.emit is not None
    count = len(opdef.lookup(row.op).input_arguments) or 1
    names = [f"first{index}" for index in range(count)]
    others = [f"second{index}" for index in range(count)]
    text = row.emit(names)
    assert text.replace("first", "second") == row.emit(others)
    expression = ast.parse(text, mode="eval")
    for part in ast.walk(expression):
        if isinstance(part, ast.Name):
            assert part.id in names
        elif isinstance(part, ast.Attribute):
            assert not part.attr.startswith("_")
        else:
            allowed = (ast.Call, ast.Constant, ast.Expression, ast.Load, ast.Tuple)
            assert isinstance(part, allowed), ast.dump(part)
    constants = [part for part in ast.walk(expression) if isinstance(part, ast.Constant)]
    assert all(part.value is None for part in constants)


def test_an_operator_of_a_row_is_an_operator_of_python() -> None:
    rows = [row for row in _rows() if row.operator]
    for row in rows:
        expression = ast.parse(f"first {row.operator} second", mode="eval").body
        assert isinstance(expression, ast.BinOp | ast.Compare), row
