"""What a test needs and this machine may not have: then it is skipped, but not in CI."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def absent(reason: str) -> NoReturn:
    """Skip the test, and say why; under CI=true fail, so that what CI passes has been tried."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"under CI=true this has to be there: {reason}")
    pytest.skip(reason)
