#!/usr/bin/env python3
"""Where a host that brings its own uv starts the bundle: ``uv run main.py``."""

import sys

from so_mcp.cli import main

sys.exit(main())
