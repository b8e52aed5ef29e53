"""Choices from a seed that are the same in every version of Python."""

import random
from collections.abc import Mapping, Sequence
from itertools import accumulate


class Dice:
    """Draws from one sequence of numbers; built on `random.Random.random` alone.

    Python promises that sequence for a seed, and no other method of `random.Random`.
    """

    def __init__(self, *seed: object) -> None:
        self._random = random.Random("/".join(map(str, seed)))  # noqa: S311 - no secret

    def below(self, number: int) -> int:
        """A whole number from 0, less than ``number``."""
        return int(self._random.random() * number)

    def between(self, least: int, most: int) -> int:
        """A whole number, both ends included."""
        return least + self.below(most - least + 1)

    def chance(self, probability: float) -> bool:
        """Whether something of this probability happens."""
        return self._random.random() < probability

    def pick[T](self, of: Sequence[T]) -> T:
        """One of these, each as likely."""
        return of[self.below(len(of))]

    def some[T](self, of: Sequence[T], most: int, least: int = 1) -> list[T]:
        """Several different ones, at least ``least`` if there are as many, in the order drawn."""
        left, number = list(of), self.between(least, max(least, most))
        return [left.pop(self.below(len(left))) for _ in range(min(number, len(left)))]

    def weighted[T](self, weights: Mapping[T, float]) -> T:
        """One of the keys, as likely as its weight says."""
        keys, marks = list(weights), list(accumulate(weights.values()))
        mark = self._random.random() * marks[-1]
        return next((k for k, m in zip(keys, marks, strict=True) if mark < m), keys[-1])
