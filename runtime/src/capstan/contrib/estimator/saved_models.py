"""An estimator whose model is that of a SavedModel.

Source: tensorflow/contrib/estimator/python/estimator/saved_model_estimator.py.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from capstan.api import context, logging
from capstan.contrib.estimator import saved_signatures
from capstan.estimator import estimator, estimator_spec, mode_keys, warm_starting
from capstan.framework import convert, random_seed
from capstan.framework import graph as graphs
from capstan.train import checkpoint_reader, import_graph, steps
from capstan.train import scaffold as scaffolds
from capstan.train.saved_model import assets, constants, loader

_TRAIN_OP_KEY: Final = "saved_model_train_op"
_OF_BUILDERS: Final = (
    constants.ASSETS_KEY,
    constants.LEGACY_INIT_OP_KEY,
    constants.MAIN_OP_KEY,
    _TRAIN_OP_KEY,
)
"""The collections that must be empty when a graph is exported again."""


class SavedModelEstimator(estimator.Estimator):
    """Trains, evaluates, predicts and exports the graphs of a SavedModel that an estimator wrote.

    A mode needs its graph in the SavedModel: write all of them by
    `tf.contrib.estimator.export_all_saved_models`. The variables start with the values of the
    SavedModel. Checkpoints are in `model_dir`. The features and labels of an input have the names
    of the inputs of the graph. A prediction takes the inputs of the signature `serving_default`.

    Raises:
        OSError: the folder has no SavedModel.
        RuntimeError: a method needs a graph that the SavedModel does not have.
    """

    def __init__(self, saved_model_dir: str, model_dir: Any = None) -> None:
        self.saved_model_dir = saved_model_dir
        self.saved_model_loader = loader.SavedModelLoader(saved_model_dir)
        checkpoint = loader.get_variables_path(saved_model_dir)
        # The name of a variable also begins the names of its slots.
        names = [
            rf"{re.escape(name)}(/part_\d+)?:"
            for name, _ in checkpoint_reader.list_variables(checkpoint)
        ]
        super().__init__(
            self._model_fn_from_saved_model,
            model_dir,
            warm_start_from=warm_starting.WarmStartSettings(checkpoint, names),
        )

    @staticmethod
    def _assert_members_are_not_overridden(estimator: estimator.Estimator) -> None:
        """Allow the methods that this class overrides."""

    def _start_graph(self, graph: graphs.Graph) -> None:
        """Set the seed. The SavedModel has the global step."""
        random_seed.set_random_seed(self._config.tf_random_seed)

    def _call_input_fn(
        self, input_fn: Callable[..., Any], mode: str, input_context: Any = None
    ) -> Any:
        # The operations of the SavedModel must get the names that they had.
        with context.name_scope("input"):
            return super()._call_input_fn(input_fn, mode, input_context)

    def _model_fn_from_saved_model(
        self, features: Any, labels: Any, mode: str
    ) -> estimator_spec.EstimatorSpec:
        """Add the graph for a mode to the default graph.

        Raises:
            RuntimeError: there is no such graph, or `input_fn` has made a global step.
            ValueError: the features and labels are not the inputs of the graph.
        """
        graph = graphs.get_default_graph()
        if steps.get_global_step(graph) is not None:
            raise RuntimeError(
                "Graph must not contain a global step tensor before the SavedModel is loaded. "
                "Please make sure that the input function does not create a global step."
            )
        meta = self.saved_model_loader.get_meta_graph_def_from_tags(mode_keys.EXPORT_TAG_MAP[mode])
        signature = saved_signatures.signature_for(meta, mode)
        fed = saved_signatures.fed(signature, features, labels)
        self._add(meta, fed)
        steps.assert_global_step(steps.get_global_step(graph))
        outputs = {
            key: fed[info.name] if info.name in fed else graph.get_tensor_by_name(info.name)
            for key, info in signature.outputs.items()
        }
        train_ops = graph.get_collection(_TRAIN_OP_KEY)
        for key in _OF_BUILDERS:
            graph.clear_collection(key)
        main_op = loader.main_op_name(meta)
        return estimator_spec.EstimatorSpec(
            mode,
            scaffold=scaffolds.Scaffold(
                local_init_op=None if main_op is None else graph.as_graph_element(main_op)
            ),
            train_op=train_ops[0] if train_ops else None,
            **saved_signatures.parts(mode, outputs, signature.method_name),
        )

    def _add(self, meta: Any, fed: Mapping[str, Any]) -> None:
        """Add a graph with tensors in the place of its inputs and of the names of its assets."""
        given = dict(fed)
        with context.name_scope("assets"):
            for name, path in assets.feeds(self.saved_model_dir, meta, None).items():
                given[name] = convert.constant(path)
        control = {f"^{name.partition(':')[0]}": tensor for name, tensor in given.items()}
        logging.info("Adding a graph of the SavedModel %s", self.saved_model_dir)
        import_graph.import_meta_graph(meta, input_map={**given, **control})
