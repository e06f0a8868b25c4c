"""`tf.contrib.quantize`: graphs that compute as if weights and activations had few bits.

A model that is trained in such a graph loses little accuracy when it is converted to integers.
Source: contrib/quantize/python/quantize_graph.py.
"""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib.quantize.quantize_graph import create_eval_graph as create_eval_graph
from capstan.contrib.quantize.quantize_graph import create_training_graph as create_training_graph
from capstan.contrib.quantize.quantize_graph import (
    experimental_create_eval_graph as experimental_create_eval_graph,
)
from capstan.contrib.quantize.quantize_graph import (
    experimental_create_training_graph as experimental_create_training_graph,
)
from capstan.core import alias, public

alias.grow(
    __name__,
    {
        "python.quantize": ("capstan.contrib.quantize.quantize",),
        "python.quantize_graph": ("capstan.contrib.quantize.quantize_graph",),
        "python.quant_ops": ("capstan.contrib.quantize.quant_ops",),
    },
)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.quantize", name)


def __dir__() -> list[str]:
    return public.names(globals())
