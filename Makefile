# Every developer command. `make` alone lists them.

PYTHON_FILES := src tests bench examples proto
PY := .venv/bin/python
READY := .venv/.ready

.PHONY: help setup run test check format lint types contracts proto cover all clean

help:            ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

setup: $(READY)  ## .venv with Magnetar and everything it needs

$(READY): pyproject.toml setup.sh
	./setup.sh
	@touch $(READY)

run: $(READY)    ## the main job: flights through a broker and a Spark pipeline, reconciled
	.venv/bin/magnetar quickstart $(ARGS)

test: $(READY)   ## all tests
	$(PY) -m pytest $(ARGS)

check: $(READY)  ## format, lint, strict types, import contracts
	.venv/bin/ruff format --check $(PYTHON_FILES)
	.venv/bin/ruff check $(PYTHON_FILES)
	.venv/bin/mypy
	.venv/bin/lint-imports

format: $(READY) ## rewrite the sources in the one format, and mend what can be mended
	.venv/bin/ruff format $(PYTHON_FILES)
	.venv/bin/ruff check --fix $(PYTHON_FILES)

proto: $(READY)  ## regenerate src/magnetar/wire/proto from proto/
	$(PY) proto/generate.py

all: check test  ## what CI runs, no more, no less

clean:           ## remove what setup and the tests made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache data
