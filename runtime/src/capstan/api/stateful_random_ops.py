"""Generators of random numbers: `tf.random.experimental` (python/ops/stateful_random_ops.py).

A generator keeps its state in a resource variable, so checkpoints save it, and servers share it.
Its numbers, but for those of the binomial distribution, are TensorFlow's.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from capstan.api import random_ops, trackable, variables
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = [
    "Generator", "create_rng_state", "get_global_generator", "set_global_generator",
]  # fmt: skip

RNG_ALG_PHILOX: Final = 1
RNG_ALG_THREEFRY: Final = 2
DEFAULT_ALGORITHM: Final = RNG_ALG_PHILOX
_SIZES: Final = {RNG_ALG_PHILOX: 3, RNG_ALG_THREEFRY: 2}
"""The number of words in the state of an algorithm. The last one is the key."""
_WORD: Final = 64
_GLOBAL: Final = "_global_generator"
"""The collection of a graph that holds its global generator."""


def non_deterministic_ints(shape: Any, dtype: Any = dtypes.int64) -> Any:
    """Return integers that differ in each step, from the whole range of their type."""
    return raw.NonDeterministicInts(random_ops.sizes(shape), dtype=dtypes.as_dtype(dtype))


def create_rng_state(seed: Any, algorithm: int) -> Any:
    """Return the state for a seed, a vector of int64. `seed` is an integer or a vector of them.

    A short seed is filled with zeros from the left, so that it decides the key.

    Raises:
        ValueError: the algorithm is unknown, or the seed has more than one axis.
    """
    size = _size(algorithm)
    if isinstance(seed, int):
        words = [seed >> _WORD * place & (1 << _WORD) - 1 for place in range(size)]
    else:
        words = [int(word) for word in _vector(seed)][:size]
    return np.array([0] * (size - len(words)) + list(map(_signed, words)), np.int64)


def _vector(seed: Any) -> Any:
    array = np.asarray(seed, object)
    if array.ndim != 1:
        raise ValueError(f"seed should only have one dimension; got shape: {array.shape}")
    return array


def _signed(word: int) -> int:
    return word - (1 << _WORD) if word >= 1 << _WORD - 1 else word


def _size(algorithm: int) -> int:
    if algorithm not in _SIZES:
        raise ValueError(f"Unsupported algorithm id: {algorithm}")
    return _SIZES[algorithm]


def _state(value: Any) -> Any:
    """Return a state, or a part of one, as a tensor of int64."""
    if isinstance(value, list):
        value = [_signed(word) if isinstance(word, int) else word for word in value]
    return convert.convert_to_tensor(value, dtypes.int64)


class Generator(trackable.Trackable):
    """A stream of random numbers, which all steps continue.

    Each method that draws adds an operation that moves the counter of the stream when it runs.
    """

    def __init__(self, copy_from: Any = None, state: Any = None, alg: int | None = None) -> None:
        """Copy another generator, or start with a state of an algorithm.

        Raises:
            ValueError: neither is given or both are, or the state does not fit the algorithm.
        """
        if (copy_from is None) == (state is None) or (state is None) != (alg is None):
            raise ValueError("Generator needs either copy_from, or both state and alg")
        self._alg: int
        if copy_from is not None:
            first, self._alg = copy_from.state.initialized_value(), copy_from.algorithm
        else:
            assert alg is not None
            first, self._alg = _state(state), alg
            first.shape.assert_is_compatible_with([_size(alg)])
        self._state_var = variables.Variable(
            first, dtype=dtypes.int64, trainable=False, use_resource=True
        )

    @classmethod
    def from_state(cls, state: Any, alg: int) -> "Generator":
        """Return a generator that starts with a state: the counter and the key."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed: Any, alg: int | None = None) -> "Generator":
        """Return a generator that starts with `create_rng_state(seed, alg)`."""
        chosen = DEFAULT_ALGORITHM if alg is None else alg
        return cls(state=create_rng_state(seed, chosen), alg=chosen)

    @classmethod
    def from_non_deterministic_state(cls, alg: int | None = None) -> "Generator":
        """Return a generator whose initializer draws another state each time."""
        chosen = DEFAULT_ALGORITHM if alg is None else alg
        return cls(state=non_deterministic_ints([_size(chosen)]), alg=chosen)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: int | None = None) -> "Generator":
        """Return a generator that starts with a scalar key and a vector, the counter."""
        chosen = DEFAULT_ALGORITHM if alg is None else alg
        return cls(state=_joined(key, counter, chosen), alg=chosen)

    def reset(self, state: Any) -> Any:
        """Return an operation that replaces the state."""
        value = _state(state)
        value.shape.assert_is_compatible_with([_size(self._alg)])
        return self._state_var.assign(value)

    def reset_from_seed(self, seed: Any) -> Any:
        """Return an operation that starts the generator anew with a seed."""
        return self._state_var.assign(create_rng_state(seed, self._alg))

    def reset_from_key_counter(self, key: Any, counter: Any) -> Any:
        """Return an operation that starts the generator anew with a key and a counter."""
        return self._state_var.assign(_joined(key, counter, self._alg))

    @property
    def state(self) -> Any:
        """The variable that holds the state."""
        return self._state_var

    @property
    def algorithm(self) -> int:
        """The number of the algorithm."""
        return self._alg

    @property
    def key(self) -> Any:
        """The key, a scalar of int64."""
        return self._state_var[-1]

    def skip(self, delta: Any) -> Any:
        """Return an operation that moves the counter as `normal([delta])` does."""
        return raw.RngSkip(
            self.state.handle, np.int64(self._alg), convert.convert_to_tensor(delta, dtypes.int64)
        )

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Any:
        """Return normally distributed numbers."""
        with scoped(name, "stateful_normal", (shape, mean, stddev)) as scope:
            return self._moved(raw.StatefulStandardNormalV2, shape, mean, stddev, dtype, scope)

    def truncated_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Any:
        """Return normally distributed numbers within two standard deviations of the mean."""
        with scoped(name, "truncated_normal", (shape, mean, stddev)) as scope:
            return self._moved(raw.StatefulTruncatedNormal, shape, mean, stddev, dtype, scope)

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Any:
        """Return uniformly distributed numbers in [minval, maxval). `maxval` is 1 for floats.

        Raises:
            ValueError: the dtype is integer and `maxval` is missing.
        """
        kind = dtypes.as_dtype(dtype)
        if maxval is None:
            if kind.is_integer:
                raise ValueError(f"Must specify maxval for integer dtype {kind!r}")
            maxval = 1
        with scoped(name, "stateful_uniform", (shape, minval, maxval)) as scope:
            low = convert.convert_to_tensor(minval, kind, "min")
            high = convert.convert_to_tensor(maxval, kind, "max")
            if kind.is_integer:
                return raw.StatefulUniformInt(*self._drawn(shape), low, high, name=scope)
            drawn = raw.StatefulUniform(*self._drawn(shape), dtype=kind)
            return raw.Add(drawn * (high - low), low, name=scope)

    def uniform_full_int(
        self, shape: Any, dtype: Any = dtypes.uint64, name: str | None = None
    ) -> Any:
        """Return integers from the whole range of a type of 32 or 64 bits."""
        with scoped(name, "stateful_uniform_full_int", (shape,)) as scope:
            kind = dtypes.as_dtype(dtype)
            return raw.StatefulUniformFullInt(*self._drawn(shape), dtype=kind, name=scope)

    def binomial(
        self,
        shape: Any,
        counts: Any,
        probs: Any,
        dtype: Any = dtypes.int32,
        name: str | None = None,
    ) -> Any:
        """Return the numbers of successes in `counts` trials that succeed with `probs`.

        The parameters broadcast to `shape`.
        """
        with scoped(name, "binomial", (shape, counts, probs)) as scope:
            trials = convert.convert_to_tensor(counts, name="counts")
            chance = convert.convert_to_tensor(probs, name="probs")
            return raw.StatefulRandomBinomial(
                *self._drawn(shape), trials, chance, dtype=dtypes.as_dtype(dtype), name=scope
            )

    def make_seeds(self, count: int = 1) -> Any:
        """Return seeds for the stateless random functions, a tensor [2, count] of int64."""
        keys = self.uniform_full_int([count], dtypes.int64)
        return raw.Pack([keys, raw.ZerosLike(keys)])

    def split(self, count: int = 1) -> Sequence["Generator"]:
        """Return generators that are independent of each other, and move this one.

        Their initializers read this generator, so it must be initialized before them.
        """
        keys = raw.Unpack(self.uniform_full_int([count], dtypes.int64), num=count)
        zeros = [0] * (_size(self._alg) - 1)
        return [
            Generator(
                state=raw.ConcatV2([np.array(zeros, np.int64), raw.Reshape(key, [1])], 0),
                alg=self._alg,
            )
            for key in keys
        ]

    def _drawn(self, shape: Any) -> tuple[Any, ...]:
        """Return the inputs of an operation that draws."""
        return self.state.handle, np.int64(self._alg), random_ops.sizes(shape)

    def _moved(self, add: Any, shape: Any, mean: Any, stddev: Any, dtype: Any, scope: str) -> Any:
        kind = dtypes.as_dtype(dtype)
        centre = convert.convert_to_tensor(mean, kind, "mean")
        width = convert.convert_to_tensor(stddev, kind, "stddev")
        drawn = add(*self._drawn(shape), dtype=kind)
        return raw.Add(drawn * width, centre, name=scope)


def _joined(key: Any, counter: Any, algorithm: int) -> Any:
    first, last = _state(counter), _state(key)
    first.shape.assert_is_compatible_with([_size(algorithm) - 1])
    last.shape.assert_is_compatible_with([])
    return raw.ConcatV2([first, raw.Reshape(last, [1])], 0)


def get_global_generator() -> Generator:
    """Return the global generator of the default graph. The first call makes it."""
    kept = graphs.get_default_graph().get_collection_ref(_GLOBAL)
    if not kept:
        kept.append(Generator.from_non_deterministic_state())
    found: Generator = kept[0]
    return found


def set_global_generator(generator: Generator) -> None:
    """Replace the global generator of the default graph."""
    graphs.get_default_graph().get_collection_ref(_GLOBAL)[:] = [generator]
