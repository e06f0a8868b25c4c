"""Ops that read SequenceExample protocol buffers (python/ops/parsing_ops.py)."""

from collections.abc import Mapping
from typing import Any

from capstan.api import example_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert, sparse_tensor
from capstan.framework.raw import raw

__all__ = ["parse_sequence_example", "parse_single_sequence_example"]


def parse_single_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the features of a serialized SequenceExample, and its lists of features, by name.

    `context_features` maps names to FixedLenFeature and VarLenFeature. `sequence_features` maps
    names to FixedLenSequenceFeature, whose tensor has a row for each feature of the list, and
    VarLenFeature. A list with `allow_missing` may be missing, and is then empty. With
    `example_name`, error messages have this name.

    Raises:
        ValueError: there are no features, or a feature is invalid.
    """
    if not context_features and not sequence_features:
        raise ValueError("Missing features.")
    varying = example_ops.VarLenFeature
    context = example_ops.columns_of(
        _checked(context_features, varying, example_ops.FixedLenFeature)
    )
    lists = _checked(sequence_features, varying, example_ops.FixedLenSequenceFeature)
    sparse = [key for key in sorted(lists) if isinstance(lists[key], varying)]
    dense = [key for key in sorted(lists) if key not in sparse]
    with scoped(name, "ParseSingleSequenceExample", [serialized]) as scope:
        nameless: Any = convert.constant([], dtypes.string)
        found = raw.ParseSingleSequenceExample(
            serialized,
            convert.constant([key for key in dense if lists[key].allow_missing], dtypes.string),
            context.sparse_keys,
            context.keys,
            sparse,
            dense,
            example_ops.default_tensors(context),
            nameless if example_name is None else example_name,
            Ncontext_sparse=len(context.sparse_keys),
            Ncontext_dense=len(context.keys),
            Nfeature_list_sparse=len(sparse),
            Nfeature_list_dense=len(dense),
            context_sparse_types=context.sparse_types,
            Tcontext_dense=context.types,
            context_dense_shapes=context.shapes,
            feature_list_sparse_types=[dtypes.as_dtype(lists[key].dtype) for key in sparse],
            feature_list_dense_types=[dtypes.as_dtype(lists[key].dtype) for key in dense],
            feature_list_dense_shapes=[tensor_shape.as_shape(lists[key].shape) for key in dense],
            name=scope,
        )
        rows = zip(
            found.feature_list_sparse_indices,
            found.feature_list_sparse_values,
            found.feature_list_sparse_shapes,
            strict=True,
        )
        tensors = [sparse_tensor.SparseTensor(*parts) for parts in rows]
        return (
            context.named(
                found.context_sparse_indices,
                found.context_sparse_values,
                found.context_sparse_shapes,
                found.context_dense_values,
            ),
            dict(zip([*sparse, *dense], [*tensors, *found.feature_list_dense_values], strict=True)),
        )


def parse_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the features of a batch of SequenceExamples, their lists of features, and lengths.

    `serialized` is a vector. The features are as for `parse_single_sequence_example`. The first
    axis of each tensor is the example. In a tensor of lists, zeros or "" follow a short list, and
    the third result has the length of each list.

    Raises:
        ValueError: there are no features, or a feature is invalid.
    """
    if not context_features and not sequence_features:
        raise ValueError("Both `context_features` and `sequence_features` arguments are empty.")
    varying = example_ops.VarLenFeature
    context = example_ops.columns_of(
        _checked(context_features, varying, example_ops.FixedLenFeature)
    )
    lists = _checked(sequence_features, varying, example_ops.FixedLenSequenceFeature)
    sparse = [key for key in sorted(lists) if isinstance(lists[key], varying)]
    dense = [key for key in sorted(lists) if key not in sparse]
    with scoped(name, "ParseSequenceExample", [serialized]) as scope:
        nameless: Any = convert.constant([], dtypes.string)
        found = raw.ParseSequenceExample(
            serialized,
            nameless if example_names is None else example_names,
            example_ops.default_tensors(context),
            feature_list_dense_missing_assumed_empty=[
                key for key in dense if lists[key].allow_missing
            ],
            context_sparse_keys=context.sparse_keys,
            context_dense_keys=context.keys,
            feature_list_sparse_keys=sparse,
            feature_list_dense_keys=dense,
            Ncontext_sparse=len(context.sparse_keys),
            Ncontext_dense=len(context.keys),
            Nfeature_list_sparse=len(sparse),
            Nfeature_list_dense=len(dense),
            context_sparse_types=context.sparse_types,
            Tcontext_dense=context.types,
            context_dense_shapes=context.shapes,
            feature_list_sparse_types=[dtypes.as_dtype(lists[key].dtype) for key in sparse],
            feature_list_dense_types=[dtypes.as_dtype(lists[key].dtype) for key in dense],
            feature_list_dense_shapes=[tensor_shape.as_shape(lists[key].shape) for key in dense],
            name=scope,
        )
        rows = zip(
            found.feature_list_sparse_indices,
            found.feature_list_sparse_values,
            found.feature_list_sparse_shapes,
            strict=True,
        )
        tensors = [sparse_tensor.SparseTensor(*parts) for parts in rows]
        return (
            context.named(
                found.context_sparse_indices,
                found.context_sparse_values,
                found.context_sparse_shapes,
                found.context_dense_values,
            ),
            dict(zip([*sparse, *dense], [*tensors, *found.feature_list_dense_values], strict=True)),
            dict(zip(dense, found.feature_list_dense_lengths, strict=True)),
        )


def _checked(features: Mapping[str, Any] | None, *kinds: Any) -> Mapping[str, Any]:
    """Return the features, which must be of these kinds."""
    for key, feature in (features or {}).items():
        if not isinstance(feature, kinds):
            raise ValueError(f"Invalid feature {key}:{feature}.")  # noqa: TRY004 - TensorFlow's
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}.")
        if getattr(feature, "shape", ()) is None:
            raise ValueError(f"Missing shape for feature {key}.")
    return features or {}
