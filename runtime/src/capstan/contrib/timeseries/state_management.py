"""How a model gets its state (contrib/timeseries/python/timeseries/state_management.py)."""

from collections.abc import Mapping
from typing import Any

from capstan.contrib.timeseries import model as models
from capstan.contrib.timeseries.feature_keys import State
from capstan.estimator.mode_keys import ModeKeys


class PassthroughStateManager:
    """Lets each batch begin with the start state of the model."""

    def initialize_graph(self, model: models.TimeSeriesModel, input_statistics: Any = None) -> None:
        """Do nothing: there is no state to keep."""

    def define_loss(
        self, model: models.TimeSeriesModel, features: Mapping[str, Any], mode: str
    ) -> models.ModelOutputs:
        """Return the outputs of a batch.

        Raises:
            ValueError: the features have a state.
        """
        if State.STATE_TUPLE in features:
            raise ValueError("Overriding start state is not supported for this model.")
        return model.define_loss(features, mode)


class FilteringOnlyStateManager(PassthroughStateManager):
    """Lets an evaluation begin with the state in its features, if there is one."""

    def define_loss(
        self, model: models.TimeSeriesModel, features: Mapping[str, Any], mode: str
    ) -> models.ModelOutputs:
        """Return the outputs of a batch.

        Raises:
            ValueError: the features of a training have a state.
        """
        if State.STATE_TUPLE not in features:
            return model.define_loss(features, mode)
        if mode == ModeKeys.TRAIN:
            raise ValueError(
                "Overriding saved state for training is not supported (but a value for feature "
                f"{State.STATE_TUPLE} was specified)."
            )
        given = {name: each for name, each in features.items() if name != State.STATE_TUPLE}
        return model.get_batch_loss(given, mode, features[State.STATE_TUPLE])
