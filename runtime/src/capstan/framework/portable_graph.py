"""The body of a function that can be called in several graphs."""

from capstan.framework import body_graph
from capstan.framework import graph as graphs


class PortableGraph(body_graph.BodyGraph):
    """A body that captures a tensor of any graph around it as it is.

    Other bodies read the tensor through the bodies between them. The function of this body can be
    called in each graph that can read the tensors.
    """

    def capture(self, tensor: graphs.Tensor) -> graphs.Tensor:
        if tensor.graph is self:
            return tensor
        inner = self._captured.get(tensor)
        if inner is None:
            with self.control_dependencies(None):
                inner = self.add_argument(None, tensor.dtype.base_dtype, tensor.inferred_shape)
            self._captured[tensor] = inner
        return inner

    @property
    def is_portable(self) -> bool:
        """Whether all captured tensors are of the graph around all bodies."""
        return not any(
            isinstance(tensor.graph, body_graph.BodyGraph) for tensor in self.captured_inputs
        )
