"""`tf.contrib.kernel_methods`: linear models of features that stand for a kernel.

Sources: contrib/kernel_methods/python/{losses,kernel_estimators}.py and mappers.
"""

import abc
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from capstan.api import array_ops, creation_ops, loss_reduction, math_ops, nn, reduce_ops
from capstan.api.absent import absent
from capstan.api.scoped import scoped
from capstan.contrib import package_aliases
from capstan.contrib.layers import feature_columns as columns_of
from capstan.contrib.learn import linear
from capstan.core import dtypes
from capstan.framework import collections, convert

__all__ = ["KernelLinearClassifier", "RandomFourierFeatureMapper", "sparse_multiclass_hinge_loss"]


class InvalidShapeError(Exception):
    """The shape of a tensor does not go with a mapper."""


class DenseKernelMapper(abc.ABC):
    """Maps vectors to vectors whose product is about the kernel of the first vectors."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name of the mapper."""

    @property
    @abc.abstractmethod
    def output_dim(self) -> int:
        """The size of the mapped vectors."""

    @abc.abstractmethod
    def map(self, input_tensor: Any) -> Any:
        """Return the mapped vectors, a row for each row of the matrix `input_tensor`."""


class RandomFourierFeatureMapper(DenseKernelMapper):
    """Maps x to sqrt(2 / output_dim) cos(x W + b) (Rahimi and Recht, 2007).

    The elements of W have the standard deviation 1 / `stddev`, and those of b are below 2 pi. Both
    follow from `seed`, by NumPy's random numbers. The kernel is that of Gauss:
    exp(-|x - y|**2 / (2 * stddev**2)).
    """

    def __init__(
        self, input_dim: int, output_dim: int, stddev: float = 1.0, seed: int = 1,
        name: str | None = None,
    ) -> None:  # fmt: skip
        self._input_dim, self._output_dim = input_dim, output_dim
        self._stddev, self._seed = stddev, seed
        self._name = name

    @property
    def name(self) -> str:
        return self._name or str(id(self))

    @property
    def input_dim(self) -> int:
        return self._input_dim

    @property
    def output_dim(self) -> int:
        return self._output_dim

    def map(self, input_tensor: Any) -> Any:
        """Return the mapped rows, of shape [batch, output_dim].

        Raises:
            InvalidShapeError: the tensor is not a matrix with `input_dim` columns.
        """
        if input_tensor.shape.ndims != 2 or input_tensor.shape.as_list()[1] != self._input_dim:
            raise InvalidShapeError(
                f"Invalid dimension: expected [batch, {self._input_dim}], got {input_tensor.shape}"
            )
        random = np.random.RandomState(self._seed)
        omega = random.normal(scale=1.0 / self._stddev, size=[self._input_dim, self._output_dim])
        bias = random.uniform(0.0, 2 * np.pi, size=[self._output_dim])
        mapped = math_ops.matmul(input_tensor, convert.constant(omega, dtypes.float32))
        scale = float(np.sqrt(2.0 / self._output_dim))
        return scale * math_ops.cos(mapped + convert.constant(bias, dtypes.float32))


def sparse_multiclass_hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = collections.GraphKeys.LOSSES,
    reduction: str = loss_reduction.DEFAULT,
) -> Any:
    """Return the loss of Crammer and Singer: the largest margin that another class has, plus 1.

    `labels` has the shape [batch] or [batch, 1] and numbers below the number of classes. `logits`
    has the shape [batch, classes]. The rest is as for `tf.losses.hinge_loss`.

    Raises:
        ValueError: a shape, or the dtype of the labels, is wrong.
    """
    with scoped(scope, "sparse_multiclass_hinge_loss", (logits, labels)) as name:
        labels, logits = convert.convert_to_tensor(labels), convert.convert_to_tensor(logits)
        if logits.shape.ndims != 2:
            raise ValueError(
                f"logits should have rank 2 ([batch_size, num_classes]). Given rank is "
                f"{logits.shape.ndims}"
            )
        if labels.dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError(f"Invalid dtype for labels: {labels.dtype}. Use int32 or int64")
        if labels.shape.ndims not in (1, 2):
            raise ValueError(f"labels should have rank 1 or 2. Given rank is {labels.shape.ndims}")
        weights = convert.convert_to_tensor(weights)
        if weights.shape.ndims == 2:
            weights = array_ops.reshape(weights, (-1,))
        logits = math_ops.cast(logits, dtypes.float32)
        is_label = creation_ops.one_hot(
            array_ops.reshape(labels, (-1,)), array_ops.shape(logits)[1]
        )
        of_label = reduce_ops.reduce_sum(logits * is_label, 1, keepdims=True)
        margins = nn.relu(logits - of_label + (1.0 - is_label))
        losses = reduce_ops.reduce_max(margins, 1)
        return loss_reduction.compute_weighted_loss(
            losses, weights, name, loss_collection, reduction
        )


class KernelLinearClassifier(linear.LinearClassifier):
    """A `tf.contrib.learn.LinearClassifier` of columns and of mapped columns.

    `kernel_mappers` is a dictionary of columns of numbers, each with a list of mappers. The model
    has the mapped vectors as further columns.

    Raises:
        ValueError: there are no columns, or a value of `kernel_mappers` is not a mapper.
    """

    def __init__(
        self,
        feature_columns: Iterable[Any] | None = None,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        config: Any = None,
        kernel_mappers: Mapping[Any, Iterable[DenseKernelMapper]] | None = None,
    ) -> None:
        columns = list(feature_columns or ())
        pairs = [
            (column, mapper)
            for column, mappers in (kernel_mappers or {}).items()
            for mapper in mappers
        ]
        if not columns and not pairs:
            raise ValueError("At least one of feature_columns and kernel_mappers must be provided.")
        if not all(isinstance(mapper, DenseKernelMapper) for _, mapper in pairs):
            raise ValueError("kernel_mappers must have lists of DenseKernelMappers.")
        names = [f"{column.key}_MAPPED_{number}" for number, (column, _) in enumerate(pairs)]
        mapped = [
            columns_of.real_valued_column(name, mapper.output_dim)
            for name, (_, mapper) in zip(names, pairs, strict=True)
        ]

        def with_mapped(features: Any, labels: Any) -> Any:
            features = features if isinstance(features, Mapping) else {"": features}
            found = {name or columns_of.UNNAMED: each for name, each in features.items()}
            more = {
                name: mapper.map(found[column.key])
                for name, (column, mapper) in zip(names, pairs, strict=True)
            }
            return {**found, **more}, labels

        super().__init__(
            [*columns, *mapped], model_dir, n_classes, weight_column_name, optimizer,
            config=config, feature_engineering_fn=with_mapped,
        )  # fmt: skip


package_aliases.grow(__name__)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.kernel_methods", name)


def __dir__() -> list[str]:
    return sorted(__all__)
