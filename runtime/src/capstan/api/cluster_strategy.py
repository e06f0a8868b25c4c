"""Strategies whose workers are the tasks of a cluster."""

import abc
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from capstan.api import (
    cluster_resolver,
    context,
    distribution_extended,
    distribution_modes,
    distribution_strategy,
    multi_worker,
)


class ClusterStrategy(distribution_strategy.Strategy, abc.ABC):
    """A strategy of one task of a cluster, which a cluster resolver gives."""

    def __init__(self, resolver: Any) -> None:
        super().__init__(self._extended_for(resolver))

    @abc.abstractmethod
    def _extended_for(self, resolver: Any) -> distribution_extended.StrategyExtended:
        """Return the parts of the strategy for the task and the cluster of the resolver.

        Raises:
            ValueError: the strategy does not fit the cluster, or the task is not known.
        """

    @contextmanager
    def scope(self) -> Iterator[distribution_strategy.Strategy]:
        """Be in the scope of the strategy. Operations without a device are on this worker."""
        with ExitStack() as stack:
            if distribution_modes.current() is None:
                stack.enter_context(context.device(self._extended.default_device))
            yield stack.enter_context(super().scope())

    def configure(
        self,
        session_config: Any = None,
        cluster_spec: Any = None,
        task_type: str | None = None,
        task_id: int | None = None,
    ) -> None:
        """Be the strategy of a task of a cluster. Change `session_config` as the strategy needs.

        Raises:
            ValueError: the strategy does not fit the cluster, or the task is not known.
        """
        if cluster_spec:
            cluster = multi_worker.normalize_cluster_spec(cluster_spec)
            self._extended = self._extended_for(
                cluster_resolver.SimpleClusterResolver(
                    cluster, task_type=task_type, task_id=task_id
                )
            )
        super().configure(session_config)
