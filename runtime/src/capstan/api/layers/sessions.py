"""The session of Keras, in which `fit` and functions of `tf.keras.backend` run
(python/keras/backend.py).
"""

from collections.abc import Iterable
from typing import Any

from capstan.api import state_ops, worker_sessions
from capstan.api.layers import context, settings
from capstan.framework import collections, defaults
from capstan.framework import graph as graphs


def get_session(op_input_list: Any = ()) -> Any:
    """Return the session of the default graph, after it has initialized new variables and tables.

    It is the default session, if the program has one. Otherwise it is the session of `set_session`,
    or one that the first call makes. This one belongs to the server of the task, if a strategy for
    several workers has made variables. Variables that have a value keep it. Blocks until the new
    variables are initialized, unless `manual_variable_initialization(True)` leaves that to the
    program.
    """
    found = opened()
    if settings.SETTINGS.initializes_variables:
        initialize(found)
    return found


def opened() -> Any:
    """Return the session of `get_session`, which may not have initialized new variables yet.

    The first step that names a variable chooses its device. A training therefore begins with this
    session: the operations of an optimizer, which may have no kernel for a GPU, come before that
    step.
    """
    graph = graphs.get_default_graph()
    known = context.of(graph)
    found = defaults.get_default_session()
    if found is None or found.graph is not graph:
        if known.session is None:
            known.session = worker_sessions.open_session(graph)
        found = known.session
    return found


def set_session(session: Any) -> None:
    """Use `session` for its graph, for example one with the target of a server.

    None forgets the session of the default graph.
    """
    context.of(None if session is None else session.graph).session = session


def held(variable: Any) -> Any:
    """Return a session without waiting in which a variable has a value, or None."""
    default = defaults.get_default_session()
    if default is not None and default.graph is variable.graph:
        return default
    known = context.of(variable.graph)
    if known.session is None or variable not in known.initialized.get(known.session, ()):
        return None
    return known.session


def initialize(session: Any) -> None:
    """Initialize the variables of the session's graph that have no value yet, and the new tables.

    Variables that a model has loaded get their loaded values.
    """
    known = context.of(session.graph)
    done = known.initialized.setdefault(session, set())
    keys = collections.GraphKeys
    tables = [op for op in session.graph.get_collection(keys.TABLE_INITIALIZERS) if op not in done]
    if tables:
        session.run(tables)
    done.update(tables)
    new = [each for each in _variables(session.graph, known) if each not in done]
    if not new:
        return
    with session.graph.as_default(), session.graph.control_dependencies(None):
        asked = [state_ops.is_variable_initialized(variable) for variable in new]
    has_value = session.run(asked)
    missing = [each for each, is_there in zip(new, has_value, strict=True) if not is_there]
    session.run([variable.initializer for variable in missing])
    done.update(new)
    for restored, status in known.restores.values():
        if restored is session:
            status.run_new_restore_ops(session)


def _variables(graph: graphs.Graph, known: context.GraphContext) -> Iterable[Any]:
    keys = collections.GraphKeys
    listed = [
        *graph.get_collection(keys.GLOBAL_VARIABLES),
        *graph.get_collection(keys.LOCAL_VARIABLES),
        *known.metric_variables,
    ]
    return dict.fromkeys(listed)
