"""Seeds of random operations, from the seed of the graph and the seed of the operation.

The rules are TensorFlow's (python/framework/random_seed.py). The numbers that are drawn differ.
"""

from capstan.framework import graph as graphs

DEFAULT_GRAPH_SEED = 87654321
_LIMIT = 2**31 - 1


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Return the two seeds of a random operation, or (None, None) if no seed is set.

    If only the graph has a seed, the second seed is the number of operations in the graph. The same
    script then draws the same numbers, and two operations draw different numbers.
    """
    graph = graphs.get_default_graph()
    if graph.seed is None and op_seed is None:
        return None, None
    first = DEFAULT_GRAPH_SEED if graph.seed is None else graph.seed
    second = graph.version if op_seed is None else op_seed
    seeds = first % _LIMIT, second % _LIMIT
    # The kernels take two zeros for "no seed".
    return (0, _LIMIT) if seeds == (0, 0) else seeds


def set_random_seed(seed: int | None) -> None:
    """Set the seed of the default graph. Existing operations keep their seeds."""
    graphs.get_default_graph().seed = seed
