"""SavedModels of models of Keras: `tf.keras.experimental.export_saved_model` and its reader
(python/keras/saving/saved_model_experimental.py).

The checkpoint has the objects of the model, as `save_weights` writes them. Each graph has a saver
that restores its variables by the names of these objects. The file `assets/saved_model.json` has
the configuration of the model.
"""

import os
from collections.abc import Mapping
from typing import Any

from capstan.api import creation_ops, file_io, logging, variable_collections
from capstan.api.layers import context
from capstan.client import session as sessions
from capstan.framework import collections, convert, nest
from capstan.framework import graph as graphs
from capstan.keras import learning, model_copies, models
from capstan.keras.training import objective, updating
from capstan.resources import file_names
from capstan.train import object_checkpoint
from capstan.train.saved_model import constants, operation_builder, signatures

_JSON = "saved_model.json"
_TRAIN, _TEST, _PREDICT = "train", "eval", "predict"
_TAGS = {_TRAIN: constants.TRAINING, _TEST: constants.EVAL, _PREDICT: constants.SERVING}
_METHODS = {_TRAIN: "tensorflow/supervised/training", _TEST: "tensorflow/supervised/eval"}


def export_saved_model(
    model: Any,
    saved_model_path: Any,
    custom_objects: Mapping[str, Any] | None = None,
    as_text: bool = False,
    input_signature: Any = None,
    serving_only: bool = False,
) -> None:
    """Write a model as a SavedModel, which `load_from_saved_model` and TensorFlow's loaders read.

    The graph with the tag `serve` predicts. If the model is compiled, graphs with the tags `train`
    and `eval` train and evaluate it, unless `serving_only` is true. `input_signature` has a
    `tf.TensorSpec` for each input, by default the inputs of the model. `as_text` writes the graphs
    as text. The values come from Keras's session. Blocks.

    Raises:
        NotImplementedError: the model is a subclass, and `serving_only` is false.
        ValueError: the model has no inputs yet.
        AssertionError: the folder exists and is not empty.
    """
    path = os.fspath(saved_model_path)
    if not serving_only and not model._is_described:
        raise NotImplementedError(
            "Subclassed models can only be exported for serving. Please set argument "
            "serving_only=True."
        )
    written = _Export(model, path, input_signature)
    if model.optimizer is not None and not serving_only:
        written.add(_TRAIN)
        written.add(_TEST)
    written.add(_PREDICT)
    written.save(as_text)
    if not model._is_described:
        logging.warning(
            "Skipped saving model JSON, subclassed model does not have get_config() defined."
        )
        return
    file_io.recursive_create_dir(file_names.joined(path, constants.ASSETS_DIRECTORY))
    with file_io.GFile(_config(path), "w") as file:
        file.write(model.to_json())


def load_from_saved_model(saved_model_path: Any, custom_objects: Any = None) -> Any:
    """Return the model of `export_saved_model`, with its values in Keras's session. Blocks.

    It is not compiled. `custom_objects` has the program's own classes and functions by name.

    Raises:
        NotFoundError: the folder has no model of Keras.
    """
    path = os.fspath(saved_model_path)
    with file_io.GFile(_config(path)) as file:
        model = models.model_from_json(file.read(), custom_objects)
    model.load_weights(_checkpoint(path))
    return model


def _checkpoint(path: str) -> str:
    folder = file_names.joined(path, constants.VARIABLES_DIRECTORY)
    return file_names.joined(folder, constants.VARIABLES_FILENAME)


def _config(path: str) -> str:
    return file_names.joined(file_names.joined(path, constants.ASSETS_DIRECTORY), _JSON)


class _Export:
    """A SavedModel that gets one graph after another.

    The first graph also writes the variables. It has all variables of the later graphs.
    """

    def __init__(self, model: Any, path: str, input_signature: Any) -> None:
        self._model, self._signature = model, input_signature
        self._builder = operation_builder.OperationBuilder(path)
        self._prefix = _checkpoint(path)
        self._is_first = True
        file_io.recursive_create_dir(file_names.folder_of(self._prefix))
        model.save_weights(self._prefix, save_format="tf")

    def save(self, as_text: bool) -> None:
        self._builder.save(as_text)

    def add(self, mode: str) -> None:
        """Add the graph that trains, evaluates or predicts."""
        with (
            graphs.Graph().as_default() as graph,
            learning.learning_phase_scope(int(mode == _TRAIN)),
        ):
            copy = self._copy()
            goal, targets = (None, []) if mode == _PREDICT else self._compiled(copy)
            train_op = None
            if goal is not None and mode == _TRAIN:
                train_op = updating.train_op(copy, goal, copy.inputs)
            for update in copy.updates:
                graph.add_to_collection(collections.GraphKeys.UPDATE_OPS, update)
            signature = _signature(copy, mode, goal, targets)
            saver = object_checkpoint.TrackableSaver(copy).saver(graph)
            given: dict[str, Any] = {
                "tags": [_TAGS[mode]],
                "signature_def_map": signature,
                "init_op": variable_collections.local_variables_initializer(),
                "train_op": train_op,
                "saver": saver,
            }
            with sessions.Session(graph=graph) as session, session.as_default():
                if self._is_first:
                    copy.load_weights(self._prefix)
                    self._builder.add_meta_graph_and_variables(session, **given)
                else:
                    self._builder.add_meta_graph(**given)
            self._is_first = False

    def _copy(self) -> Any:
        if self._signature is None:
            return model_copies.of_model(self._model)
        specs = nest.flatten(self._signature)
        tensors = [creation_ops.placeholder(each.dtype, each.shape, each.name) for each in specs]
        return model_copies.of_model(self._model, tensors)

    def _compiled(self, copy: Any) -> tuple[objective.Objective, list[Any]]:
        """Compile a copy of the model. Return its loss and metrics, and its targets."""
        graph = graphs.get_default_graph()
        own = model_copies.optimizer(self._model.optimizer)
        copy._compiled = self._model._compiled.copied(own, has_metrics=True)
        copy._made, copy._trained = {}, copy.trainable_weights
        graph.add_to_collection(collections.GraphKeys.GLOBAL_STEP, own.iterations)
        made = copy._unweighted_steps()
        for variable in context.of(graph).metric_variables:
            graph.add_to_collection(collections.GraphKeys.LOCAL_VARIABLES, variable)
        return made.objective, made.targets


def _signature(
    copy: Any, mode: str, goal: objective.Objective | None, targets: list[Any]
) -> dict[str, Any]:
    inputs = dict(zip(copy.input_names, copy.inputs, strict=True))
    outputs = dict(zip(copy.output_names, copy.outputs, strict=True))
    if goal is None:
        found = signatures.predict_signature_def(inputs, outputs)
        return {constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: found}
    inputs.update({target.op.name: target for target in targets})
    named = {f"predictions/{name}": tensor for name, tensor in outputs.items()}
    named["loss"] = goal.loss
    for name, metric in goal.metrics.items():
        named[f"metrics/{name}/value"] = metric.result()
        # A signature names tensors only. This one is there when the metric has the batch.
        with graphs.get_default_graph().control_dependencies(metric.updates[:1]):
            named[f"metrics/{name}/update_op"] = convert.constant([], name="metric_op_wrapper")
    found = signatures.predict_signature_def(inputs, named)
    found.method_name = _METHODS[mode]
    return {mode: found}
