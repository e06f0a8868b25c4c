"""`tf.saved_model`: models in a folder, with the names of their inputs and outputs.

    tf.saved_model.simple_save(session, folder, inputs={"x": x}, outputs={"y": y})
    tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], folder)

A folder holds `saved_model.pb` (the graphs), `variables` (a checkpoint) and `assets` (files such as
vocabularies). TensorFlow and TensorFlow Serving read it. Most names exist twice in TensorFlow 1.15:
here, and in a module such as `signature_def_utils`, which is an alias.
"""

from typing import Any

from capstan.api.absent import absent
from capstan.core import alias
from capstan.train.saved_model.builder import SavedModelBuilder as Builder
from capstan.train.saved_model.builder import simple_save
from capstan.train.saved_model.constants import (
    ASSETS_DIRECTORY,
    ASSETS_KEY,
    CLASSIFY_INPUTS,
    CLASSIFY_METHOD_NAME,
    CLASSIFY_OUTPUT_CLASSES,
    CLASSIFY_OUTPUT_SCORES,
    DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    GPU,
    LEGACY_INIT_OP_KEY,
    MAIN_OP_KEY,
    PREDICT_INPUTS,
    PREDICT_METHOD_NAME,
    PREDICT_OUTPUTS,
    REGRESS_INPUTS,
    REGRESS_METHOD_NAME,
    REGRESS_OUTPUTS,
    SAVED_MODEL_FILENAME_PB,
    SAVED_MODEL_FILENAME_PBTXT,
    SAVED_MODEL_SCHEMA_VERSION,
    SERVING,
    TPU,
    TRAINING,
    VARIABLES_DIRECTORY,
    VARIABLES_FILENAME,
)
from capstan.train.saved_model.loader import load, maybe_saved_model_directory
from capstan.train.saved_model.loader import maybe_saved_model_directory as contains_saved_model
from capstan.train.saved_model.main_op import main_op_with_restore
from capstan.train.saved_model.signatures import (
    build_signature_def,
    classification_signature_def,
    is_valid_signature,
    predict_signature_def,
    regression_signature_def,
)
from capstan.train.saved_model.tensor_infos import build_tensor_info, get_tensor_from_tensor_info

__all__ = [
    "ASSETS_DIRECTORY", "ASSETS_KEY", "CLASSIFY_INPUTS", "CLASSIFY_METHOD_NAME",
    "CLASSIFY_OUTPUT_CLASSES", "CLASSIFY_OUTPUT_SCORES", "DEFAULT_SERVING_SIGNATURE_DEF_KEY", "GPU",
    "LEGACY_INIT_OP_KEY", "MAIN_OP_KEY", "PREDICT_INPUTS", "PREDICT_METHOD_NAME", "PREDICT_OUTPUTS",
    "REGRESS_INPUTS", "REGRESS_METHOD_NAME", "REGRESS_OUTPUTS", "SAVED_MODEL_FILENAME_PB",
    "SAVED_MODEL_FILENAME_PBTXT", "SAVED_MODEL_SCHEMA_VERSION", "SERVING", "TPU", "TRAINING",
    "VARIABLES_DIRECTORY", "VARIABLES_FILENAME", "Builder", "build_signature_def",
    "build_tensor_info", "classification_signature_def", "contains_saved_model",
    "get_tensor_from_tensor_info", "is_valid_signature", "load", "main_op_with_restore",
    "maybe_saved_model_directory", "predict_signature_def", "regression_signature_def",
    "simple_save",
]  # fmt: skip

alias.grow(
    __name__,
    {
        "signature_constants": (f"{__name__}.constants",),
        "signature_def_utils": (f"{__name__}.signatures",),
        "tag_constants": (f"{__name__}.constants",),
        "utils": (f"{__name__}.tensor_infos",),
    },
)


def __getattr__(name: str) -> Any:
    raise absent("tf.saved_model", name)
