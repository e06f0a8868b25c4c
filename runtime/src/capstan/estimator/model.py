"""The parts of an estimator that all its methods use: its configuration, functions and checkpoints.

Source: tensorflow/python/estimator/estimator.py.
"""

import copy
import os
import tempfile
from collections.abc import Callable
from typing import Any

from capstan import errors
from capstan.api import logging
from capstan.estimator import calls, estimator_spec, run_config, warm_starting
from capstan.framework import collections, random_seed
from capstan.framework import graph as graphs
from capstan.train import checkpoint_reader, checkpoint_state, steps


class Model:
    """A `model_fn` with its configuration, and the checkpoints in its folder."""

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: Any = None,
        config: run_config.RunConfig | None = None,
        params: Any = None,
        warm_start_from: Any = None,
    ) -> None:
        self._config = _with_model_dir(config, model_dir)
        # Programs whose estimators are subclasses read the attribute too.
        self._model_dir = str(self._config.model_dir)
        calls.check_model_fn(model_fn, params)
        self._model_fn = model_fn
        self._params = copy.deepcopy(params or {})
        self._warm_start_settings = warm_starting.settings(warm_start_from)

    @property
    def model_dir(self) -> str:
        return self._model_dir

    @property
    def config(self) -> run_config.RunConfig:
        """A copy of the configuration."""
        return copy.deepcopy(self._config)

    @property
    def params(self) -> Any:
        """A copy of the parameters."""
        return copy.deepcopy(self._params)

    @property
    def model_fn(self) -> Callable[..., estimator_spec.EstimatorSpec]:
        """A function `model_fn(features, labels, mode, config)` that passes the parameters on."""

        def public_model_fn(
            features: Any, labels: Any, mode: str, config: Any
        ) -> estimator_spec.EstimatorSpec:
            return self._call_model_fn(features, labels, mode, config)

        return public_model_fn

    def get_variable_value(self, name: str) -> Any:
        """Return the array of a variable in the newest checkpoint.

        Raises:
            ValueError: there is no checkpoint.
        """
        self._check_trained()
        return checkpoint_reader.load_variable(self.model_dir, name)

    def get_variable_names(self) -> list[str]:
        """Return the names of the variables in the newest checkpoint.

        Raises:
            ValueError: there is no checkpoint.
        """
        self._check_trained()
        return [name for name, _ in checkpoint_reader.list_variables(self.model_dir)]

    def latest_checkpoint(self) -> str | None:
        """Return the path of the newest checkpoint, or None."""
        return checkpoint_state.latest_checkpoint(self.model_dir)

    def _start_graph(self, graph: graphs.Graph) -> None:
        """Set the seed of the default graph, and add the global step."""
        random_seed.set_random_seed(self._config.tf_random_seed)
        steps.create_global_step(graph)

    def _call_input_fn(
        self, input_fn: Callable[..., Any], mode: str, input_context: Any = None
    ) -> Any:
        return calls.call_input_fn(
            input_fn,
            mode=mode,
            params=self.params,
            config=self.config,
            input_context=input_context,
        )

    def _call_model_fn(
        self, features: Any, labels: Any, mode: str, config: Any
    ) -> estimator_spec.EstimatorSpec:
        return calls.call_model_fn(
            self._model_fn, features, labels, mode=mode, params=self.params, config=config
        )

    def _checkpoint(self, given: str | None, purpose: str) -> str | None:
        """Return the checkpoint to restore, or None."""
        path = given or self.latest_checkpoint()
        if not path:
            logging.info(
                "Could not find trained model in model_dir: %s, running initialization to %s.",
                self.model_dir,
                purpose,
            )
        return path

    def _check_trained(self) -> None:
        if not self.latest_checkpoint():
            raise ValueError(f"Could not find trained model in model_dir: {self.model_dir}.")

    def _saved_step(self) -> int:
        """Return the global step of the newest checkpoint, or 0."""
        return saved_step(self.model_dir)


def saved_step(checkpoint_dir: str) -> int:
    """Return the global step of the newest checkpoint in a folder, or 0 if there is none."""
    path = checkpoint_state.latest_checkpoint(checkpoint_dir)
    if path is None:
        return 0
    try:
        return int(checkpoint_reader.load_variable(path, collections.GraphKeys.GLOBAL_STEP))
    except errors.NotFoundError:
        # The chief has deleted this checkpoint, or its model has no global step.
        return 0


def _with_model_dir(config: run_config.RunConfig | None, model_dir: Any) -> run_config.RunConfig:
    """Return the configuration with a folder and with settings for sessions."""
    if config is None:
        config = run_config.RunConfig()
    if not isinstance(config, run_config.RunConfig):
        raise ValueError(f"config must be an instance of `RunConfig`, but provided {config}.")
    if config.session_config is None:
        config = config.replace(session_config=run_config.default_session_config())
    if model_dir is not None:
        folder = os.fspath(model_dir)
        if config.model_dir is not None and config.model_dir != folder:
            raise ValueError(
                "`model_dir` are set both in constructor and `RunConfig`, but with different "
                f"values. In constructor: '{folder}', in `RunConfig`: '{config.model_dir}' "
            )
        if folder:
            return config.replace(model_dir=folder)
    if config.model_dir is None:
        folder = tempfile.mkdtemp()
        logging.warning("Using temporary folder as model directory: %s", folder)
        return config.replace(model_dir=folder)
    return config
