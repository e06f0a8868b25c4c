"""The scaffold of a training session: the operations that initialise, check and save the model.

Source: tensorflow/python/training/monitored_session.py.
"""

from collections.abc import Callable
from typing import Any

from capstan.api import (
    array_ops,
    control_flow_ops,
    logging,
    resources,
    summary_ops,
    variable_collections,
)
from capstan.framework import collections
from capstan.framework import graph as graphs
from capstan.train import saver as savers

_Keys = collections.GraphKeys


class Scaffold:
    """The init ops, ready ops, summary op and saver of a model.

    `init_fn(scaffold, session)` is called after `init_op`. A part that is not given is the part of
    `copy_from_scaffold`, or None until `finalize`. A session creator calls `finalize`, which takes
    each missing part from its collection or creates it.

    Raises:
        TypeError: `copy_from_scaffold` is not a Scaffold.
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[["Scaffold", Any], Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: savers.Saver | None = None,
        copy_from_scaffold: "Scaffold | None" = None,
    ) -> None:
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")

        def given_or_copied(given: Any, name: str) -> Any:
            return getattr(copy_from_scaffold, name, None) if given is None else given

        # The function gets this scaffold, even if the function is copied from another scaffold.
        self._user_init_fn = given_or_copied(init_fn, "_user_init_fn")
        self._init_op = given_or_copied(init_op, "init_op")
        self._init_feed_dict = given_or_copied(init_feed_dict, "init_feed_dict")
        self._ready_op = given_or_copied(ready_op, "ready_op")
        self._ready_for_local_init_op = given_or_copied(
            ready_for_local_init_op, "ready_for_local_init_op"
        )
        self._local_init_op = given_or_copied(local_init_op, "local_init_op")
        self._summary_op = given_or_copied(summary_op, "summary_op")
        self._saver = given_or_copied(saver, "saver")

    def finalize(self) -> "Scaffold":
        """Create the missing parts, build the saver, and finalize the default graph. Idempotent.

        Raises:
            RuntimeError: the collection of a missing part has more than one member.
        """
        if self._init_op is None:
            self._init_op = self.get_or_default("init_op", _Keys.INIT_OP, _default_init_op)
        if self._ready_op is None:
            self._ready_op = self.get_or_default(
                "ready_op", _Keys.READY_OP, lambda: _missing(None, None)
            )
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = self.get_or_default(
                "ready_for_local_init_op",
                _Keys.READY_FOR_LOCAL_INIT_OP,
                lambda: _missing(
                    variable_collections.global_variables(), resources.shared_resources()
                ),
            )
        if self._local_init_op is None:
            self._local_init_op = self.get_or_default(
                "local_init_op", _Keys.LOCAL_INIT_OP, self.default_local_init_op
            )
        if self._summary_op is None:
            self._summary_op = _summary_op_or_default()
        if self._saver is None:
            self._saver = saver_or_default()
        self._saver.build()
        graphs.get_default_graph().finalize()
        logging.info("Graph was finalized.")
        return self

    @property
    def init_fn(self) -> Callable[[Any], Any] | None:
        """A function that takes the session, or None."""
        user_init_fn = self._user_init_fn
        return None if user_init_fn is None else lambda session: user_init_fn(self, session)

    @property
    def init_op(self) -> Any:
        return self._init_op

    @property
    def ready_op(self) -> Any:
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        return self._ready_for_local_init_op

    @property
    def local_init_op(self) -> Any:
        return self._local_init_op

    @property
    def summary_op(self) -> Any:
        return self._summary_op

    @property
    def saver(self) -> Any:
        return self._saver

    @property
    def init_feed_dict(self) -> Any:
        return self._init_feed_dict

    @staticmethod
    def get_or_default(
        arg_name: str, collection_key: str, default_constructor: Callable[[], Any]
    ) -> Any:
        """Return the only member of a collection.

        If the collection is empty, add the result of `default_constructor()` and return the result.

        Raises:
            RuntimeError: the collection has more than one member.
        """
        found = _only(collection_key, arg_name)
        if found is None:
            found = default_constructor()
            graphs.get_default_graph().add_to_collection(collection_key, found)
        return found

    @staticmethod
    def default_local_init_op() -> Any:
        """Return an operation that initialises the local variables, tables and resources."""
        tables = graphs.get_default_graph().get_collection(_Keys.TABLE_INITIALIZERS)
        local = [resource.create for resource in resources.local_resources()]
        variables = variable_collections.local_variables_initializer()
        return control_flow_ops.group(variables, *tables, *local)


def _default_init_op() -> Any:
    """Return an operation that initialises the global variables and the shared resources."""
    variables = variable_collections.global_variables_initializer()
    shared = resources.shared_resources()
    if not shared:
        return variables
    return control_flow_ops.group(variables, resources.initialize_resources(shared))


def _missing(variables: Any, resource_list: Any) -> Any:
    """Return the names of the variables and resources that are not initialised yet.

    None stands for all of them.
    """
    names = variable_collections.report_uninitialized_variables(variables)
    if not (resources.shared_resources() or resources.local_resources()):
        return names
    return array_ops.concat([names, resources.report_uninitialized_resources(resource_list)], 0)


def _only(collection_key: str, arg_name: str) -> Any:
    found = graphs.get_default_graph().get_collection(collection_key)
    if len(found) > 1:
        raise RuntimeError(
            f"More than one item in the collection {collection_key!r}. Please indicate which one "
            f"to use by passing it to the tf.Scaffold constructor as: tf.Scaffold({arg_name}=item "
            "to use)"
        )
    return found[0] if found else None


def _summary_op_or_default() -> Any:
    """Return the op that merges all summaries, or None if there are no summaries."""
    found = _only(_Keys.SUMMARY_OP, "summary_op")
    if found is None:
        found = summary_ops.merge_all()
        if found is not None:
            graphs.get_default_graph().add_to_collection(_Keys.SUMMARY_OP, found)
    return found


def saver_or_default() -> savers.Saver:
    """Return the only saver in the collection SAVERS. Add one of all variables if there is none.

    Raises:
        RuntimeError: the collection has several savers.
    """
    found: savers.Saver | None = _only(_Keys.SAVERS, "saver")
    if found is None:
        found = savers.Saver(sharded=True, allow_empty=True)
        graphs.get_default_graph().add_to_collection(_Keys.SAVERS, found)
    return found
