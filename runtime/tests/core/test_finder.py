"""Imports of modules that have no file."""

import importlib
import importlib.util
import subprocess
import sys

import pytest

import capstan as tf

LACKS = "Capstan lacks this part of TensorFlow 1"


@pytest.mark.parametrize(
    "statement, message",
    [
        (
            "import capstan.enable_eager_execution",
            f"no attribute 'enable_eager_execution': {LACKS}. Instead, build a graph",
        ),
        ("import capstan.lite.python", f"no attribute 'lite': {LACKS}"),
        (
            "from capstan.contrib import tensorrt",
            f"'capstan.contrib' has no attribute 'tensorrt': {LACKS}",
        ),
        ("from capstan.contrib.opt import NoSuch", f"has no attribute 'NoSuch': {LACKS}"),
        ("from capstan.contrib.no_such import x", f"has no attribute 'no_such': {LACKS}"),
        ("from capstan.python.ops.math_ops import no_such", f"no attribute 'no_such': {LACKS}"),
        ("import capstan.math.add.x", "No module named 'capstan.math.add'"),
    ],
)
def test_the_import_of_a_missing_name_says_that_capstan_lacks_it(
    statement: str, message: str
) -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        exec(statement)
    assert message in str(caught.value)


@pytest.mark.parametrize("path", ["nn", "math", "losses"])
def test_a_module_of_tf_can_be_imported_by_its_path(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = getattr(tf, path)
    spec = value.__spec__
    monkeypatch.delitem(sys.modules, f"capstan.{path}", raising=False)
    assert importlib.import_module(f"capstan.{path}") is value
    assert value.__spec__ is spec


def test_a_module_in_a_module_of_tf_can_be_imported_by_its_path() -> None:
    program = "import capstan.io.gfile as gfile; print(gfile.exists('/'))"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "True\n"


def test_the_first_import_of_a_process_may_be_of_such_a_module() -> None:
    program = "from capstan.nn import relu; from capstan.layers import dense; print(relu.__name__)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "relu\n"


def test_modules_of_other_packages_are_not_found() -> None:
    assert importlib.util.find_spec("no_such_package") is None


def test_the_search_for_a_missing_module_raises_no_error_and_leaves_nothing() -> None:
    spec = importlib.util.find_spec("capstan.lacking")
    assert spec is not None
    assert spec.origin is None
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="has no attribute 'lacking'"):
            importlib.import_module("capstan.lacking")
    assert "capstan.lacking" not in sys.modules
