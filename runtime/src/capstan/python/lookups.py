"""The names of `tf.python` that Capstan's modules have by another name.

A lookup takes a name in a module of TensorFlow. It returns what Capstan has for this name, or
raises AttributeError. It imports a module only when it is asked for a name.
"""

import importlib
import re
from collections.abc import Callable
from typing import Any

from capstan.core import dtypes
from capstan.framework import opdef
from capstan.framework.raw import raw

COLUMNS = tuple(
    f"capstan.api.feature_column.{name}"
    for name in ("categorical", "columns", "composed", "dense", "embedding")
)
"""The modules of the classes of feature columns."""


def op(name: str) -> Any:
    """Return the function that adds an op, such as `BroadcastGradientArgs` for its snake case."""
    wanted = name.replace("_", "").lower()
    for row in opdef.all_rows():
        if row.name.lower() == wanted:
            return getattr(raw, row.name)
    raise AttributeError(name)


def tree_op(name: str) -> Any:
    """Return the function that adds an op of boosted trees, by its name without this prefix."""
    whole = re.sub("^quantile_(add|flush)", r"quantile_stream_resource_\1", name)
    return op(f"boosted_trees_{whole}")


def old_tensor_util(name: str) -> Any:
    """Return the function that had this name before TensorFlow 1.0."""
    from capstan.api import tensor_messages

    if name == "MakeNdarray":
        return tensor_messages.make_ndarray
    raise AttributeError(name)


def test_case(name: str) -> Any:
    from capstan.api import testing_case

    if name == "TensorFlowTestCase":
        return testing_case.TestCase
    raise AttributeError(name)


def logger(name: str) -> Any:
    """Return the logger of `tf.logging`, to which programs give handlers."""
    from capstan.api import logging

    if name == "_logger":
        return logging.get_logger()
    raise AttributeError(name)


def summary_writer_cache(name: str) -> Any:
    """Return the class of the writers of summaries by its name from before TensorFlow 1.0."""
    from capstan.train import summary_writer

    if name == "SummaryWriterCache":
        return summary_writer.FileWriterCache
    raise AttributeError(name)


def executor(name: str) -> Any:
    """Return a class of `train_and_evaluate`, whose name begins with an underscore there."""
    from capstan.estimator import training

    if name in ("_ContinuousEvalListener", "_TrainingExecutor", "_assert_eval_spec"):
        return getattr(training, name[1:])
    raise AttributeError(name)


def coordinator(name: str) -> Any:
    """Return the function that tells whether `train_and_evaluate` needs a coordinator."""
    from capstan.estimator import training

    if name == "should_run_distribute_coordinator":
        return training.should_run_distribute_coordinator
    raise AttributeError(name)


def ref_dtype(name: str) -> Any:
    """Return the dtype of a reference to a variable, such as `float32_ref`."""
    if not name.endswith("_ref"):
        raise AttributeError(name)
    try:
        return dtypes.as_dtype(name)
    except TypeError:
        raise AttributeError(name) from None


def new_variable(name: str) -> Any:
    """Return the class of variables by the name that it has had since TensorFlow 1.12."""
    from capstan.api import variables

    if name == "VariableV1":
        return variables.Variable
    raise AttributeError(name)


def partition_info(name: str) -> Any:
    """Return the class of `partition_info`, whose name begins with an underscore in TensorFlow."""
    from capstan.api import partitions

    if name == "_PartitionInfo":
        return partitions.PartitionInfo
    raise AttributeError(name)


def hidden(module: str) -> Callable[[str], Any]:
    """Return the lookup of functions of `module` that TensorFlow calls `_Enter` and not `enter`."""

    def find(name: str) -> Any:
        if not name.startswith("_"):
            raise AttributeError(name)
        words = "".join(f"_{each.lower()}" if each.isupper() else each for each in name)
        return getattr(importlib.import_module(module), words.lstrip("_"))

    return find


def python_functions(name: str) -> Any:
    """Return the functions that `py_func` has registered in this process."""
    from capstan.resources import python_functions

    if name == "_py_funcs":
        return python_functions.FUNCTIONS
    raise AttributeError(name)


def old_column(name: str) -> Any:
    """Return a class of columns by its older name, such as `_EmbeddingColumn`."""
    if name.startswith("_"):
        for module in COLUMNS:
            found = getattr(importlib.import_module(module), name[1:], None)
            if found is not None:
                return found
    raise AttributeError(name)


def session_layer(name: str) -> Any:
    """Return a class of sessions, whose name begins with an underscore in TensorFlow."""
    from capstan.train import hooked_session, wrapped_session

    for module in (wrapped_session, hooked_session):
        if name.startswith("_") and hasattr(module, name[1:]):
            return getattr(module, name[1:])
    raise AttributeError(name)
