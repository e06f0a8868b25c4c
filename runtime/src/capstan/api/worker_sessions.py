"""The server and the sessions of a worker whose strategy spans several workers.

TensorFlow's distribute coordinator starts such a server (python/distribute/
distribute_coordinator.py), for example for `fit` of Keras.
"""

from typing import Any, Final

from capstan.client import session as sessions
from capstan.framework import graph as graphs
from capstan.services import targets

_KEY: Final = ("__worker_strategy",)
"""The collection with the strategy that has made variables of the graph.

Exports leave it out, because its name is not text.
"""


def note(strategy: Any) -> None:
    """Remember that a strategy for several workers has made variables of the default graph."""
    noted = graphs.get_default_graph().get_collection_ref(_KEY)
    if strategy not in noted:
        noted.append(strategy)


def open_session(graph: graphs.Graph) -> Any:
    """Return a new session of a graph.

    If a strategy for several workers has made variables of the graph, it is a session of the server
    of this task, which the first call starts. Otherwise it is a session in this process.

    Raises:
        OpError, ValueError: the server cannot start, as `tf.train.Server` raises it.
    """
    # `import capstan` loads neither protobuf nor, for servers, gRPC.
    from tensorboard.compat.proto import config_pb2

    for strategy in graph.get_collection(_KEY):
        config = strategy.update_config_proto(config_pb2.ConfigProto(allow_soft_placement=True))
        place = strategy.extended.place
        return sessions.Session(_target(place, config), graph, config)
    return sessions.Session(graph=graph)


def _target(place: Any, config: Any) -> str:
    from capstan.services import server as servers

    address = place.cluster.task_address(place.task_type, place.task_id)
    target = f"grpc://localhost:{address.rpartition(':')[2]}"
    if targets.is_here(target):
        return target
    return servers.Server(place.cluster, place.task_type, place.task_id, config=config).target
