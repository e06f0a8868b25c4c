"""The functions that programs call to keep TensorFlow 2 to the behaviour of TensorFlow 1.

Capstan has that behaviour only (python/compat/v2_compat.py, python/framework/ops.py).
"""

from capstan.api import control_flow_bodies, resource_variables

__all__ = [
    "disable_eager_execution",
    "disable_tensor_equality",
    "disable_v2_behavior",
    "disable_v2_tensorshape",
    "executing_eagerly",
]


def disable_v2_behavior() -> None:
    """Build control flow and variables as TensorFlow 1 does, as a new process of Capstan does."""
    control_flow_bodies.disable_control_flow_v2()
    resource_variables.disable_resource_variables()


def disable_eager_execution() -> None:
    """Do nothing: Capstan always builds a graph, and a session runs it."""


def disable_v2_tensorshape() -> None:
    """Do nothing: the elements of a `TensorShape` are always `Dimension` objects."""


def disable_tensor_equality() -> None:
    """Do nothing: `==` always compares tensors by identity."""


def executing_eagerly() -> bool:
    """Return False: Capstan always builds a graph."""
    return False
