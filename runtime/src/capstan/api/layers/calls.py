"""The steps of a call of a Keras layer: its inputs, its `training`, its masks."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from capstan.api import math_ops
from capstan.api.layers import context
from capstan.api.layers import input_spec as input_specs
from capstan.core import dtypes
from capstan.framework import convert, nest
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


@functools.lru_cache(maxsize=256)
def _required(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the parameters without a default."""
    variable = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return tuple(
        name
        for name, each in inspect.signature(function).parameters.items()
        if each.default is each.empty and each.kind not in variable
    )


@functools.lru_cache(maxsize=256)
def _parameters(function: Callable[..., Any]) -> tuple[tuple[str, ...], bool]:
    """Return the names of the parameters, and whether there are any keyword arguments.

    A program calls the same few layers thousands of times, and the answer takes 50 us.
    """
    found = inspect.signature(function).parameters
    return tuple(found), any(each.kind is each.VAR_KEYWORD for each in found.values())


class Signature:
    """The arguments of a method `call`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        plain = getattr(function, "__func__", None)
        if plain is None:
            self._names, self._takes_others = _parameters(function)
        else:
            names, self._takes_others = _parameters(plain)
            self._names = names[1:]  # without `self`

    def takes(self, name: str) -> bool:
        """Return whether the method has the argument, or any keyword arguments."""
        return self._takes_others or name in self._names

    def required(self) -> list[str]:
        """Return the names of the arguments behind the inputs that have no default."""
        plain = getattr(self._function, "__func__", None)
        if plain is not None:
            return list(_required(plain)[2:])
        return list(_required(self._function)[1:])

    def has(self, name: str) -> bool:
        """Return whether the method has the argument."""
        return name in self._names

    def given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments behind the inputs that a call passes, by name."""
        return {**dict(zip(self._names[1:], args, strict=False)), **kwargs}


def as_tensors(inputs: Any) -> Any:
    """Return the inputs, with tensors in the place of arrays and numbers."""

    def as_tensor(value: Any) -> Any:
        if isinstance(value, np.ndarray | np.generic | float | int):
            return convert.convert_to_tensor(value)
        return value

    return nest.mapped(as_tensor, inputs)


def choose_training(
    known: context.GraphContext,
    signature: Signature,
    args: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:
    """Return the `training` of a call, and put it into `options` if the layer takes it.

    It is the argument of the call, even None, or that of the layer around, or the learning phase.
    A layer that is passed nothing gets a truth value.
    """
    takes, given = signature.takes("training"), signature.given(args, options)
    if "training" in given:
        if not takes:
            options.pop("training", None)
        return given["training"]
    training = known.open_calls[-1] if known.open_calls else None
    if training is None:
        training = known.learning_phase
    if takes and training is not None:
        is_tensor = isinstance(training, graphs.Tensor)
        training = math_ops.cast(training, dtypes.bool_) if is_tensor else bool(training)
        options["training"] = training
    return training


def check_inputs(layer: Any, inputs: Any) -> None:
    """Raise ValueError if the inputs do not fit the InputSpec of a layer, or its list of them."""
    if layer.input_spec is None:
        return
    specs, tensors = nest.flatten(layer.input_spec), nest.flatten(inputs)
    if len(specs) != len(tensors):
        raise ValueError(
            f"Layer {layer.name} expects {len(specs)} inputs, but it received {len(tensors)} "
            f"input tensors. Inputs received: {tensors}"
        )
    for index, (spec, tensor) in enumerate(zip(specs, tensors, strict=True)):
        if spec is not None:
            input_specs.check(layer.name, spec, tensor.shape, index, tensor.dtype)


def masks_of(known: context.GraphContext, tensors: Any) -> Any:
    """Return the mask of each tensor, or None if none has a mask."""
    masks = [
        known.masks.get(tensor) if isinstance(tensor, graphs.Tensor) else None
        for tensor in nest.flatten(tensors)
    ]
    if all(mask is None for mask in masks):
        return None
    return nest.packed(tensors, masks)


def input_masks(
    layer: Any, known: context.GraphContext, inputs: Any, given: Mapping[str, Any]
) -> Any:
    """Return the masks that a call is given, even None, or those of its inputs, or None."""
    if "mask" in given:
        return given["mask"]
    takes_mask = Signature(layer.call).takes("mask")
    return masks_of(known, inputs) if layer._computes_masks or takes_mask else None


def set_masks(
    layer: Any, known: context.GraphContext, inputs: Any, outputs: Any, masks: Any
) -> None:
    """Remember the masks of the outputs of a layer, unless the layer has set them itself."""
    tensors = nest.flatten(outputs)
    if not layer._computes_masks or all(tensor in known.masks for tensor in tensors):
        return
    found = layer.compute_mask(inputs, masks)
    flat = nest.flatten(found) if found is not None else [None] * len(tensors)
    for tensor, mask in zip(tensors, flat, strict=False):
        if mask is not None:
            known.masks[tensor] = mask


def copies(known: context.GraphContext, inputs: Any, outputs: Any) -> Any:
    """Return the outputs, with a copy of each that is an input which another layer has made."""
    given = {id(tensor) for tensor in nest.flatten(inputs)}

    def copied(tensor: Any) -> Any:
        if id(tensor) not in given or not context.is_tensor(tensor) or tensor not in known.nodes:
            return tensor
        return nest.mapped(raw.Identity, tensor, composites=True)

    return nest.mapped(copied, outputs)


def in_name_scope(scope: str, function: Callable[[Any], Any], argument: Any) -> Any:
    """Return `function(argument)`, whose operations are in a name scope."""
    with graphs.get_default_graph().name_scope(scope):
        return function(argument)


def batch_size(tensor: Any, dtype: Any) -> Any:
    """Return the size of the first axis, as a scalar of a dtype."""
    return math_ops.cast(raw.Shape(tensor)[0], dtype)
