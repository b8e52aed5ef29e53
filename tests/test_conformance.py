"""The conformance suite over HTTP: the scenarios that need no tools of its own making."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from checkers import need

from eval.hosts.conformance import SCENARIOS, every_scenario
from eval.hosts.served import MODES, Mode, Store, told_store

NAMED = {
    "2025-11-25": SCENARIOS["2025-11-25"],
    "2026-07-28": ("caching", "http-header-validation", "sep-2164-resource-not-found"),
}


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    need("conformance")
    with told_store() as made:
        yield made


@pytest.mark.parametrize("mode", MODES)
def test_the_protocol_is_spoken_as_it_is_specified_in_both_eras(store: Store, mode: Mode) -> None:
    assert every_scenario(store, mode, NAMED) == "10 of 10"
