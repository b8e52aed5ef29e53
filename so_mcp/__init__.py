"""SecondOrder: theory-of-mind memory for agents, over FalkorDB.

>>> from so_mcp import Memory
"""

from __future__ import annotations

from .errors import SecondOrderError
from .memory import Memory
from .view import AgentView

__all__ = ["AgentView", "Memory", "SecondOrderError", "__version__"]
__version__ = "0.1.0"
