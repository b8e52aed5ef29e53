# Two commands on a fresh machine: `make demo` and `make test`. Each sets itself up first.
PYTHON := .venv/bin/python
READY := .venv/.ready
EVERY_CORE := -n logical --dist worksteal

.PHONY: demo test test-server test-cluster checkers check fix docs bundle clean

demo: $(READY)
	@$(PYTHON) -m so_mcp demo

# The checkers from npm are 400 MB: CI has them, and whoever says `make checkers`.
ifeq ($(CI),true)
test: checkers
endif
test: $(READY)
	@$(PYTHON) -m pytest $(EVERY_CORE)

# The suite on servers of its own, started for it and stopped: one with a password behind TLS (which
# needs stunnel4), and a cluster of three. Left out is what is about the embedded database alone.
test-server test-cluster: $(READY)
	@$(PYTHON) -m pytest $(EVERY_CORE) --database $(@:test-%=%)

checkers:
	@sh third_party/node/setup

check: $(READY)
	@.venv/bin/ruff check .
	@.venv/bin/mypy

fix: $(READY)
	@.venv/bin/ruff check --fix .

docs: $(READY)
	@$(PYTHON) -m eval docs

bundle: $(READY)
	@$(PYTHON) -m eval.bundle

$(READY): pyproject.toml .ci/setup requirements.lock
	@sh .ci/setup

clean:
	@rm -rf .venv build dist *.egg-info
