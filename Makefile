# `make` alone says what there is. Every target sets up what it needs: the demo a small environment in .venv-demo,
# all others .venv; by uv if it is there, by the stock venv and pip if not.
PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null)
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
RUN := .venv/$(SCRIPTS)/python
STAMP := .venv/.installed-from-pyproject
DEMO := .venv-demo/.installed-from-pyproject
# the sampler's tests run with the newest Optuna and with this one (tests/optuna/test_oldest.py)
OLDEST_OPTUNA := 4.0.0
# tests start hundreds of processes: none of them is to compile all modules anew
unexport PYTHONDONTWRITEBYTECODE

# one BLAS thread for each process: on small matrices more of them wait for each other
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1

# $(call environment,FOLDER) makes one, $(call install,FOLDER,OPTIONS) installs into it; modules are compiled when they
# are imported first, since most of SciPy never is
environment = $(if $(UV),uv venv --quiet --allow-existing --python $(PYTHON) $(1),$(PYTHON) -m venv $(1))
install = $(if $(UV),uv pip install --quiet --python $(1)/$(SCRIPTS)/python,$(1)/$(SCRIPTS)/python -m pip install --quiet --no-compile --disable-pip-version-check) $(2)

.PHONY: help setup demo docs test lint test-processors test-slow test-machines torture fuzz mutants cost paper clean

help:
	@echo "Saltus: mixed-integer black-box optimisation. What there is to make:"
	@awk -F ':.*## *' '/^[a-z-]+:.*##/ { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(DEMO)  ## design a camera lens with an external ray tracer, and write a page about it: half a minute
	@mkdir -p out && rm -f out/lens.db*
	.venv-demo/bin/saltus run examples/lens/study.toml --db out/lens.db
	.venv-demo/bin/saltus report examples/lens/study.toml --db out/lens.db
	@echo
	@echo "  best        the radius of the spots of light in micrometres, over three colours and three angles."
	@echo "              It began near 160, with lenses that were nearly flat; diffraction ends it at 3.6"
	@echo "  the page    $(CURDIR)/out/lens.html (open it in a browser; it needs no network)"
	@echo "  the record  out/lens.db: every evaluation. .venv-demo/bin/saltus run examples/lens/study.toml --db out/lens.db"
	@echo "              --budget 1500 goes on from here, for a better lens"

$(DEMO): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Saltus needs Python 3.11 or newer; try make PYTHON=python3.12")'
	$(call environment,.venv-demo)
	$(call install,.venv-demo,--editable '.[cli]')
	@touch $@

setup: $(STAMP)  ## the environment of tests and documents, in .venv: 1.1 GB

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Saltus needs Python 3.11 or newer; try make PYTHON=python3.12")'
	$(call environment,.venv)
	$(call install,.venv,--editable '.[dev]')
	$(call install,.venv,--no-deps --target .venv/oldest-optuna --upgrade 'optuna==$(OLDEST_OPTUNA)')
	@touch $@

test: setup  ## the fast tests
	$(RUN) -m pytest -q -n auto --dist worksteal

lint: setup  ## ruff and mypy, strict
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

docs: setup  ## the site, into out/site: runs the gallery, fails on any warning, dead link or request to another host
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --strict --quiet --clean
	@echo "the site: $(CURDIR)/out/site/index.html"

# each as NAME OF A BLAS KERNEL:WHAT NUMPY IS NOT TO USE; what a processor does not have makes no difference
PROCESSORS := SkylakeX: Haswell:AVX512_ICL,X86_V4 Nehalem:AVX512_ICL,X86_V4,X86_V3
test-processors: setup  ## the fast tests as on three other processors, which round otherwise
	for each in $(PROCESSORS); do \
		OPENBLAS_CORETYPE=$${each%%:*} NPY_DISABLE_CPU_FEATURES=$${each#*:} $(MAKE) --no-print-directory test || exit 1; \
	done

test-slow: setup  ## statistics against the paper
	$(RUN) -m pytest -q -m slow

test-machines: setup  ## many processes and servers: Dask, Ray, PostgreSQL, a dashboard, the oldest Optuna; several minutes
	$(RUN) -m pytest -q -m machines

torture: setup  ## kills, I/O errors, power cuts, damage, forgeries, clocks: docs/trust.md; about fifteen minutes
	$(RUN) -m tests.torture

fuzz: setup  ## random study files, outputs, records, states and attributes; longer: make fuzz EXAMPLES=20000
	SALTUS_FUZZ=$(or $(EXAMPLES),1000) $(RUN) -m pytest -q tests/fuzz

mutants: setup  ## does a test notice small changes to the search? One file: make mutants ONLY=strategy/leap.py
	$(RUN) -m tests.mutation $(if $(ONLY),--only $(ONLY))

cost: setup  ## microseconds per generation, beside the peers
	$(RUN) -m experiments.cost

paper: setup  ## the paper's tables and figures, run anew into out/paper; stopped, it goes on where it was
	$(RUN) -m experiments.paper table2 --methods dx-nes-ici --out out/paper
	for what in table3 table4 figure5 figure6; do $(RUN) -m experiments.paper $$what --out out/paper || exit 1; done

include release/release.mk

clean:  ## remove what was built
	rm -rf .venv .venv-* build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
