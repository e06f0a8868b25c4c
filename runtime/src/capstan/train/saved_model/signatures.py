"""SignatureDefs: the inputs and outputs of a model by the names that its clients use.

Source: tensorflow/python/saved_model/signature_def_utils_impl.py.
"""

from collections.abc import Mapping
from typing import Any

from capstan import errors
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.train.saved_model import constants, tensor_infos


def build_signature_def(
    inputs: Mapping[str, Any] | None = None,
    outputs: Mapping[str, Any] | None = None,
    method_name: str | None = None,
) -> Any:
    """Return a SignatureDef. `inputs` and `outputs` are TensorInfos by the names of clients."""
    from tensorboard.compat.proto import meta_graph_pb2

    signature = meta_graph_pb2.SignatureDef(method_name=method_name or "")
    for name, info in (inputs or {}).items():
        signature.inputs[name].CopyFrom(info)
    for name, info in (outputs or {}).items():
        signature.outputs[name].CopyFrom(info)
    return signature


def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """Return a SignatureDef for TensorFlow Serving's Predict. The mappings hold tensors.

    Raises:
        ValueError: a mapping is empty.
    """
    for kind, tensors in (("inputs", inputs), ("outputs", outputs)):
        if not tensors:
            raise ValueError(f"Prediction {kind} cannot be None or empty.")
    return build_signature_def(_infos(inputs), _infos(outputs), constants.PREDICT_METHOD_NAME)


def regression_signature_def(examples: Any, predictions: Any) -> Any:
    """Return a SignatureDef for TensorFlow Serving's Regress.

    `examples` is a string tensor of serialized Examples, and `predictions` a float32 tensor.

    Raises:
        ValueError: a tensor is missing or has another dtype.
    """
    inputs = {constants.REGRESS_INPUTS: _examples("Regression", examples)}
    if predictions is None:
        raise ValueError("Regression predictions cannot be None.")
    info = _checked("Regression output tensors", predictions, dtypes.float32)
    outputs = {constants.REGRESS_OUTPUTS: info}
    return build_signature_def(inputs, outputs, constants.REGRESS_METHOD_NAME)


def classification_signature_def(examples: Any, classes: Any, scores: Any) -> Any:
    """Return a SignatureDef for TensorFlow Serving's Classify.

    `examples` is a string tensor of serialized Examples, `classes` a string tensor or None, and
    `scores` a float32 tensor or None.

    Raises:
        ValueError: `examples` or both other tensors are missing, or a tensor has another dtype.
    """
    inputs = {constants.CLASSIFY_INPUTS: _examples("Classification", examples)}
    if classes is None and scores is None:
        raise ValueError("Classification classes and scores cannot both be None.")
    outputs = {}
    for name, tensor, dtype in (
        (constants.CLASSIFY_OUTPUT_CLASSES, classes, dtypes.string),
        (constants.CLASSIFY_OUTPUT_SCORES, scores, dtypes.float32),
    ):
        if tensor is not None:
            outputs[name] = _checked(f"Classification {name}", tensor, dtype)
    return build_signature_def(inputs, outputs, constants.CLASSIFY_METHOD_NAME)


def supervised_train_signature_def(
    inputs: Mapping[str, Any],
    loss: Mapping[str, Any] | None,
    predictions: Mapping[str, Any] | None = None,
    metrics: Mapping[str, Any] | None = None,
) -> Any:
    """Return the SignatureDef of the training of a model. The mappings hold tensors.

    Raises:
        ValueError: there are no inputs.
    """
    return _supervised(constants.SUPERVISED_TRAIN_METHOD_NAME, inputs, loss, predictions, metrics)


def supervised_eval_signature_def(
    inputs: Mapping[str, Any],
    loss: Mapping[str, Any] | None,
    predictions: Mapping[str, Any] | None = None,
    metrics: Mapping[str, Any] | None = None,
) -> Any:
    """Return the SignatureDef of the evaluation of a model. The mappings hold tensors.

    Raises:
        ValueError: there are no inputs.
    """
    return _supervised(constants.SUPERVISED_EVAL_METHOD_NAME, inputs, loss, predictions, metrics)


def op_signature_def(op: Any, key: str) -> Any:
    """Return the SignatureDef whose only output is an operation, under the name `key`."""
    return build_signature_def(outputs={key: tensor_infos.build_tensor_info_from_op(op)})


def load_op_from_signature_def(
    signature_def: Any, key: str, import_scope: str | None = None
) -> Any:
    """Return the operation or tensor of an output of a SignatureDef from the default graph.

    Raises:
        NotFoundError: the graph lacks it.
    """
    try:
        return tensor_infos.get_element_from_tensor_info(
            signature_def.outputs[key], import_scope=import_scope
        )
    except KeyError:
        raise errors.NotFoundError(
            None,
            None,
            f"The {key} could not be found in the graph. Please make sure the SavedModel was "
            "created by the internal _SavedModelBuilder. If you are using the public API, please "
            f'make sure the SignatureDef in the SavedModel does not contain the key "{key}".',
        ) from None


def is_valid_signature(signature_def: Any) -> bool:
    """Return whether TensorFlow Serving can serve a SignatureDef."""
    if signature_def is None:
        return False
    inputs, outputs = _dtypes(signature_def.inputs), _dtypes(signature_def.outputs)
    text, number = dtypes.string.as_datatype_enum, dtypes.float32.as_datatype_enum
    examples = {constants.CLASSIFY_INPUTS: text}
    if signature_def.method_name == constants.PREDICT_METHOD_NAME:
        return bool(inputs and outputs)
    if signature_def.method_name == constants.REGRESS_METHOD_NAME:
        return inputs == examples and outputs == {constants.REGRESS_OUTPUTS: number}
    if signature_def.method_name == constants.CLASSIFY_METHOD_NAME:
        allowed = {
            constants.CLASSIFY_OUTPUT_CLASSES: text,
            constants.CLASSIFY_OUTPUT_SCORES: number,
        }
        return inputs == examples and bool(outputs) and outputs.items() <= allowed.items()
    return False


def _supervised(method_name: str, inputs: Any, *outputs: Mapping[str, Any] | None) -> Any:
    if not inputs:
        raise ValueError(f"{method_name} inputs cannot be None or empty.")
    named = {name: tensor for each in outputs for name, tensor in (each or {}).items()}
    return build_signature_def(_infos(inputs), _infos(named), method_name)


def _infos(tensors: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tensor_infos.build_tensor_info(each) for name, each in tensors.items()}


def _examples(kind: str, tensor: Any) -> Any:
    """Return the TensorInfo of serialized Examples."""
    if tensor is None or not isinstance(tensor, graphs.Tensor):
        raise ValueError(f"{kind} examples must be a string Tensor, not {type(tensor).__name__}.")
    return _checked(f"{kind} input tensors", tensor, dtypes.string)


def _checked(name: str, tensor: Any, dtype: dtypes.DType) -> Any:
    if tensor.dtype.base_dtype != dtype:
        raise ValueError(f"{name} must be of type {dtype.name}, not {tensor.dtype.name}.")
    return tensor_infos.build_tensor_info(tensor)


def _dtypes(infos: Mapping[str, Any]) -> dict[str, int]:
    return {name: info.dtype for name, info in infos.items()}
