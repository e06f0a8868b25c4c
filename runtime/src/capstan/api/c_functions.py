"""The functions of `python.pywrap_tensorflow` with which programs look at graphs.

In TensorFlow, they take objects of its C API. Programs pass `graph._c_graph` and
`tensor._as_tf_output()`, which are the graph and the tensor themselves.
"""

from typing import Any

from capstan.api import smart_cond
from capstan.framework import graph as graphs


def TF_TryEvaluateConstant_wrapper(graph: graphs.Graph, output: graphs.Tensor) -> Any:
    """Return the value of a tensor of `graph`, or None if it is not known before a step.

    It is known if operations without state compute it from constants.
    """
    return smart_cond.evaluated(output)
