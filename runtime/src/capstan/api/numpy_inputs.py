"""Datasets of arrays that are not in the graph (python/distribute/numpy_dataset.py)."""

from typing import Any

import numpy as np

from capstan.api import creation_ops, data_structure, dataset, resource_variables


def dataset_of(arrays: Any, session: Any = None) -> dataset.Dataset:
    """Return the dataset of the slices along axis 0 of arrays, which may be nested.

    Each array is in a variable, to which `session` assigns it. The default is the default session.
    The initializer of the variable sets it to zeros. A list is an array.

    Raises:
        ValueError: there is no session, or the arrays have different numbers of slices.
    """
    kept = data_structure.mapped(lambda leaf: _kept(np.asarray(leaf), session), arrays)
    return dataset.Dataset.from_tensor_slices(kept)


def _kept(array: Any, session: Any) -> Any:
    # A class of its own: strategies make no copies of the variable.
    variable = resource_variables.ResourceVariable(
        lambda: creation_ops.zeros(array.shape, array.dtype), trainable=False, name="numpy_input"
    )
    variable.load(array, session)
    return variable
