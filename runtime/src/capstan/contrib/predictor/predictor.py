"""The predictors, each with a session of its own (contrib/predictor)."""

from collections.abc import Callable, Mapping
from typing import Any

from capstan.api import logging
from capstan.client import session as sessions
from capstan.estimator import mode_keys
from capstan.framework import graph as graphs
from capstan.train import monitored_session, session_creator
from capstan.train.saved_model import constants, loader

_DEFAULT_KEY = constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


class Predictor:
    """Calls a model whose inputs and outputs have names. Threads may share it."""

    def __init__(
        self, graph: graphs.Graph, session: Any, inputs: Mapping[str, str], outputs: Any
    ) -> None:
        self._graph, self._session = graph, session
        self._feeds = {key: graph.get_tensor_by_name(name) for key, name in inputs.items()}
        self._fetches = {key: graph.get_tensor_by_name(name) for key, name in outputs.items()}

    @property
    def graph(self) -> graphs.Graph:
        return self._graph

    @property
    def session(self) -> Any:
        return self._session

    @property
    def feed_tensors(self) -> dict[str, Any]:
        """The inputs by their names."""
        return self._feeds

    @property
    def fetch_tensors(self) -> dict[str, Any]:
        """The outputs by their names."""
        return self._fetches

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__} with feed tensors {self._feeds} and fetch_tensors "
            f"{self._fetches}"
        )

    def __call__(self, input_dict: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs for arrays of the inputs. Inputs that are None are not fed. Blocks.

        Raises:
            ValueError: the model has no input of such a name.
        """
        unknown = set(input_dict) - set(self._feeds)
        if unknown:
            raise ValueError(
                f"Got unexpected keys in input_dict: {unknown}\nexpected: {set(self._feeds)}"
            )
        given = {self._feeds[key]: value for key, value in input_dict.items() if value is not None}
        values: dict[str, Any] = self._session.run(self._fetches, given)
        return values


class SavedModelPredictor(Predictor):
    """Calls a SavedModel."""


class CoreEstimatorPredictor(Predictor):
    """Calls a model of an Estimator."""


def from_saved_model(
    export_dir: str,
    signature_def_key: str | None = None,
    signature_def: Any = None,
    input_names: Mapping[str, str] | None = None,
    output_names: Mapping[str, str] | None = None,
    tags: str | None = None,
    graph: graphs.Graph | None = None,
    config: Any = None,
) -> SavedModelPredictor:
    """Load a SavedModel in a new session, and return its predictor. Blocks.

    A signature of the model names the inputs and outputs, by default the signature for serving.
    `input_names` and `output_names`, from names to the names of tensors, replace it. `tags` are
    separated by commas, by default `serve`. `graph` is by default a new graph.

    Raises:
        ValueError: more than one argument describes the inputs, or only one of the dictionaries is
            given, or the model has no such signature.
        OSError: the folder has no SavedModel.
        RuntimeError: no graph of the model has these tags.
    """
    if (input_names is None) is not (output_names is None):
        raise ValueError("input_names and output_names must both be specified or both be None")
    if sum(each is not None for each in (signature_def_key, signature_def, input_names)) > 1:
        raise ValueError(
            "You must specify at most one of signature_def_key OR signature_def OR "
            "(input_names AND output_names)."
        )
    graph = graph or graphs.Graph()
    with graph.as_default():
        session = sessions.Session(config=config)
        labels = [tag.strip() for tag in (tags or constants.SERVING).split(",")]
        meta = loader.load(session, labels, export_dir)
    if input_names is None or output_names is None:
        signature = signature_def or _signature(meta, signature_def_key or _DEFAULT_KEY)
        input_names, output_names = _names(signature.inputs), _names(signature.outputs)
    return SavedModelPredictor(graph, session, input_names, output_names)


def from_estimator(
    estimator: Any,
    serving_input_receiver_fn: Callable[[], Any],
    output_key: str | None = None,
    graph: graphs.Graph | None = None,
    config: Any = None,
) -> CoreEstimatorPredictor:
    """Restore the newest checkpoint of an Estimator, and return a predictor. Blocks.

    `output_key` chooses one of the export outputs, by default that for serving. `graph` is by
    default a new graph.

    Raises:
        KeyError: the model has no such export output.
    """
    graph = graph or graphs.Graph()
    with graph.as_default():
        receiver = serving_input_receiver_fn()
        spec = estimator.model_fn(
            receiver.features, None, mode_keys.ModeKeys.PREDICT, estimator.config
        )
        key = output_key or _DEFAULT_KEY
        output = spec.export_outputs.get(key)
        if output is None:
            raise KeyError(f"output_key must be one of {list(spec.export_outputs)}; got {key}")
        signature = output.as_signature_def(receiver.receiver_tensors)
        creator = session_creator.ChiefSessionCreator(
            config=config, checkpoint_dir=estimator.model_dir
        )
        session = monitored_session.MonitoredSession(creator)
    inputs, outputs = _names(signature.inputs), _names(signature.outputs)
    return CoreEstimatorPredictor(graph, session, inputs, outputs)


def _signature(meta: Any, key: str) -> Any:
    """Return the signature of this name, which older programs exported under a longer name."""
    longer = f"default_input_alternative:{key}"
    if key not in meta.signature_def and longer in meta.signature_def:
        logging.warning('Could not find signature def "%s". Using "%s" instead', key, longer)
        key = longer
    if key not in meta.signature_def:
        raise ValueError(
            f'Got signature_def_key "{key}". Available signatures are {list(meta.signature_def)}.'
        )
    return meta.signature_def[key]


def _names(infos: Mapping[str, Any]) -> dict[str, str]:
    return {key: info.name for key, info in infos.items()}
