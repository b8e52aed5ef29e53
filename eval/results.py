"""Figures that were measured, kept so that documents can show them: ``eval/results/NAME.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "results"


def load(name: str) -> Any:
    """What ``python -m eval NAME --save`` measured last."""
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def save(name: str, figures: Any) -> None:
    """Keep what was measured; `make docs` then renews the documents."""
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps(figures, indent=1, ensure_ascii=False)
    (FOLDER / f"{name}.json").write_text(f"{text}\n", "utf-8")
