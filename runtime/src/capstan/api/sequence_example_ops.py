"""Ops that read SequenceExample protocol buffers (python/ops/parsing_ops.py)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    columns = _columns_of(context_features, sequence_features)
    with scoped(name, "ParseSingleSequenceExample", [serialized]) as scope:
        nameless: Any = convert.constant([], dtypes.string)
        parsed = raw.ParseSingleSequenceExample(
            serialized,
            convert.constant(columns.optional, dtypes.string),
            columns.context.sparse_keys,
            columns.context.keys,
            columns.sparse,
            columns.dense,
            example_ops.default_tensors(columns.context),
            nameless if example_name is None else example_name,
            **columns.attributes(),
            name=scope,
        )
        return columns.named(parsed)


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
    columns = _columns_of(context_features, sequence_features)
    with scoped(name, "ParseSequenceExample", [serialized]) as scope:
        nameless: Any = convert.constant([], dtypes.string)
        parsed = raw.ParseSequenceExample(
            serialized,
            nameless if example_names is None else example_names,
            example_ops.default_tensors(columns.context),
            feature_list_dense_missing_assumed_empty=columns.optional,
            context_sparse_keys=columns.context.sparse_keys,
            context_dense_keys=columns.context.keys,
            feature_list_sparse_keys=columns.sparse,
            feature_list_dense_keys=columns.dense,
            **columns.attributes(),
            name=scope,
        )
        return (
            *columns.named(parsed),
            dict(zip(columns.dense, parsed.feature_list_dense_lengths, strict=True)),
        )


@dataclass(frozen=True, slots=True)
class _Columns:
    """The features of a SequenceExample, and its lists of features."""

    context: example_ops.Columns
    lists: Mapping[str, Any]
    sparse: Sequence[str]
    """The names of the lists that become sparse tensors, in order."""
    dense: Sequence[str]

    @property
    def optional(self) -> list[str]:
        """The names of the dense lists that may be missing."""
        return [key for key in self.dense if self.lists[key].allow_missing]

    def attributes(self) -> dict[str, Any]:
        """Return the attributes that the ops for one example and for a batch share."""
        return {
            "Ncontext_sparse": len(self.context.sparse_keys),
            "Ncontext_dense": len(self.context.keys),
            "Nfeature_list_sparse": len(self.sparse),
            "Nfeature_list_dense": len(self.dense),
            "context_sparse_types": self.context.sparse_types,
            "Tcontext_dense": self.context.types,
            "context_dense_shapes": self.context.shapes,
            "feature_list_sparse_types": [
                dtypes.as_dtype(self.lists[key].dtype) for key in self.sparse
            ],
            "feature_list_dense_types": [
                dtypes.as_dtype(self.lists[key].dtype) for key in self.dense
            ],
            "feature_list_dense_shapes": [
                tensor_shape.as_shape(self.lists[key].shape) for key in self.dense
            ],
        }

    def named(self, parsed: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the features and the lists by name, from the outputs of an op."""
        rows = zip(
            parsed.feature_list_sparse_indices,
            parsed.feature_list_sparse_values,
            parsed.feature_list_sparse_shapes,
            strict=True,
        )
        lists = [sparse_tensor.SparseTensor(*parts) for parts in rows]
        lists += parsed.feature_list_dense_values
        features = self.context.named(
            parsed.context_sparse_indices,
            parsed.context_sparse_values,
            parsed.context_sparse_shapes,
            parsed.context_dense_values,
        )
        return features, dict(zip([*self.sparse, *self.dense], lists, strict=True))


def _columns_of(
    context_features: Mapping[str, Any] | None, sequence_features: Mapping[str, Any] | None
) -> _Columns:
    varying = example_ops.VarLenFeature
    features = _checked(context_features, varying, example_ops.FixedLenFeature)
    lists = _checked(sequence_features, varying, example_ops.FixedLenSequenceFeature)
    sparse = [key for key in sorted(lists) if isinstance(lists[key], varying)]
    dense = [key for key in sorted(lists) if key not in sparse]
    return _Columns(example_ops.columns_of(features), lists, sparse, dense)


def _checked(features: Mapping[str, Any] | None, *kinds: Any) -> Mapping[str, Any]:
    """Return the features, which must be of these kinds."""
    if features:
        example_ops.check_names(features)
    for key, feature in (features or {}).items():
        if not isinstance(feature, kinds):
            raise ValueError(f"Invalid feature {key}:{feature}.")  # noqa: TRY004 - TensorFlow's
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}.")
        if getattr(feature, "shape", ()) is None:
            raise ValueError(f"Missing shape for feature {key}.")
    return features or {}
