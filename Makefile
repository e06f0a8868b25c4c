# `make` alone prints the targets. Each sets up what it needs in .venv, once, and needs only
# Python 3.11 or newer and make.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV   := .venv
BIN    := $(CURDIR)/$(VENV)/bin
PY     := $(BIN)/python
PIP    := $(PY) -m pip --disable-pip-version-check install --progress-bar on
HALVES := runtime operator
# Where pytest is run: each half and the repository's own tests, each with its own configuration.
SUITES := $(HALVES) e2e
PROCESSORS := $(shell getconf _NPROCESSORS_ONLN)
# Old versions of make cannot keep the output of jobs apart; they mix it.
IN_BLOCKS := $(if $(filter output-sync,$(.FEATURES)),--output-sync=recurse)
# Any value kills a worker and then the ps in the middle of the demo.
CHAOS ?=
# What `make bench` measures, and how often; nothing means all rows.
ROWS   ?=
ROUNDS ?=

PRODUCT := requirements/build.txt requirements/operator.txt requirements/runtime.txt \
           examples/digits/requirements.txt
LOCKED  := $(PRODUCT) requirements/dev.txt requirements/oracle.txt

.PHONY: help
help: ## Print this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# On a terminal the live table is the only one to draw; its news shows the kills.
.PHONY: demo
demo: $(VENV)/.product ## Train digits with 1 ps and 2 workers; CHAOS=1 kills a worker, then the ps.
	$(if $(CHAOS),@{ [ -t 1 ] && exec >/dev/null; exec $(PY) examples/digits/chaos.py .capstan/digits/status.json; } & )$(BIN)/capstanctl run examples/digits/job.yaml

# Side by side, as many as there are processors; each shows its output when it is done.
.PHONY: check
check: $(VENV)/.dev ## Style, types, import contracts and unit tests: before every merge.
	@$(MAKE) --no-print-directory --keep-going --jobs=$(PROCESSORS) $(IN_BLOCKS) lint types layers unit

.PHONY: lint
lint: $(VENV)/.dev
	@test ! -e operator/__init__.py || { echo "operator/__init__.py must not exist: it hides the" \
	  "standard library's operator module (docs/adr/0002-src-layout.md)"; exit 1; }
	$(BIN)/ruff format --check --diff .
	$(BIN)/ruff check .
	$(PY) docs/generate.py --check

.PHONY: types
types: $(VENV)/.dev
	$(BIN)/mypy

.PHONY: layers
layers: $(VENV)/.dev
	$(BIN)/lint-imports --no-logo

.PHONY: unit $(SUITES:%=unit-%)
unit: $(SUITES:%=unit-%)

$(SUITES:%=unit-%): unit-%: $(VENV)/.dev
	@echo "unit tests: $*"
	@cd $* && $(PY) -m pytest -q -m "not e2e" $(if $(filter $*,$(HALVES)),--hypothesis-profile=fast)

# One suite after the other: their processes want the machine for themselves.
.PHONY: test $(SUITES:%=test-%)
test: $(VENV)/.oracle lint types layers ## check, and everything else that this machine can run.
	@$(MAKE) --no-print-directory --keep-going --jobs=1 $(SUITES:%=test-%)

$(SUITES:%=test-%): test-%: $(VENV)/.oracle
	@echo "all tests: $*"
	@cd $* && $(PY) -m pytest -q $(if $(filter $*,$(HALVES)),--hypothesis-profile=full)

.PHONY: bench
bench: $(VENV)/.oracle ## Measure Capstan and TensorFlow side by side; ROWS=read,assign_add ROUNDS=3 for less.
	@ROWS="$(ROWS)" ROUNDS="$(ROUNDS)" $(PY) bench/run.py

.PHONY: generate
generate: $(VENV)/.dev ## Write anew the parts of docs/ that follow from the code.
	@$(PY) docs/generate.py

.PHONY: requirements
requirements: $(VENV)/.dev ## Pin and hash the newest versions that the ranges allow.
	@$(PY) requirements/lock.py

.PHONY: clean
clean: ## Remove .venv, caches and what local runs kept.
	rm -rf $(VENV) .capstan .mypy_cache .ruff_cache .import_linter_cache
	find . -type d \( -name __pycache__ -o -name .pytest_cache -o -name .hypothesis \
	  -o -name .capstan \) -prune -exec rm -rf {} +

# The environment, in three steps that build on one another: what the product and its example need,
# what checks them, and TensorFlow, the oracle of some tests. Each is redone when its pins change.

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Capstan needs Python 3.11 or newer, and $(PYTHON) is" \
	    "$$($(PYTHON) -V 2>/dev/null || echo 'not installed')." \
	    "Name another: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments: its venv module is not complete." \
	    "On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "setup: making $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.product: $(PY) $(PRODUCT) $(HALVES:=/pyproject.toml)
	@echo "setup 1/3: Capstan's own requirements and the example's (about 100 MB, once)"
	@$(PIP) $(addprefix -r ,$(PRODUCT))
	@$(PIP) --no-build-isolation --no-deps $(addprefix -e ./,$(HALVES))
	@touch $@

$(VENV)/.dev: $(VENV)/.product requirements/dev.txt
	@echo "setup 2/3: the checkers (once)"
	@$(PIP) -r requirements/dev.txt
	@touch $@

# A machine for which TensorFlow publishes no wheel runs everything but the tests that need it;
# they say so.
$(VENV)/.oracle: $(VENV)/.dev requirements/oracle.txt
	@echo "setup 3/3: TensorFlow, the oracle of some tests (about 300 MB, once)"
	@$(PIP) -r requirements/oracle.txt || echo "setup: TensorFlow cannot be installed here;" \
	  "the tests that compare with it will be skipped"
	@touch $@
