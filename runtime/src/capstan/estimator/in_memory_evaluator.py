"""`tf.estimator.experimental.InMemoryEvaluatorHook`: evaluations during training.

Source: tensorflow_estimator/python/estimator/hooks/hooks.py.
"""

from collections.abc import Callable, Iterable
from typing import Any

from capstan.api import creation_ops, state_ops
from capstan.estimator import calls, evaluation_summaries
from capstan.estimator import estimator as estimators
from capstan.framework import collections, grouping
from capstan.framework import graph as graphs
from capstan.train import hook

_KEYS = collections.GraphKeys


class InMemoryEvaluatorHook(hook.SessionRunHook):
    """Evaluates the model in the process that trains it, without a checkpoint.

    The evaluation runs before the first step, after each `every_n_iter` steps, and at the end of
    the training. The other arguments have the meaning that they have for `Estimator.evaluate`. The
    results are written to `estimator.eval_dir(name)`.

    Raises:
        ValueError: `every_n_iter` or `steps` is not positive, or the estimator trains on several
            tasks.
        TypeError: a hook is of another type.
    """

    def __init__(
        self,
        estimator: estimators.Estimator,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Iterable[Any] | None = None,
        name: str | None = None,
        every_n_iter: int = 100,
    ) -> None:
        if not every_n_iter or every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        config = estimator.config
        if config.num_ps_replicas > 0 or config.num_worker_replicas > 1:
            raise ValueError("InMemoryEvaluator supports only single machine (aka Local) setting.")
        calls.check_steps("steps", steps)
        self._estimator = estimator
        self._input_fn = input_fn
        self._steps = steps
        self._hooks = calls.checked_hooks(hooks)
        self._name = name
        self._every = every_n_iter

    def begin(self) -> None:
        """Build the graph of the evaluation.

        Raises:
            ValueError: the model has a saver or an `init_fn` of its own.
        """
        self._count = 0
        self._graph = graphs.Graph()
        with self._graph.as_default() as graph:
            self._evaluation = self._estimator._build_evaluation(
                graph, self._input_fn, self._steps, self._hooks
            )
            scaffold = self._evaluation.scaffold
            if scaffold.saver is not None:
                raise ValueError("InMemoryEvaluator does not support custom saver")
            if scaffold.init_fn is not None:
                raise ValueError("InMemoryEvaluator does not support custom init_fn")
            variables = graph.get_collection(_KEYS.GLOBAL_VARIABLES)
            self._inputs = {
                each.name: creation_ops.placeholder(each.dtype.base_dtype, each.shape)
                for each in variables
            }
            self._assigns = {
                each.name: state_ops.assign(each, self._inputs[each.name]).op for each in variables
            }

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Evaluate the model before the first step.

        Raises:
            ValueError: the model has state that is not in variables.
        """
        graph = graphs.get_default_graph()
        if graph.get_collection(_KEYS.SAVEABLE_OBJECTS):
            raise ValueError(
                "InMemoryEvaluator does not support saveables other than global variables."
            )
        self._trained = {
            each.name: each
            for each in graph.get_collection(_KEYS.GLOBAL_VARIABLES)
            if each.name in self._inputs
        }
        with self._graph.as_default():
            self._assign = grouping.group(*(self._assigns[name] for name in self._trained))
            # An evaluation then adds no operations.
            self._evaluation.scaffold.finalize()
        self._evaluate(session)

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        self._count += 1
        if self._count % self._every == 0:
            self._evaluate(run_context.session)

    def end(self, session: Any) -> None:
        self._evaluate(session)

    def _evaluate(self, session: Any) -> None:
        values = session.run(self._trained)
        feeds = {self._inputs[name]: value for name, value in values.items()}
        config = self._estimator.config
        with self._graph.as_default():
            results = self._evaluation.run(
                None,
                config.evaluation_master,
                config.session_config,
                lambda _, evaluation_session: evaluation_session.run(self._assign, feeds),
            )
        folder = self._estimator.eval_dir(self._name)
        evaluation_summaries.write(folder, results, None)
