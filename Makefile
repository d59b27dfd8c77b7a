# Every target sets up what it needs: a virtual environment in .venv, by the stock venv and pip.
PYTHON ?= python3
RUN := .venv/bin/python
STAMP := .venv/.installed-from-pyproject
# the sampler's tests run with the newest Optuna and with this one (tests/optuna/test_oldest.py)
OLDEST_OPTUNA := 4.0.0
# tests start hundreds of processes: none of them is to compile all modules anew
unexport PYTHONDONTWRITEBYTECODE

# one BLAS thread for each process: on small matrices more of them wait for each other
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1

.PHONY: setup demo test lint test-slow test-machines torture fuzz mutants cost paper clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Saltus needs Python 3.11 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(RUN) -m pip install --quiet --editable '.[dev]'
	$(RUN) -m pip install --quiet --no-deps --target .venv/oldest-optuna --upgrade 'optuna==$(OLDEST_OPTUNA)'
	touch $@

demo: setup  ## design a lens with a ray tracer that is no Python program, and write a page about it
	mkdir -p out
	rm -f out/lens.db*
	.venv/bin/saltus run examples/lens/study.toml --db out/lens.db
	.venv/bin/saltus report examples/lens/study.toml --db out/lens.db

test: setup  ## the fast tests
	$(RUN) -m pytest -q -n auto --dist worksteal

lint: setup
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

test-slow: setup  ## statistics against the paper
	$(RUN) -m pytest -q -m slow

test-machines: setup  ## many processes and servers: Dask, Ray, PostgreSQL, a dashboard, the oldest Optuna; about three minutes
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

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
