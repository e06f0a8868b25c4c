"""Random programs of nested conditionals, loops and TensorArrays, and their gradients.

The same seed gives the same program for any implementation of `tf`. All values are float32 scalars
between -2 and 2, and loop counters.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

DEPTH = 2


class _Builder:
    """Draws one program. `pool` in its methods are the tensors that a new one may depend on."""

    def __init__(self, tf: Any, seed: int) -> None:
        self.tf = tf
        self.draw = random.Random(seed)

    def program(self, gate_gradients: bool) -> Sequence[Any]:
        tf = self.tf
        sources = [tf.constant(self.draw.uniform(-1, 1)) for _ in range(3)]
        sources.append(tf.placeholder_with_default(tf.constant(0.5), []))
        results = [self.expression(sources, 0)]
        grads = tf.gradients(results, sources, gate_gradients=gate_gradients)
        return [*results, *(grad for grad in grads if grad is not None)]

    def expression(self, pool: Sequence[Any], depth: int) -> Any:
        """Return a new tensor after a few random operations on tensors of the pool."""
        pool = list(pool)
        for _ in range(self.draw.randint(1, 2)):
            pool.append(self.draw.choice(self.kinds(depth))(pool, depth))
        return pool[-1] + self.draw.choice(pool) * 0.5

    def kinds(self, depth: int) -> list[Callable[[Sequence[Any], int], Any]]:
        plain = [self.arithmetic, self.arithmetic]
        nesting = [self.cond, self.loop, self.loop_over_array, self.mapping, self.folding]
        return plain if depth == DEPTH else plain + nesting

    def arithmetic(self, pool: Sequence[Any], depth: int) -> Any:
        x, y = self.draw.choice(pool), self.draw.choice(pool)
        kind = self.draw.randrange(5)
        if kind == 0:
            return self.tf.tanh(x + y)
        if kind == 1:
            return self.tf.tanh(x * y)
        if kind == 2:
            return self.tf.sigmoid(x) - 0.5
        if kind == 3:
            return self.tf.tanh(x - self.tf.stop_gradient(y))
        with self.tf.control_dependencies([y]):
            return self.tf.identity(x)

    def cond(self, pool: Sequence[Any], depth: int) -> Any:
        pred = self.draw.choice(pool) > self.draw.uniform(-0.5, 0.5)
        return self.tf.cond(
            pred,
            lambda: self.expression(pool, depth + 1),
            lambda: self.expression(pool, depth + 1),
        )

    def loop(self, pool: Sequence[Any], depth: int) -> Any:
        count = self.draw.randint(0, 3)
        start = [self.draw.choice(pool) for _ in range(self.draw.randint(1, 2))]
        limit = self.draw.choice([None, 2])

        def body(i: Any, *values: Any) -> Any:
            following = [self.expression([*pool, *values], depth + 1) for _ in values[1:]]
            return (i + 1, self.tf.tanh(self.expression([*pool, *values], depth + 1)), *following)

        _, *results = self.tf.while_loop(
            lambda i, *_: i < count, body, (0, *start), maximum_iterations=limit
        )
        return self.draw.choice(results)

    def loop_over_array(self, pool: Sequence[Any], depth: int) -> Any:
        count = self.draw.randint(1, 3)
        inputs = [self.draw.choice(pool) for _ in range(count)]
        array = self.tf.TensorArray(self.tf.float32, count, clear_after_read=False)
        array = array.unstack(self.tf.stack(inputs))

        def body(i: Any, value: Any, results: Any) -> Any:
            value = self.tf.tanh(self.expression([*pool, value, array.read(i)], depth + 1))
            return i + 1, value, results.write(i, value)

        _, last, results = self.tf.while_loop(
            lambda i, *_: i < count,
            body,
            (0, self.draw.choice(pool), self.tf.TensorArray(self.tf.float32, count)),
        )
        return self.draw.choice([last, self.tf.reduce_mean(results.stack())])

    def mapping(self, pool: Sequence[Any], depth: int) -> Any:
        values = self.tf.stack([self.draw.choice(pool) for _ in range(2)])
        mapped = self.tf.map_fn(lambda x: self.expression([*pool, x], depth + 1), values)
        return self.tf.tanh(self.tf.reduce_sum(mapped))

    def folding(self, pool: Sequence[Any], depth: int) -> Any:
        values = self.tf.stack([self.draw.choice(pool) for _ in range(2)])

        def step(total: Any, x: Any) -> Any:
            return self.tf.tanh(self.expression([*pool, total, x], depth + 1))

        kind = self.draw.randrange(3)
        if kind == 0:
            return self.tf.foldl(step, values)
        if kind == 1:
            return self.tf.foldr(step, values)
        return self.tf.reduce_mean(self.tf.scan(step, values, reverse=self.draw.random() < 0.5))


def program(seed: int, gate_gradients: bool = False) -> Callable[[Any], Sequence[Any]]:
    """Return the program of a seed, which takes `tf` and returns its fetches.

    `gate_gradients` is the argument of `tf.gradients`, which optimizers set.
    """
    return lambda tf: _Builder(tf, seed).program(gate_gradients)
