"""How many tokens a text is: one pinned tokenizer, named beside every figure, with no network.

The vocabulary is inside the library (Rust, bpe-openai), so a count is the same everywhere and
offline. What a model of another maker would count differs a little; the ratio of two counts hardly.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from importlib.machinery import PathFinder
from typing import Any

from .errors import StoreError

PACKAGE, VERSION, ENCODING = "bpe-openai", "0.1.4", "o200k_base"
TOKENIZER = f"{ENCODING} ({PACKAGE} {VERSION})"


def count(text: str) -> int:
    """The tokens of a text by `TOKENIZER`; the first call loads it, in about 0.1 s.

    What looks like a control token (``<|endoftext|>``) is text like any other.
    """
    return int(_encoding().count(text))


@cache
def _encoding() -> Any:
    return _bindings().tokenizer_for_encoding(ENCODING)


@cache
def _bindings() -> Any:
    """The compiled part of the package alone.

    Its Python part, which imports before it, parses three vocabularies (0.6 s) and warns.
    """
    package = importlib.util.find_spec("bpe_openai")
    places = None if package is None else package.submodule_search_locations
    spec = PathFinder.find_spec("bpe_openai._bindings", places)
    if places is None or spec is None or spec.loader is None:
        raise StoreError(f"tokens are counted with {PACKAGE}: pip install {PACKAGE}=={VERSION}")
    bindings = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bindings)
    return bindings
