"""SecondOrder: theory-of-mind memory for agents, over FalkorDB."""

__version__ = "0.1.0"
