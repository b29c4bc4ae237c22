# Every target sets up what it needs; `make` alone prints this help.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
JOBS   ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow check fmt lint types imports bench clean

help: ## Print this help
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@

demo: $(STAMP) ## Optimise the shipped kernels: verified, modelled cycles before and after
	$(BIN)/python examples/demo.py --output build/demo

test: $(STAMP) ## Run the test suite
	$(BIN)/python -m pytest -n $(JOBS)

test-slow: $(STAMP) ## Run the long tests too (set ASMEVO_CORPUS for production objects)
	$(BIN)/python -m pytest -n $(JOBS) -m "slow or not slow"

check: lint types imports test ## Everything that CI runs

fmt: $(STAMP) ## Format the code
	$(BIN)/ruff format asmevo tests bench examples
	$(BIN)/ruff check --fix asmevo tests bench examples

lint: $(STAMP) ## Format and lint checks
	$(BIN)/ruff format --check asmevo tests bench examples
	$(BIN)/ruff check asmevo tests bench examples

types: $(STAMP) ## Strict type check
	$(BIN)/pyright --pythonpath $(BIN)/python

imports: $(STAMP) ## Check that imports point one way
	$(BIN)/lint-imports

bench: $(STAMP) ## Time the parser, emulator and passes on this machine
	$(BIN)/python bench/run.py

clean: ## Remove what make built
	rm -rf $(VENV) build .pytest_cache .ruff_cache
