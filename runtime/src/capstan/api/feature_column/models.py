"""The inputs of models, and linear models, made of feature columns.

Source: tensorflow/python/feature_column/feature_column.py.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from capstan.api import (
    array_ops,
    embedding_ops,
    init_ops,
    math_ops,
    nn,
    partitioned_variables,
    scope_block,
    sparse_math_ops,
)
from capstan.api import variable_scope as variable_scopes
from capstan.api.feature_column import columns
from capstan.core import dtypes
from capstan.framework import collections as keys
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor

_Keys = keys.GraphKeys


def make_parse_example_spec(feature_columns: Any) -> dict[str, Any]:
    """Return the features that columns read, for `tf.parse_example`.

    Raises:
        ValueError: an element is not a column, or two columns read one feature in different ways.
    """
    spec: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, columns.FeatureColumn):
            raise ValueError(  # noqa: TRY004 - TensorFlow's
                f"All feature_columns must be FeatureColumn instances. Given: {column}"
            )
        for key, feature in column.parse_example_spec.items():
            if spec.setdefault(key, feature) != feature:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. Given "
                    f"{feature} and {spec[key]}"
                )
    return spec


def input_layer(
    features: Mapping[str, Any],
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Any:
    """Return the numbers of dense columns side by side, a matrix with a row for each example.

    The columns are in the order of their names. The variables are in the scope `input_layer`, and
    in `weight_collections`. `cols_to_vars` gets the variables of each column, and
    `cols_to_output_tensors` its part of the matrix.

    Raises:
        ValueError: there is no column, a column is not dense, or two columns have one name.
    """
    chosen = in_order(feature_columns)
    for column in chosen:
        if not isinstance(column, columns.DenseColumn):
            raise ValueError(  # noqa: TRY004 - TensorFlow's
                "Items of feature_columns must be a _DenseColumn. You can wrap a categorical "
                f"column with an embedding_column or indicator_column. Given: {column}"
            )
    groups = weight_groups(weight_collections)
    batch, parts = columns.Features(features), []
    with scope_block.variable_scope(None, "input_layer", list(features.values())):
        for column in chosen:
            with scope_block.variable_scope(None, column.scope_name) as scope:
                part = dense_matrix(column, batch, groups, trainable)
                parts.append(part)
                if cols_to_vars is not None:
                    cols_to_vars[column] = _variables(scope)
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = part
        check_batch_sizes(chosen, parts)
        return array_ops.concat(parts, 1)


def linear_model(
    features: Mapping[str, Any],
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
) -> Any:
    """Return the weighted sum of all columns and a bias, a matrix with `units` columns.

    The weights begin at 0. If an example has several ids, `sparse_combiner` combines their weights.
    The variables are in the scope `linear_model`, and in `weight_collections`. `cols_to_vars` gets
    the variables of each column, and those of the key "bias".

    Raises:
        ValueError: there is no column, or two columns have one name.
    """
    chosen, groups = in_order(feature_columns), weight_groups(weight_collections)
    batch, sums = columns.Features(features), []
    with scope_block.variable_scope(None, "linear_model", list(features.values())):
        for column in chosen:
            with scope_block.variable_scope(None, column.scope_name) as scope:
                weights, weighted = _weighted_sum(
                    column, batch, units, sparse_combiner, groups, trainable
                )
                sums.append(weighted)
                if cols_to_vars is not None:
                    # A custom getter may have named the weights otherwise.
                    both = dict.fromkeys([*_parts(weights), *_variables(scope)])
                    cols_to_vars[column] = [*both]
        check_batch_sizes(chosen, sums)
        bias = _weights("bias_weights", [units], groups, trainable)
        if cols_to_vars is not None:
            cols_to_vars["bias"] = _parts(bias)
        total = math_ops.add_n(sums, name="weighted_sum_no_bias")
        return nn.bias_add(total, bias, name="weighted_sum")


def _weighted_sum(
    column: Any,
    batch: columns.Features,
    units: int,
    combiner: str,
    groups: list[str],
    trainable: bool,
) -> tuple[Any, Any]:
    """Return the weights of a column, and the weighted sum of the column for each example."""
    if not isinstance(column, columns.DenseColumn | columns.CategoricalColumn):
        raise ValueError(  # noqa: TRY004 - TensorFlow's
            "Items of feature_columns must be either a _DenseColumn or _CategoricalColumn. Given: "
            f"{column}"
        )
    if not isinstance(column, columns.CategoricalColumn):
        size = size_of(column)
        weights = _weights("weights", [size, units], groups, trainable)
        flat = dense_matrix(column, batch, groups, trainable)
        return weights, math_ops.matmul(flat, weights, name="weighted_sum")
    weights = _weights("weights", [column.num_buckets, units], groups, trainable)
    ids, shares = column.sparse_tensors(batch)
    return weights, embedding_ops.safe_embedding_lookup_sparse(
        weights,
        _rows(ids),
        None if shares is None else _rows(shares),
        combiner=combiner,
        name="weighted_sum",
    )


def _rows(ids: SparseTensor) -> SparseTensor:
    """Return a SparseTensor with two axes, of which the first is the example."""
    if embedding_ops.is_matrix(ids):
        return ids
    count = raw.Reshape(ids.dense_shape[0], [1])
    shape = array_ops.concat([count, math_ops.cast([-1], dtypes.int64)], 0)
    return sparse_math_ops.sparse_reshape(ids, shape)


def dense_matrix(column: Any, batch: columns.Features, groups: list[str], trainable: bool) -> Any:
    """Return the numbers of a dense column as a matrix with a row for each example."""
    tensor = column.dense_tensor(batch, groups, trainable)
    if tensor.shape.ndims == 2 and tensor.shape[1] == size_of(column):
        return tensor
    flat = raw.Reshape(tensor, raw.Pack([raw.Shape(tensor)[0], size_of(column)]))
    known = tensor.shape.as_list()[0] if tensor.shape.ndims is not None else None
    flat.set_shape([known, size_of(column)])
    return flat


def check_batch_sizes(chosen: list[Any], tensors: list[Any]) -> None:
    """Raise ValueError if the tensors of two columns have different numbers of examples."""
    known = [
        (column, tensor.shape.as_list()[0])
        for column, tensor in zip(chosen, tensors, strict=True)
        if tensor.shape.ndims is not None and tensor.shape.as_list()[0] is not None
    ]
    for column, size in known:
        first, expected = known[0]
        if size != expected:
            raise ValueError(
                "Batch size (first dimension) of each feature must be same. Batch size of columns "
                f"({first.name}, {column.name}): ({expected}, {size})"
            )


def size_of(column: Any) -> int:
    """Return the number of numbers that a column has for one example, or for one step."""
    size = 1
    for each in column.variable_shape:
        size *= int(each)  # a program may give a TensorShape
    return size


def _weights(name: str, shape: list[int], groups: list[str], trainable: bool) -> Any:
    return variable_scopes.get_variable(
        name,
        shape,
        dtypes.float32,
        init_ops.zeros_initializer(),
        trainable=trainable,
        collections=groups,
    )


def weight_groups(weight_collections: Any) -> list[str]:
    """Return the collections that weights of columns are put in."""
    wanted = [*(weight_collections or []), _Keys.GLOBAL_VARIABLES, _Keys.MODEL_VARIABLES]
    return list(dict.fromkeys(wanted))


def transform_features(features: Mapping[str, Any], feature_columns: Any) -> dict[Any, Any]:
    """Return the tensor that each column makes of the features, before any variable."""
    batch, chosen = columns.Features(features), in_order(feature_columns)
    with graphs.get_default_graph().name_scope("transform_features"):
        return {column: batch.get(column) for column in chosen}


def _parts(variable: Any) -> list[Any]:
    is_partitioned = isinstance(variable, partitioned_variables.PartitionedVariable)
    return list(variable) if is_partitioned else [variable]


def _variables(scope: variable_scopes.VariableScope) -> list[Any]:
    graph = graphs.get_default_graph()
    return graph.get_collection(_Keys.GLOBAL_VARIABLES, f"{scope.name}/")


def in_order(feature_columns: Any) -> list[Any]:
    """Return columns in the order of their names."""
    if isinstance(feature_columns, columns.FeatureColumn):
        feature_columns = [feature_columns]
    if isinstance(feature_columns, Iterator):
        feature_columns = list(feature_columns)
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")  # noqa: TRY004 - TensorFlow's
    feature_columns = list(feature_columns)
    if not feature_columns:
        raise ValueError("feature_columns must not be empty.")
    by_name: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, columns.FeatureColumn):
            raise ValueError(  # noqa: TRY004 - TensorFlow's
                f"Items of feature_columns must be a FeatureColumn. Given (type {type(column)}): "
                f"{column}."
            )
        if column.name in by_name:
            raise ValueError(
                f"Duplicate feature column name found for columns: {column} and "
                f"{by_name[column.name]}. This usually means that these columns refer to same base "
                "feature. Either one must be discarded or a duplicated but renamed item must be "
                "inserted in features dict."
            )
        by_name[column.name] = column
    return [by_name[name] for name in sorted(by_name)]
