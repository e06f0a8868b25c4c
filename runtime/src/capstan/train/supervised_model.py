"""The operations with which a supervisor initialises, checks, saves and summarises a model.

Source: tensorflow/python/training/supervisor.py.
"""

from collections.abc import Callable
from typing import Any

from capstan.api import logging, variable_collections
from capstan.core import dtypes
from capstan.framework import collections, facts, opdef
from capstan.framework import graph as graphs
from capstan.train import saver as savers
from capstan.train import scaffold as scaffolds
from capstan.train import supervisor_writer

_Keys = collections.GraphKeys

USE_DEFAULT = 0
"""Marks an operation to take from its collection, or to make. TensorFlow's value is also 0."""


class SupervisedModel:
    """The operations of a model in the default graph. Each may be USE_DEFAULT, or None."""

    def __init__(
        self,
        ready_op: Any,
        ready_for_local_init_op: Any,
        init_op: Any,
        init_feed_dict: Any,
        local_init_op: Any,
        saver: Any,
        summary_op: Any,
        global_step: Any,
    ) -> None:
        self._ready_op = _given_or_found(
            ready_op, _Keys.READY_OP, variable_collections.report_uninitialized_variables
        )
        self._ready_for_local_init_op = _given_or_found(
            ready_for_local_init_op, _Keys.READY_FOR_LOCAL_INIT_OP
        )
        self._init_op = _given_or_found(
            init_op, _Keys.INIT_OP, variable_collections.global_variables_initializer
        )
        self._init_feed_dict = init_feed_dict
        self._local_init_op = _given_or_found(
            local_init_op, _Keys.LOCAL_INIT_OP, scaffolds.Scaffold.default_local_init_op
        )
        self._saver = _given_or_found(saver, _Keys.SAVERS, _default_saver)
        self._summary_op = _given_or_found(
            summary_op, _Keys.SUMMARY_OP, supervisor_writer.merged_summaries
        )
        self._global_step = _given_or_found(global_step, _Keys.GLOBAL_STEP, _default_global_step)

    @property
    def init_op(self) -> Any:
        return self._init_op

    @property
    def init_feed_dict(self) -> Any:
        return self._init_feed_dict

    @property
    def ready_op(self) -> Any:
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        return self._ready_for_local_init_op

    @property
    def summary_op(self) -> Any:
        return self._summary_op

    @property
    def global_step(self) -> Any:
        return self._global_step

    @property
    def saver(self) -> Any:
        return self._saver


def check_devices(graph: graphs.Graph) -> None:
    """Check that each variable has a device, so that all tasks use the same variables.

    Raises:
        ValueError: a variable has no device.
    """
    for op in graph.get_operations():
        is_variable = opdef.role(op.type) is facts.Role.VARIABLE
        # As in TensorFlow, the handle of a resource variable needs no device.
        if is_variable and op.outputs[0].dtype.is_ref_dtype and not op.device:
            raise ValueError(
                f"When using replicas, all Variables must have their device set: {op.node_def}"
            )


def _given_or_found(given: Any, key: str, default: Callable[[], Any] | None = None) -> Any:
    """Return `given`. If it is USE_DEFAULT, return the first member of a collection.

    If the collection is empty, add the result of `default` to the collection, and return it.
    """
    if given is not USE_DEFAULT:
        return given
    graph = graphs.get_default_graph()
    members = graph.get_collection(key)
    if len(members) > 1:
        logging.info("Found %d %s operations. Returning the first one.", len(members), key)
    if members:
        return members[0]
    made = None if default is None else default()
    if made is not None:
        graph.add_to_collection(key, made)
    return made


def _default_saver() -> savers.Saver | None:
    return savers.Saver() if variable_collections.global_variables() else None


def _default_global_step() -> Any:
    try:
        found = graphs.get_default_graph().get_tensor_by_name("global_step:0")
    except KeyError:
        return None
    if found.dtype.base_dtype in (dtypes.int32, dtypes.int64):
        return found
    logging.warning("Found 'global_step' is not an int type: %s", found.dtype)
    return None
