"""The pairs of gradients and variables that optimizers of Keras apply."""

from collections.abc import Iterable
from typing import Any

from capstan.api import logging, resource_variables
from capstan.framework import graph as graphs


def with_gradient(grads_and_vars: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return the pairs that have a gradient, and warn of the others.

    Raises:
        NotImplementedError: a tensor is in the place of a variable.
        TypeError: a variable is a reference variable.
        ValueError: all gradients are None.
    """
    pairs = list(grads_and_vars)
    found = [(grad, var) for grad, var in pairs if grad is not None]
    for _, var in found:
        if isinstance(var, graphs.Tensor):
            raise NotImplementedError(f"Trying to update a Tensor {var}")
        if not resource_variables.is_resource_variable(var):
            raise TypeError(
                f"{var.name} is a reference variable. Optimizers of Keras change only resource "
                "variables. Create it with use_resource=True, or call "
                "tf.enable_resource_variables()"
            )
    if pairs and not found:
        names = [var.name for _, var in pairs]
        raise ValueError(f"No gradients provided for any variable: {names}.")
    missing = [var.name for grad, var in pairs if grad is None]
    if missing:
        logging.warning(
            "Gradients do not exist for variables %s when minimizing the loss.", missing
        )
    return found
