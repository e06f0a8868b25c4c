"""`tf.contrib.framework`: argument scopes, model variables, checks and readers of checkpoints."""

import sys
from typing import Any

from capstan.api.absent import absent
from capstan.api.check_ops import is_tensor as is_tensor
from capstan.api.check_types import assert_same_float_dtype as assert_same_float_dtype
from capstan.api.check_types import assert_scalar as assert_scalar
from capstan.api.check_types import is_non_decreasing as is_non_decreasing
from capstan.api.check_types import is_numeric_tensor as is_numeric_tensor
from capstan.api.check_types import is_strictly_increasing as is_strictly_increasing
from capstan.api.deprecation import deprecated as deprecated
from capstan.api.deprecation import deprecated_arg_values as deprecated_arg_values
from capstan.api.deprecation import deprecated_args as deprecated_args
from capstan.api.ordering_ops import argsort as argsort
from capstan.api.ordering_ops import sort as sort
from capstan.api.orthogonal_kernels import (
    convolutional_delta_orthogonal as convolutional_delta_orthogonal,
)
from capstan.api.orthogonal_kernels import (
    convolutional_orthogonal_1d as convolutional_orthogonal_1d,
)
from capstan.api.orthogonal_kernels import (
    convolutional_orthogonal_2d as convolutional_orthogonal_2d,
)
from capstan.api.orthogonal_kernels import (
    convolutional_orthogonal_3d as convolutional_orthogonal_3d,
)
from capstan.api.record_input import RecordInput as RecordInput
from capstan.api.script_ops import py_func as py_func
from capstan.api.smart_cond import smart_case as smart_case
from capstan.api.smart_cond import smart_cond as smart_cond
from capstan.api.smart_cond import smart_constant_value as smart_constant_value
from capstan.api.sparse_ops import (
    convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor,
)
from capstan.api.type_spec import TensorSpec as TensorSpec
from capstan.contrib.framework.argument_scopes import add_arg_scope as add_arg_scope
from capstan.contrib.framework.argument_scopes import arg_scope as arg_scope
from capstan.contrib.framework.argument_scopes import arg_scope_func_key as arg_scope_func_key
from capstan.contrib.framework.argument_scopes import arg_scoped_arguments as arg_scoped_arguments
from capstan.contrib.framework.argument_scopes import current_arg_scope as current_arg_scope
from capstan.contrib.framework.argument_scopes import has_arg_scope as has_arg_scope
from capstan.contrib.framework.bounded_spec import BoundedTensorSpec as BoundedTensorSpec
from capstan.contrib.framework.graphs import get_graph_from_inputs as get_graph_from_inputs
from capstan.contrib.framework.graphs import get_name_scope as get_name_scope
from capstan.contrib.framework.graphs import get_placeholders as get_placeholders
from capstan.contrib.framework.graphs import prepend_name_scope as prepend_name_scope
from capstan.contrib.framework.graphs import strip_name_scope as strip_name_scope
from capstan.contrib.framework.restoring import assign_from_checkpoint as assign_from_checkpoint
from capstan.contrib.framework.restoring import (
    assign_from_checkpoint_fn as assign_from_checkpoint_fn,
)
from capstan.contrib.framework.restoring import assign_from_values as assign_from_values
from capstan.contrib.framework.restoring import assign_from_values_fn as assign_from_values_fn
from capstan.contrib.framework.shape_checks import assert_scalar_int as assert_scalar_int
from capstan.contrib.framework.shape_checks import reduce_sum_n as reduce_sum_n
from capstan.contrib.framework.shape_checks import (
    remove_squeezable_dimensions as remove_squeezable_dimensions,
)
from capstan.contrib.framework.shape_checks import with_same_shape as with_same_shape
from capstan.contrib.framework.shape_checks import with_shape as with_shape
from capstan.contrib.framework.variables import VariableDeviceChooser as VariableDeviceChooser
from capstan.contrib.framework.variables import add_model_variable as add_model_variable
from capstan.contrib.framework.variables import filter_variables as filter_variables
from capstan.contrib.framework.variables import get_local_variables as get_local_variables
from capstan.contrib.framework.variables import get_model_variables as get_model_variables
from capstan.contrib.framework.variables import get_trainable_variables as get_trainable_variables
from capstan.contrib.framework.variables import get_unique_variable as get_unique_variable
from capstan.contrib.framework.variables import get_variable_full_name as get_variable_full_name
from capstan.contrib.framework.variables import get_variables as get_variables
from capstan.contrib.framework.variables import get_variables_by_name as get_variables_by_name
from capstan.contrib.framework.variables import get_variables_by_suffix as get_variables_by_suffix
from capstan.contrib.framework.variables import get_variables_to_restore as get_variables_to_restore
from capstan.contrib.framework.variables import global_variable as global_variable
from capstan.contrib.framework.variables import local_variable as local_variable
from capstan.contrib.framework.variables import model_variable as model_variable
from capstan.contrib.framework.variables import variable as variable
from capstan.contrib.framework.variables import zero_initializer as zero_initializer
from capstan.core import alias, public
from capstan.train.checkpoint_reader import list_variables as list_variables
from capstan.train.checkpoint_reader import load_checkpoint as load_checkpoint
from capstan.train.checkpoint_reader import load_variable as load_variable
from capstan.train.initial_checkpoint import init_from_checkpoint as init_from_checkpoint
from capstan.train.remapped_matrices import (
    load_and_remap_matrix_initializer as load_and_remap_matrix_initializer,
)
from capstan.train.remapped_matrices import (
    load_embedding_initializer as load_embedding_initializer,
)
from capstan.train.remapped_matrices import (
    load_linear_multiclass_bias_initializer as load_linear_multiclass_bias_initializer,
)
from capstan.train.remapped_matrices import (
    load_variable_slot_initializer as load_variable_slot_initializer,
)
from capstan.train.steps import assert_global_step as assert_global_step
from capstan.train.steps import assert_or_get_global_step as assert_or_get_global_step
from capstan.train.steps import create_global_step as create_global_step
from capstan.train.steps import get_global_step as get_global_step
from capstan.train.steps import get_or_create_global_step as get_or_create_global_step

alias.grow(
    __name__,
    {
        "nest": ("capstan.api.nest", "capstan.api.nest_paths", "capstan.api.nest_shallow"),
        "python.framework": (__name__,),
        "python.framework.checkpoint_utils": (__name__,),
        "python.framework.graph_util": (__name__,),
        "python.framework.tensor_util": (__name__,),
        "python.ops": (__name__,),
        "python.ops.audio_ops": ("capstan.api.audio",),
        "python.ops.checkpoint_ops": ("capstan.train.remapped_matrices",),
        "python.ops.arg_scope": ("capstan.contrib.framework.argument_scopes",),
        "python.ops.ops": (__name__,),
        "python.ops.variables": (__name__,),
    },
)
# As in TensorFlow, `from tensorflow.contrib.framework.python.ops import arg_scope` finds the
# function, and `python.ops.arg_scope` is nevertheless a module.
sys.modules[f"{__name__}.python.ops"].__dict__["arg_scope"] = arg_scope


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.framework", name)


def __dir__() -> list[str]:
    return public.names(globals())
