"""The names of files, collections, signatures and tags of a SavedModel.

Sources: tensorflow/python/saved_model/{constants,signature_constants,tag_constants}.py.
"""

from typing import Final

SAVED_MODEL_SCHEMA_VERSION: Final = 1
SAVED_MODEL_FILENAME_PB: Final = "saved_model.pb"
SAVED_MODEL_FILENAME_PBTXT: Final = "saved_model.pbtxt"
VARIABLES_DIRECTORY: Final = "variables"
VARIABLES_FILENAME: Final = "variables"
ASSETS_DIRECTORY: Final = "assets"

ASSETS_KEY: Final = "saved_model_assets"
"""The collection of the AssetFileDefs of a graph."""
MAIN_OP_KEY: Final = "saved_model_main_op"
TRAIN_OP_KEY: Final = "saved_model_train_op"
"""The collection of the operation that trains a model."""
LEGACY_INIT_OP_KEY: Final = "legacy_init_op"
"""The collections of the operation that `load` runs. TensorFlow 1.4 wrote the second one."""
INIT_OP_SIGNATURE_KEY: Final = "__saved_model_init_op"
TRAIN_OP_SIGNATURE_KEY: Final = "__saved_model_train_op"
"""The signatures that name operations of a model of TensorFlow 2."""

SERVING: Final = "serve"
TRAINING: Final = "train"
EVAL: Final = "eval"
GPU: Final = "gpu"
TPU: Final = "tpu"

DEFAULT_SERVING_SIGNATURE_DEF_KEY: Final = "serving_default"
DEFAULT_TRAIN_SIGNATURE_DEF_KEY: Final = "train"
DEFAULT_EVAL_SIGNATURE_DEF_KEY: Final = "eval"
CLASSIFY_INPUTS: Final = "inputs"
CLASSIFY_METHOD_NAME: Final = "tensorflow/serving/classify"
CLASSIFY_OUTPUT_CLASSES: Final = "classes"
CLASSIFY_OUTPUT_SCORES: Final = "scores"
PREDICT_INPUTS: Final = "inputs"
PREDICT_METHOD_NAME: Final = "tensorflow/serving/predict"
PREDICT_OUTPUTS: Final = "outputs"
REGRESS_INPUTS: Final = "inputs"
REGRESS_METHOD_NAME: Final = "tensorflow/serving/regress"
REGRESS_OUTPUTS: Final = "outputs"
SUPERVISED_TRAIN_METHOD_NAME: Final = "tensorflow/supervised/training"
SUPERVISED_EVAL_METHOD_NAME: Final = "tensorflow/supervised/eval"
