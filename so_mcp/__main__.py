"""``python -m so_mcp`` is ``so-mcp``."""

import sys

from .cli import main

sys.exit(main())
