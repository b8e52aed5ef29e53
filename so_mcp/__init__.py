"""SecondOrder: theory-of-mind memory for agents, over FalkorDB.

>>> from so_mcp import Memory
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import SecondOrderError

if TYPE_CHECKING:
    from .memory import Memory
    from .view import AgentView

__all__ = ["AgentView", "Memory", "SecondOrderError", "__version__"]
__version__ = "0.1.0"
_WHERE = {"AgentView": ".view", "Memory": ".memory"}


def __getattr__(name: str) -> Any:
    """`Memory` and `AgentView` when first asked for: the database's client takes long to import.

    A hook of a host starts often, and needs neither.
    """
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_WHERE[name], __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
