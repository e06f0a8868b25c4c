"""The tensors of a checkpoint are printed as TensorFlow's tool prints them."""

import importlib
import pathlib
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

NAME = "print_tensors_in_checkpoint_file"


@pytest.mark.parametrize(
    "arguments",
    [
        {"tensor_name": None, "all_tensors": True},
        {"tensor_name": "", "all_tensors": False},
        {"tensor_name": "", "all_tensors": False, "all_tensor_names": True},
        {"tensor_name": "a/weights", "all_tensors": False},
        {"tensor_name": "none", "all_tensors": False},
        {"tensor_name": "", "all_tensors": False, "count_exclude_pattern": "a/|step"},
    ],
)
def test_a_checkpoint_is_listed_as_by_tensorflow(
    v1: Any,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    arguments: dict[str, Any],
) -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        capstan.get_variable("a/weights", initializer=np.arange(6, dtype=np.float32).reshape(2, 3))
        capstan.get_variable("label", initializer=[b"x"])
        capstan.train.get_or_create_global_step()
        session.run(capstan.global_variables_initializer())
        path = capstan.train.Saver().save(session, str(tmp_path / "model"))
    printed = []
    for package in ("tensorflow", "capstan"):
        module = importlib.import_module(f"{package}.python.tools.inspect_checkpoint")
        getattr(module, NAME)(path, **arguments)
        printed.append(capsys.readouterr().out)
    assert printed[1] == printed[0]


def test_a_missing_checkpoint_is_named(
    v1: Any, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = importlib.import_module("capstan.python.tools.inspect_checkpoint")
    getattr(module, NAME)(str(tmp_path / "none"), None, True)
    assert "Failed to find any matching files" in capsys.readouterr().out
