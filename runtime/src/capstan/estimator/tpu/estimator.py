"""`TPUEstimator` without TPUs (tensorflow_estimator/python/estimator/tpu/tpu_estimator.py)."""

import functools
from collections.abc import Callable
from typing import Any

from capstan.estimator import calls, estimator, exported_model, mode_keys
from capstan.estimator.tpu import config as tpu_config
from capstan.estimator.tpu import spec as tpu_spec


class TPUEstimator(estimator.Estimator):
    """An Estimator whose functions get the batch size of the mode as `params["batch_size"]`.

    `model_fn` returns a TPUEstimatorSpec or an EstimatorSpec. The batch sizes are
    `train_batch_size`, `eval_batch_size` and `predict_batch_size`. A mode whose batch size is None
    has no such parameter. `eval_on_tpu`, `export_to_tpu`, `export_to_cpu`, `batch_axis` and
    `export_saved_model_api_version` have no effect.

    Raises:
        ValueError: `use_tpu` is true, `embedding_config_spec` is given, `config` is not a RunConfig
            of `tf.estimator.tpu`, `params` has the key `batch_size`, or an argument of Estimator is
            wrong.
    """

    def __init__(
        self,
        model_fn: Any = None,
        model_dir: Any = None,
        config: tpu_config.RunConfig | None = None,
        params: Any = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: Any = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: Any = None,
        embedding_config_spec: Any = None,
        export_saved_model_api_version: Any = None,
    ) -> None:
        if use_tpu:
            raise ValueError(
                "Capstan knows no TPUs. Give TPUEstimator use_tpu=False to train on CPUs and GPUs"
            )
        if embedding_config_spec is not None:
            raise ValueError(
                "Capstan knows no TPUs. Leave out `embedding_config_spec` of TPUEstimator, and "
                "look the vectors up in model_fn with tf.nn.embedding_lookup"
            )
        if not isinstance(config, tpu_config.RunConfig):
            raise ValueError("`config` must be provided with type `tpu_config.RunConfig`")
        if params is not None and "batch_size" in params:
            raise ValueError(
                f"batch_size is a reserved key but existed in params {params}. Use the arguments "
                "train_batch_size, eval_batch_size and predict_batch_size"
            )
        # Estimator refuses subclasses that change how it calls the functions of the program.
        exported_model.ExportedModel.__init__(
            self, model_fn, model_dir, config, params, warm_start_from
        )
        modes = mode_keys.ModeKeys
        self._batch_sizes = {
            modes.TRAIN: train_batch_size,
            modes.EVAL: eval_batch_size,
            modes.PREDICT: predict_batch_size,
        }

    def _params_in(self, mode: str) -> Any:
        params, size = self.params, self._batch_sizes[mode]
        if size is None:
            return params
        if hasattr(params, "add_hparam"):
            params.add_hparam("batch_size", size)
        else:
            params["batch_size"] = size
        return params

    def _call_input_fn(
        self, input_fn: Callable[..., Any], mode: str, input_context: Any = None
    ) -> Any:
        return calls.call_input_fn(
            input_fn,
            mode=mode,
            params=self._params_in(mode),
            config=self.config,
            input_context=input_context,
        )

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> Any:
        @functools.wraps(self._model_fn)
        def model_fn(**given: Any) -> Any:
            spec = self._model_fn(**given)
            is_of_tpus = isinstance(spec, tpu_spec.TPUEstimatorSpec)
            return spec.as_estimator_spec() if is_of_tpus else spec

        params = self._params_in(mode)
        return calls.call_model_fn(
            model_fn, features, labels, mode=mode, params=params, config=config
        )
