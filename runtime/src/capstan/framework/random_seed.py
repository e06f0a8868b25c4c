"""Seeds of random operations: that of the graph and that of the operation make one.

Decided as TensorFlow does (python/framework/random_seed.py); the numbers that are drawn differ.
"""

from capstan.framework import graph as graphs

DEFAULT_GRAPH_SEED = 87654321
_LIMIT = 2**31 - 1


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Return the two seeds for a random operation; (None, None) asks for a random start.

    With a graph seed and no operation seed, the second depends on how many operations the graph
    has: the same script gets the same numbers, two operations get different ones.
    """
    graph = graphs.get_default_graph()
    if graph.seed is None and op_seed is None:
        return None, None
    first = DEFAULT_GRAPH_SEED if graph.seed is None else graph.seed
    second = graph.version if op_seed is None else op_seed
    seeds = first % _LIMIT, second % _LIMIT
    # Two zeros mean "no seed" to the kernels.
    return (0, _LIMIT) if seeds == (0, 0) else seeds


def set_random_seed(seed: int | None) -> None:
    """Set the seed of the default graph; operations that exist already keep theirs."""
    graphs.get_default_graph().seed = seed
