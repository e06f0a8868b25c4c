"""`tf.keras.backend`: the settings of Keras, and functions of tensors (python/keras/backend.py)."""

from typing import Any

from capstan.api.absent import absent
from capstan.api.layers import context
from capstan.api.layers.sessions import get_session as get_session
from capstan.api.layers.sessions import set_session as set_session
from capstan.api.layers.settings import SETTINGS as _SETTINGS
from capstan.api.layers.settings import data_format as _data_format
from capstan.api.layers.values import batch_get_value as batch_get_value
from capstan.api.layers.values import batch_set_value as batch_set_value
from capstan.api.layers.values import function as function
from capstan.api.layers.values import get_value as get_value
from capstan.api.layers.values import set_value as set_value
from capstan.framework import graph as graphs
from capstan.keras.activations import elu as elu
from capstan.keras.activations import hard_sigmoid as hard_sigmoid
from capstan.keras.activations import relu as relu
from capstan.keras.backend_convolutions import conv1d as conv1d
from capstan.keras.backend_convolutions import conv2d as conv2d
from capstan.keras.backend_convolutions import conv2d_transpose as conv2d_transpose
from capstan.keras.backend_convolutions import conv3d as conv3d
from capstan.keras.backend_convolutions import local_conv1d as local_conv1d
from capstan.keras.backend_convolutions import local_conv2d as local_conv2d
from capstan.keras.backend_convolutions import pool2d as pool2d
from capstan.keras.backend_convolutions import pool3d as pool3d
from capstan.keras.backend_convolutions import separable_conv2d as separable_conv2d
from capstan.keras.backend_ctc import ctc_batch_cost as ctc_batch_cost
from capstan.keras.backend_ctc import ctc_decode as ctc_decode
from capstan.keras.backend_ctc import ctc_label_dense_to_sparse as ctc_label_dense_to_sparse
from capstan.keras.backend_graphs import backend as backend
from capstan.keras.backend_graphs import count_params as count_params
from capstan.keras.backend_graphs import eval as eval  # noqa: A004
from capstan.keras.backend_graphs import foldl as foldl
from capstan.keras.backend_graphs import foldr as foldr
from capstan.keras.backend_graphs import get_uid as get_uid
from capstan.keras.backend_graphs import is_keras_tensor as is_keras_tensor
from capstan.keras.backend_graphs import (
    manual_variable_initialization as manual_variable_initialization,
)
from capstan.keras.backend_graphs import map_fn as map_fn
from capstan.keras.backend_graphs import name_scope as name_scope
from capstan.keras.backend_graphs import print_tensor as print_tensor
from capstan.keras.backend_graphs import reset_uids as reset_uids
from capstan.keras.backend_images import resize_images as resize_images
from capstan.keras.backend_images import resize_volumes as resize_volumes
from capstan.keras.backend_images import spatial_2d_padding as spatial_2d_padding
from capstan.keras.backend_images import spatial_3d_padding as spatial_3d_padding
from capstan.keras.backend_images import temporal_padding as temporal_padding
from capstan.keras.backend_normalization import batch_normalization as batch_normalization
from capstan.keras.backend_normalization import moving_average_update as moving_average_update
from capstan.keras.backend_normalization import (
    normalize_batch_in_training as normalize_batch_in_training,
)
from capstan.keras.backend_random import eye as eye
from capstan.keras.backend_random import random_binomial as random_binomial
from capstan.keras.backend_random import random_normal as random_normal
from capstan.keras.backend_random import random_normal_variable as random_normal_variable
from capstan.keras.backend_random import random_uniform as random_uniform
from capstan.keras.backend_random import random_uniform_variable as random_uniform_variable
from capstan.keras.backend_random import truncated_normal as truncated_normal
from capstan.keras.backend_variables import ones as ones
from capstan.keras.backend_variables import placeholder as placeholder
from capstan.keras.backend_variables import update as update
from capstan.keras.backend_variables import update_add as update_add
from capstan.keras.backend_variables import update_sub as update_sub
from capstan.keras.backend_variables import variable as variable
from capstan.keras.backend_variables import zeros as zeros
from capstan.keras.crossentropies import binary_crossentropy as binary_crossentropy
from capstan.keras.crossentropies import categorical_crossentropy as categorical_crossentropy
from capstan.keras.crossentropies import (
    sparse_categorical_crossentropy as sparse_categorical_crossentropy,
)
from capstan.keras.learning import in_test_phase as in_test_phase
from capstan.keras.learning import in_train_phase as in_train_phase
from capstan.keras.learning import learning_phase as learning_phase
from capstan.keras.learning import learning_phase_scope as learning_phase_scope
from capstan.keras.learning import set_learning_phase as set_learning_phase
from capstan.keras.products import batch_dot as batch_dot
from capstan.keras.products import dot as dot
from capstan.keras.recurrence import rnn as rnn
from capstan.keras.tensor_layout import arange as arange
from capstan.keras.tensor_layout import batch_flatten as batch_flatten
from capstan.keras.tensor_layout import bias_add as bias_add
from capstan.keras.tensor_layout import cast as cast
from capstan.keras.tensor_layout import cast_to_floatx as cast_to_floatx
from capstan.keras.tensor_layout import concatenate as concatenate
from capstan.keras.tensor_layout import constant as constant
from capstan.keras.tensor_layout import dtype as dtype
from capstan.keras.tensor_layout import expand_dims as expand_dims
from capstan.keras.tensor_layout import flatten as flatten
from capstan.keras.tensor_layout import gather as gather
from capstan.keras.tensor_layout import gradients as gradients
from capstan.keras.tensor_layout import is_sparse as is_sparse
from capstan.keras.tensor_layout import one_hot as one_hot
from capstan.keras.tensor_layout import ones_like as ones_like
from capstan.keras.tensor_layout import permute_dimensions as permute_dimensions
from capstan.keras.tensor_layout import repeat as repeat
from capstan.keras.tensor_layout import repeat_elements as repeat_elements
from capstan.keras.tensor_layout import reshape as reshape
from capstan.keras.tensor_layout import reverse as reverse
from capstan.keras.tensor_layout import shape as shape
from capstan.keras.tensor_layout import squeeze as squeeze
from capstan.keras.tensor_layout import stack as stack
from capstan.keras.tensor_layout import stop_gradient as stop_gradient
from capstan.keras.tensor_layout import tile as tile
from capstan.keras.tensor_layout import to_dense as to_dense
from capstan.keras.tensor_layout import transpose as transpose
from capstan.keras.tensor_layout import zeros_like as zeros_like
from capstan.keras.tensor_math import abs as abs  # noqa: A004
from capstan.keras.tensor_math import all as all  # noqa: A004
from capstan.keras.tensor_math import any as any  # noqa: A004
from capstan.keras.tensor_math import argmax as argmax
from capstan.keras.tensor_math import argmin as argmin
from capstan.keras.tensor_math import clip as clip
from capstan.keras.tensor_math import cos as cos
from capstan.keras.tensor_math import cumprod as cumprod
from capstan.keras.tensor_math import cumsum as cumsum
from capstan.keras.tensor_math import dropout as dropout
from capstan.keras.tensor_math import equal as equal
from capstan.keras.tensor_math import exp as exp
from capstan.keras.tensor_math import greater as greater
from capstan.keras.tensor_math import greater_equal as greater_equal
from capstan.keras.tensor_math import in_top_k as in_top_k
from capstan.keras.tensor_math import l2_normalize as l2_normalize
from capstan.keras.tensor_math import less as less
from capstan.keras.tensor_math import less_equal as less_equal
from capstan.keras.tensor_math import log as log
from capstan.keras.tensor_math import max as max  # noqa: A004
from capstan.keras.tensor_math import maximum as maximum
from capstan.keras.tensor_math import mean as mean
from capstan.keras.tensor_math import min as min  # noqa: A004
from capstan.keras.tensor_math import minimum as minimum
from capstan.keras.tensor_math import not_equal as not_equal
from capstan.keras.tensor_math import pow as pow  # noqa: A004
from capstan.keras.tensor_math import prod as prod
from capstan.keras.tensor_math import round as round  # noqa: A004
from capstan.keras.tensor_math import sigmoid as sigmoid
from capstan.keras.tensor_math import sign as sign
from capstan.keras.tensor_math import sin as sin
from capstan.keras.tensor_math import softmax as softmax
from capstan.keras.tensor_math import softplus as softplus
from capstan.keras.tensor_math import softsign as softsign
from capstan.keras.tensor_math import sqrt as sqrt
from capstan.keras.tensor_math import square as square
from capstan.keras.tensor_math import std as std
from capstan.keras.tensor_math import sum as sum  # noqa: A004
from capstan.keras.tensor_math import switch as switch
from capstan.keras.tensor_math import tanh as tanh
from capstan.keras.tensor_math import var as var


def epsilon() -> float:
    """Return the small number that layers add to divisors, 1e-7 by default."""
    return _SETTINGS.epsilon


def set_epsilon(value: float) -> None:
    """Set the value of `epsilon()`."""
    _SETTINGS.epsilon = value


def floatx() -> str:
    """Return the type of variables and inputs whose type is not given, "float32" by default."""
    return _SETTINGS.floatx


def set_floatx(value: str) -> None:
    """Set the value of `floatx()`.

    Raises:
        ValueError: the value is none of float16, float32 and float64.
    """
    if value not in ("float16", "float32", "float64"):
        raise ValueError(f"Unknown floatx type: {value}. Use float16, float32 or float64")
    _SETTINGS.floatx = value


def image_data_format() -> str:
    """Return the format of images if a layer has no `data_format`: channels_last by default."""
    return _SETTINGS.image_data_format


def set_image_data_format(data_format: str) -> None:
    """Set the value of `image_data_format()`.

    Raises:
        ValueError: the format is neither channels_first nor channels_last.
    """
    _SETTINGS.image_data_format = _data_format(data_format)


def int_shape(x: Any) -> tuple[int | None, ...] | None:
    """Return the static shape of a tensor or variable as a tuple, or None if it is unknown."""
    return None if x.shape.ndims is None else tuple(x.shape.as_list())


def ndim(x: Any) -> int | None:
    """Return the number of axes, or None if it is unknown."""
    rank: int | None = x.shape.ndims
    return rank


def clear_session() -> None:
    """Replace the default graph by a new one, in which the names of layers begin again.

    Also close the session of Keras.

    Raises:
        AssertionError: a `with graph.as_default()` block is open.
    """
    graph = graphs.get_default_graph()
    session = context.of(graph).session
    if session is not None:
        session.close()
    context.forget(graph)
    graphs.reset_default_graph()


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.backend", name)
