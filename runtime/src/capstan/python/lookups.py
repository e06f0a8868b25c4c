"""The names of `tf.python` that a table of names cannot give: computed names, and results of calls.

A lookup takes a name in a module of TensorFlow. It returns what Capstan has for this name, or
raises AttributeError. It imports a module only when it is asked for a name.
"""

import functools
import importlib
import re
from collections.abc import Callable
from typing import Any

from capstan.core import dtypes
from capstan.framework import generated, opdef

COLUMNS = tuple(
    f"capstan.api.feature_column.{name}"
    for name in ("categorical", "columns", "composed", "dense", "embedding")
)
"""The modules of the classes of feature columns."""

_OLD_COLUMNS = (
    *("capstan.api.feature_column.custom", *COLUMNS),
    *("capstan.api.feature_column.models", "capstan.api.feature_column"),
)


def op(name: str) -> Any:
    """Return the function that adds an op, such as `BroadcastGradientArgs` for its snake case.

    As in TensorFlow's modules of such functions, attributes may follow the inputs by position:
    first those without a default. The last argument is the name.
    """
    wanted = name.replace("_", "").lower()
    for row in opdef.all_rows():
        if row.name.lower() == wanted:
            return generated.function(row)
    raise AttributeError(name)


@functools.cache
def tree_op(name: str) -> Any:
    """Return the function that adds an op of boosted trees, by its name without this prefix."""
    whole = re.sub("^quantile_(add|flush)", r"quantile_stream_resource_\1", name)
    return op(f"boosted_trees_{whole}")


def logger(name: str) -> Any:
    """Return the logger of `tf.logging`, to which programs give handlers."""
    from capstan.api import logging

    if name == "_logger":
        return logging.get_logger()
    raise AttributeError(name)


def executor(name: str) -> Any:
    """Return a class of `train_and_evaluate`, whose name begins with an underscore there."""
    from capstan.estimator import training

    if name in ("_ContinuousEvalListener", "_TrainingExecutor", "_assert_eval_spec"):
        return getattr(training, name[1:])
    raise AttributeError(name)


def ref_dtype(name: str) -> Any:
    """Return the dtype of a reference to a variable, such as `float32_ref`."""
    if not name.endswith("_ref"):
        raise AttributeError(name)
    try:
        return dtypes.as_dtype(name)
    except TypeError:
        raise AttributeError(name) from None


def hidden(module: str) -> Callable[[str], Any]:
    """Return the lookup of functions of `module` that TensorFlow calls `_Enter` and not `enter`."""

    def find(name: str) -> Any:
        if not name.startswith("_"):
            raise AttributeError(name)
        words = "".join(f"_{each.lower()}" if each.isupper() else each for each in name)
        return getattr(importlib.import_module(module), words.lstrip("_"))

    return find


def ragged_conversion(name: str) -> Any:
    """Return a function that converts a RaggedTensor, or a tensor to one. They are its methods."""
    from capstan.api.ragged import tensor

    if name in ("from_sparse", "from_tensor", "to_sparse", "to_tensor"):
        return getattr(tensor.RaggedTensor, name)
    raise AttributeError(name)


def old_column(name: str) -> Any:
    """Return a class or function of columns by its older name, such as `_EmbeddingColumn`."""
    if name == "_LazyBuilder":
        return importlib.import_module("capstan.api.feature_column.columns").Features
    if name.startswith("_"):
        for module in _OLD_COLUMNS:
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
