"""`tf.keras.utils`: arrays of labels, and names of a program's objects (python/keras/utils)."""

from typing import Any

import numpy as np

from capstan.api.absent import absent
from capstan.keras.data_sequence import Sequence as Sequence
from capstan.keras.downloads import get_file as get_file
from capstan.keras.enqueuers import GeneratorEnqueuer as GeneratorEnqueuer
from capstan.keras.enqueuers import OrderedEnqueuer as OrderedEnqueuer
from capstan.keras.enqueuers import SequenceEnqueuer as SequenceEnqueuer
from capstan.keras.flipped_kernels import (
    convert_all_kernels_in_model as convert_all_kernels_in_model,
)
from capstan.keras.hdf5_matrix import HDF5Matrix as HDF5Matrix
from capstan.keras.input_sources import get_source_inputs as get_source_inputs
from capstan.keras.multi_gpu import multi_gpu_model as multi_gpu_model
from capstan.keras.objects import custom_object_scope as custom_object_scope
from capstan.keras.objects import deserialize_keras_object as deserialize_keras_object
from capstan.keras.objects import get_custom_objects as get_custom_objects
from capstan.keras.objects import serialize_keras_object as serialize_keras_object
from capstan.keras.progress_bar import Progbar as Progbar

CustomObjectScope = custom_object_scope


def to_categorical(y: Any, num_classes: int | None = None, dtype: Any = "float32") -> np.ndarray:
    """Return an array with a 1 at the class of each label, and else 0.

    Labels of the shape [...] become an array of the shape [..., classes].

    `num_classes` is the largest label plus 1 by default. A last axis of size 1 is left out.
    """
    labels = np.asarray(y, dtype="int")
    shape = labels.shape[:-1] if labels.ndim > 1 and labels.shape[-1] == 1 else labels.shape
    flat = labels.ravel()
    count = num_classes or int(flat.max()) + 1
    result = np.zeros((len(flat), count), dtype=dtype)
    result[np.arange(len(flat)), flat] = 1
    return result.reshape(*shape, count)


def normalize(x: Any, axis: int = -1, order: int = 2) -> np.ndarray:
    """Return the array with the norm 1 along an axis. Vectors of zeros stay."""
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    result: np.ndarray = x / np.expand_dims(norms, axis)
    return result


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.utils", name)
