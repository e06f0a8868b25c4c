"""The names that TensorFlow 1 gives to graphs, types, devices, variables and scopes."""

from capstan.api.context import (
    add_to_collection,
    add_to_collections,
    colocate_with,
    container,
    control_dependencies,
    device,
    get_collection,
    get_collection_ref,
    name_scope,
)
from capstan.api.init_ops import (
    constant_initializer,
    glorot_normal_initializer,
    glorot_uniform_initializer,
    ones_initializer,
    orthogonal_initializer,
    random_normal_initializer,
    random_uniform_initializer,
    truncated_normal_initializer,
    uniform_unit_scaling_initializer,
    variance_scaling_initializer,
    zeros_initializer,
)
from capstan.api.partitioners import (
    create_partitioned_variables,
    fixed_size_partitioner,
    min_max_variable_partitioner,
    variable_axis_size_partitioner,
)
from capstan.api.ref_variables import RefVariable as RefVariable
from capstan.api.resource_variables import (
    disable_resource_variables,
    enable_resource_variables,
    resource_variables_enabled,
)
from capstan.api.scope_block import variable_scope
from capstan.api.variable_collections import (
    global_variables,
    global_variables_initializer,
    local_variables,
    local_variables_initializer,
    model_variables,
    moving_average_variables,
    report_uninitialized_variables,
    trainable_variables,
    variables_initializer,
)
from capstan.api.variable_creation import variable_creator_scope
from capstan.api.variable_scope import (
    AUTO_REUSE,
    VariableScope,
    get_local_variable,
    get_variable,
    get_variable_scope,
    no_regularizer,
)
from capstan.api.variables import Variable
from capstan.core.devices import DeviceSpec
from capstan.core.dimension import Dimension
from capstan.core.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    resource,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
    variant,
)
from capstan.core.dtypes import bool_ as bool
from capstan.core.tensor_shape import TensorShape, dimension_at_index, dimension_value
from capstan.framework.body_graph import init_scope
from capstan.framework.collections import GraphKeys
from capstan.framework.conversions import register_tensor_conversion_function
from capstan.framework.convert import (
    constant,
    convert_to_tensor,
    convert_to_tensor_or_indexed_slices,
)
from capstan.framework.defaults import get_default_session
from capstan.framework.gradients import AggregationMethod, UnconnectedGradients, gradients
from capstan.framework.graph import (
    Graph,
    Operation,
    Tensor,
    get_default_graph,
    reset_default_graph,
)
from capstan.framework.indexed_slices import IndexedSlices
from capstan.framework.random_seed import get_seed
from capstan.framework.registered_gradients import (
    NoGradient,
    NotDifferentiable,
    RegisterGradient,
)

no_gradient = NotDifferentiable

__all__ = [
    "AUTO_REUSE",
    "AggregationMethod",
    "DType",
    "DeviceSpec",
    "Dimension",
    "Graph",
    "GraphKeys",
    "IndexedSlices",
    "NoGradient",
    "NotDifferentiable",
    "Operation",
    "RegisterGradient",
    "Tensor",
    "TensorShape",
    "UnconnectedGradients",
    "Variable",
    "VariableScope",
    "add_to_collection",
    "add_to_collections",
    "as_dtype",
    "bfloat16",
    "bool",
    "colocate_with",
    "complex64",
    "complex128",
    "constant",
    "constant_initializer",
    "container",
    "control_dependencies",
    "convert_to_tensor",
    "convert_to_tensor_or_indexed_slices",
    "create_partitioned_variables",
    "device",
    "dimension_at_index",
    "dimension_value",
    "disable_resource_variables",
    "double",
    "enable_resource_variables",
    "fixed_size_partitioner",
    "float16",
    "float32",
    "float64",
    "get_collection",
    "get_collection_ref",
    "get_default_graph",
    "get_default_session",
    "get_local_variable",
    "get_seed",
    "get_variable",
    "get_variable_scope",
    "global_variables",
    "global_variables_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "gradients",
    "half",
    "init_scope",
    "int8",
    "int16",
    "int32",
    "int64",
    "local_variables",
    "local_variables_initializer",
    "min_max_variable_partitioner",
    "model_variables",
    "moving_average_variables",
    "name_scope",
    "no_gradient",
    "no_regularizer",
    "ones_initializer",
    "orthogonal_initializer",
    "random_normal_initializer",
    "random_uniform_initializer",
    "register_tensor_conversion_function",
    "report_uninitialized_variables",
    "reset_default_graph",
    "resource",
    "resource_variables_enabled",
    "string",
    "trainable_variables",
    "truncated_normal_initializer",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uniform_unit_scaling_initializer",
    "variable_axis_size_partitioner",
    "variable_creator_scope",
    "variable_scope",
    "variables_initializer",
    "variance_scaling_initializer",
    "variant",
    "zeros_initializer",
]  # fmt: skip
