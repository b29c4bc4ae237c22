# Every target sets up what it needs; `make` alone prints this help.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
JOBS   ?= 2
LLVM_CONFIG ?= llvm-config-22

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow check fmt lint types imports bench bench-suite bench-passes bench-timing bench-equivalence soundness triage mutants isa-check isa-docs isa-descriptors fuzz fuzz-smoke docs docs-serve lock clean

help: ## Print this help
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 17

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
	$(BIN)/ruff format asmevo tools tests bench examples fuzz
	$(BIN)/ruff check --fix asmevo tools tests bench examples fuzz

lint: $(STAMP) ## Format and lint checks
	$(BIN)/ruff format --check asmevo tools tests bench examples fuzz
	$(BIN)/ruff check asmevo tools tests bench examples fuzz

types: $(STAMP) ## Strict type check
	$(BIN)/pyright --pythonpath $(BIN)/python

imports: $(STAMP) ## Check that imports point one way
	$(BIN)/lint-imports

bench: $(STAMP) ## Time the parser, emulator and passes on this machine
	$(BIN)/python bench/run.py

bench-suite: $(STAMP) ## Gains on the benchmark suite's 34 kernels (modelled): SECONDS=30 for a search, RIVALS=build/rivals, OUT=folder
	$(BIN)/python -m bench.suite $(if $(SECONDS),--search $(SECONDS)) $(if $(RIVALS),--rivals $(RIVALS)) --out $(or $(OUT),build/suite)

bench-passes: $(STAMP) ## Judge every pass and preset, with modelled gains (set ASMEVO_CORPUS for production objects): OUT=file
	$(BIN)/python -m bench.passes --out $(or $(OUT),build/passes.jsonl)

bench-timing: $(STAMP) ## Compare the cycle model with published measurements; writes docs/timing_validation.md
	$(BIN)/python -m bench.timing --write

bench-equivalence: $(STAMP) ## Time the equivalence proof (set ASMEVO_CORPUS for production windows)
	$(BIN)/python bench/equivalence.py

soundness: $(STAMP) ## Try to catch the equivalence proof with mutants and legal edits (set ASMEVO_CORPUS)
	$(BIN)/python -m tools.equivalence.soundness --output build/soundness.jsonl

triage: $(STAMP) ## List every error found on production objects (set ASMEVO_CORPUS)
	$(BIN)/python -m tools.triage

mutants: $(STAMP) ## Break production kernels and count what the static checks refuse (set ASMEVO_CORPUS)
	$(BIN)/python -m tools.static_mutants.run

isa-check: $(STAMP) ## Compare the instruction tables with every outside source (rocRoller: set ASMEVO_ROCROLLER)
	$(BIN)/python -m pip install --quiet --editable ".[dev,isa]"
	$(BIN)/python -m tools.isa.crosscheck

isa-docs: $(STAMP) ## Write docs/isa and docs/semantics.md from the instruction tables
	$(BIN)/python -m tools.isa.pages
	$(BIN)/python -m tools.semantics.coverage

isa-descriptors: $(STAMP) ## Read LLVM's instruction descriptors anew (needs its headers: LLVM_CONFIG=llvm-config-22)
	mkdir -p build
	$(CXX) -std=c++17 tools/isa/llvm_descriptors.cpp -o build/llvm_descriptors \
	  $$($(LLVM_CONFIG) --cxxflags --ldflags --libs) -Wl,-rpath,$$($(LLVM_CONFIG) --libdir)
	$(BIN)/python -m tools.isa.descriptors build/llvm_descriptors

fuzz: $(STAMP) ## Mutated inputs for every reader: SECONDS=600 LOG=folder
	$(BIN)/python -m fuzz --seconds $(or $(SECONDS),600) --jobs $(JOBS) $(if $(LOG),--log $(LOG))

fuzz-smoke: $(STAMP) ## The same for a minute
	$(BIN)/python -m fuzz --seconds 60 --jobs $(JOBS)

docs: $(STAMP) ## Build the documentation site into build/site
	$(BIN)/mkdocs build --strict

docs-serve: $(STAMP) ## Show the documentation while it is written
	$(BIN)/mkdocs serve

lock: $(STAMP) ## Pin what development uses: writes requirements-dev.lock
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --extra dev --custom-compile-command "make lock" \
	  --output-file requirements-dev.lock pyproject.toml

clean: ## Remove what make built
	rm -rf $(VENV) build .pytest_cache .ruff_cache
