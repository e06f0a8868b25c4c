"""The types in which a layer computes and keeps its variables
(python/keras/mixed_precision/experimental/policy.py).
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final

from capstan.api import logging, math_ops, variables
from capstan.api.layers import settings
from capstan.core import dtypes
from capstan.framework import nest
from capstan.train import loss_scale as scales

_DEFAULT: Final = "USE_DEFAULT"
_FLOAT32_VARIABLES: Final = "_with_float32_vars"
_MIXED: Final = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}


class Policy:
    """The types of a layer, as its argument `dtype`.

    `name` is a dtype for both types, or `mixed_float16` or `mixed_bfloat16`, with which the
    variables are float32. With `infer`, both types are that of the first input. `infer` and a dtype
    may end with `_with_float32_vars`. `loss_scale` is a LossScale, a number or "dynamic", which is
    the default of `mixed_float16`. A program gives it to a `LossScaleOptimizer`.

    Raises:
        TypeError: the name is not a string.
        ValueError: the name is unknown.
    """

    def __init__(self, name: Any, loss_scale: Any = _DEFAULT) -> None:
        if isinstance(name, dtypes.DType):
            raise TypeError(
                f"'name' must be a string, not a DType. Instead, pass DType.name. Got: {name.name}"
            )
        if not isinstance(name, str):
            raise TypeError(f"'name' must be a string, but got: {name}")
        name = name.replace("infer_float32_vars", f"infer{_FLOAT32_VARIABLES}")
        self._name = "float32" if name == f"float32{_FLOAT32_VARIABLES}" else name
        self._compute, self._variable = _types(self._name)
        if loss_scale == _DEFAULT:
            loss_scale = "dynamic" if name == "mixed_float16" else None
        if loss_scale and self._compute not in (None, "float16"):
            logging.warning(
                "Creating a Policy with a loss scale is only useful for float16 policies. You "
                "passed loss_scale=%r for policy %s.", loss_scale, name,
            )  # fmt: skip
        self._loss_scale = scales.get(loss_scale)

    @property
    def name(self) -> str:
        return self._name

    @property
    def compute_dtype(self) -> str | None:
        """The type of the operations of a layer, or None for that of the first input."""
        return self._compute

    @property
    def variable_dtype(self) -> str | None:
        """The type of the variables of a layer, or None for that of the first input."""
        return self._variable

    @property
    def should_cast_variables(self) -> bool:
        return self._compute != self._variable

    @property
    def loss_scale(self) -> scales.LossScale | None:
        return self._loss_scale

    def __repr__(self) -> str:
        return f'<Policy "{self._name}", loss_scale={self._loss_scale}>'


def _types(name: str) -> tuple[str | None, str | None]:
    """Return the types of operations and of variables."""
    if name in _MIXED:
        return _MIXED[name], "float32"
    base = name.removesuffix(_FLOAT32_VARIABLES)
    kind = None
    if base != "infer":
        try:
            kind = dtypes.as_dtype(base).name
        except TypeError as error:
            raise ValueError(
                f"Cannot convert value {name} to a mixed precision Policy. Valid policies include "
                "include 'mixed_float16', 'mixed_bfloat16', and the name of any dtype such as "
                "'float32'."
            ) from error
    return kind, kind if base == name else "float32"


def global_policy() -> Policy:
    """Return the policy of layers without a `dtype`: that of `set_policy`, or `infer`."""
    policy: Policy | None = settings.SETTINGS.policy
    return Policy("infer") if policy is None else policy


def set_policy(policy: Any) -> None:
    """Set the policy, or its name, of layers without a `dtype`. None stands for `infer`.

    Raises:
        ValueError: the policy has a type for operations. In TensorFlow 1, only layers may have such
            a policy.
    """
    if policy is not None and not isinstance(policy, Policy):
        policy = Policy(policy)
    if policy is not None and policy.compute_dtype:
        raise ValueError(
            "The global policy can only be set to a non-infer policy in TensorFlow 2. Pass the "
            "policy to each layer as its argument `dtype`"
        )
    settings.SETTINGS.policy = policy


def of_layer(dtype: Any) -> Policy | None:
    """Return the policy for the argument `dtype` of a layer, or None for a plain type."""
    if isinstance(dtype, Policy):
        return dtype
    return None if dtype is not None or settings.SETTINGS.policy is None else global_policy()


def cast_inputs(inputs: Any, dtype: Any) -> Any:
    """Return inputs of a layer in which floating tensors have a type, if it is a floating one."""
    if not dtypes.as_dtype(dtype).is_floating:
        return inputs
    return nest.mapped(
        lambda value: math_ops.cast(value, dtype) if _is_other(value, dtype) else value, inputs
    )


@contextmanager
def variables_cast(layer: Any, dtype: Any, uncast: Collection[int]) -> Iterator[None]:
    """Let the attributes of a layer that are floating variables be tensors of a type.

    Variables whose ids are in `uncast` stay.
    """
    own = {id(variable) for variable in layer.weights} - set(uncast)
    replaced = {
        name: value
        for name, value in vars(layer).items()
        if isinstance(value, variables.Variable) and id(value) in own and _is_other(value, dtype)
    }
    vars(layer).update({name: math_ops.cast(value, dtype) for name, value in replaced.items()})
    try:
        yield
    finally:
        vars(layer).update(replaced)


def _is_other(value: Any, dtype: Any) -> bool:
    kind = getattr(value, "dtype", None)
    return kind is not None and kind.is_floating and kind.base_dtype is not dtypes.as_dtype(dtype)
