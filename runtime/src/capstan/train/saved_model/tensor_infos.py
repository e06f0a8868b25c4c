"""TensorInfos: the name, dtype and shape of a tensor in a signature.

Source: tensorflow/python/saved_model/utils_impl.py.
"""

from typing import Any

from capstan.framework import graph as graphs
from capstan.framework.sparse_tensor import SparseTensor
from capstan.train.saved_model import composite_infos


def build_tensor_info(tensor: Any) -> Any:
    """Return the TensorInfo of a tensor, a variable, or a value that is several tensors.

    Such values are a SparseTensor, a RaggedTensor, and an IndexedSlices.
    """
    from tensorboard.compat.proto import meta_graph_pb2

    parts = composite_infos.components(tensor)
    if parts is not None:
        info = meta_graph_pb2.TensorInfo()
        composite_infos.fill(info.composite_tensor, tensor, [*map(build_tensor_info, parts)])
        return info
    info = meta_graph_pb2.TensorInfo(
        dtype=tensor.dtype.as_datatype_enum, tensor_shape=tensor.get_shape().as_proto()
    )
    if isinstance(tensor, SparseTensor):
        info.coo_sparse.indices_tensor_name = tensor.indices.name
        info.coo_sparse.values_tensor_name = tensor.values.name
        info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        info.name = tensor.name
    return info


def build_tensor_info_from_op(op: graphs.Operation) -> Any:
    """Return the TensorInfo that names an operation. It has no dtype and no shape."""
    from tensorboard.compat.proto import meta_graph_pb2

    info = meta_graph_pb2.TensorInfo(name=op.name)
    info.tensor_shape.unknown_rank = True
    return info


def get_tensor_from_tensor_info(
    tensor_info: Any, graph: graphs.Graph | None = None, import_scope: str | None = None
) -> Any:
    """Return the tensor, or the value that is several tensors, of a graph that a TensorInfo names.

    The default for `graph` is the default graph. If `import_scope` is given, the names in the graph
    begin with it and a slash.

    Raises:
        KeyError: the graph has no such tensor.
        ValueError: the TensorInfo names no tensor, or a tensor of a kind that Capstan lacks.
    """
    source = graphs.get_default_graph() if graph is None else graph

    def found(name: str) -> Any:
        return source.get_tensor_by_name(f"{import_scope}/{name}" if import_scope else name)

    encoding = tensor_info.WhichOneof("encoding")
    if encoding == "name":
        return found(tensor_info.name)
    if encoding == "coo_sparse":
        parts = tensor_info.coo_sparse
        return SparseTensor(
            found(parts.indices_tensor_name),
            found(parts.values_tensor_name),
            found(parts.dense_shape_tensor_name),
        )
    if encoding == "composite_tensor":
        return composite_infos.value_of(tensor_info.composite_tensor, found)
    raise ValueError(
        f"Invalid TensorInfo.encoding: {encoding}. Write a TensorInfo with `name` for a dense "
        "tensor, or with `coo_sparse` for a SparseTensor"
    )


def get_element_from_tensor_info(
    tensor_info: Any, graph: graphs.Graph | None = None, import_scope: str | None = None
) -> Any:
    """Return the operation or tensor of a graph that a TensorInfo names.

    The arguments are those of `get_tensor_from_tensor_info`.

    Raises:
        KeyError: the graph has no such operation or tensor.
    """
    source = graphs.get_default_graph() if graph is None else graph
    name = tensor_info.name
    return source.as_graph_element(f"{import_scope}/{name}" if import_scope else name)
