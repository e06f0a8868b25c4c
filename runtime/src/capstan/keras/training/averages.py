"""The mean loss of a pass over the data."""


class Mean:
    """A mean of the losses of batches.

    Each batch counts by its size if the number of all examples is known. Otherwise, for example in
    a dataset, each counts as much as any other.
    """

    def __init__(self, is_weighted: bool) -> None:
        self._is_weighted = is_weighted
        self._total, self._weight = 0.0, 0
        self.count = 0

    def add(self, loss: float, size: int) -> None:
        weight = size if self._is_weighted else 1
        self._total += loss * weight
        self._weight += weight
        self.count += 1

    @property
    def value(self) -> float:
        return self._total / self._weight
