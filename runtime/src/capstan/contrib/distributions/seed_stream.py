"""`tf.contrib.distributions.SeedStream` (contrib's ops/seed_stream.py)."""

import hashlib


class SeedStream:
    """A stream of different seeds that one seed determines.

    `salt` is the name of the user of the stream: the streams of two users with one seed differ.
    `seed` is a number, None or another stream, whose seed is then taken. Not thread-safe.
    """

    def __init__(self, seed: "int | SeedStream | None", salt: str) -> None:
        self._seed = seed.original_seed if isinstance(seed, SeedStream) else seed
        self._salt = salt
        self._count = 0

    def __call__(self) -> int | None:
        """Return the next seed, or None for the seed None."""
        self._count += 1
        if self._seed is None:
            return None
        text = str((self._seed, self._count, self._salt)).encode()
        return int(hashlib.sha512(text).hexdigest(), 16)

    @property
    def original_seed(self) -> int | None:
        """The seed of the stream."""
        return self._seed

    @property
    def salt(self) -> str:
        """The name of the user."""
        return self._salt
