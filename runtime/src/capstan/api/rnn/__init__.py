"""`tf.nn.rnn_cell`: the cells of recurrent networks (python/ops/rnn_cell.py)."""

from typing import Any

from capstan.api.absent import absent
from capstan.api.rnn.cells import BasicLSTMCell as BasicLSTMCell
from capstan.api.rnn.cells import BasicRNNCell as BasicRNNCell
from capstan.api.rnn.cells import GRUCell as GRUCell
from capstan.api.rnn.cells import LSTMCell as LSTMCell
from capstan.api.rnn.cells import LSTMStateTuple as LSTMStateTuple
from capstan.api.rnn.cells import RNNCell as RNNCell
from capstan.api.rnn.dropout import DropoutWrapper as DropoutWrapper
from capstan.api.rnn.wrappers import DeviceWrapper as DeviceWrapper
from capstan.api.rnn.wrappers import MultiRNNCell as MultiRNNCell
from capstan.api.rnn.wrappers import ResidualWrapper as ResidualWrapper


def __getattr__(name: str) -> Any:
    raise absent("tf.nn.rnn_cell", name)
