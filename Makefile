# Two commands on a fresh machine: `make demo` and `make test`. Each sets itself up first.
PYTHON := .venv/bin/python
READY := .venv/.ready
EVERY_CORE := -n logical --dist worksteal

.PHONY: demo test check fix docs clean

demo: $(READY)
	@$(PYTHON) -m so_mcp demo

test: $(READY)
	@$(PYTHON) -m pytest $(EVERY_CORE)

check: $(READY)
	@.venv/bin/ruff check .
	@.venv/bin/mypy

fix: $(READY)
	@.venv/bin/ruff check --fix .

docs: $(READY)
	@$(PYTHON) -m eval docs

$(READY): pyproject.toml .ci/setup requirements.lock
	@sh .ci/setup

clean:
	@rm -rf .venv build dist *.egg-info
