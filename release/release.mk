# Releases, and what goes with them: docs/releasing.md. Each target has an environment of its own.

.PHONY: dist test-lowest test-core test-pure lint-platforms licences sbom paper-pdf

BUILDER := .venv-release/$(SCRIPTS)/python
CORE := .venv-core/$(SCRIPTS)/python
LOWEST := .venv-lowest/$(SCRIPTS)/python
# the tests that need neither peers nor clusters; the first rooms need nothing of the operating system either
PURE_ROOMS := tests/space tests/model tests/strategy tests/search tests/optimizer
CORE_ROOMS := $(PURE_ROOMS) tests/report tests/study tests/cli tests/optuna/test_sampler.py tests/sklearn
CORE_TESTS := -m pytest -q -n auto --dist worksteal
SHIPPED := cli,plot,optuna,sklearn,dask
CORE_NEEDS := '.[cli,plot,optuna,sklearn]' pytest pytest-xdist hypothesis

.venv-release/.made: release/release.mk
	$(call environment,.venv-release)
	$(call install,.venv-release,build twine check-wheel-contents cyclonedx-bom)
	touch $@

.venv-core/.made: pyproject.toml release/release.mk
	$(call environment,.venv-core)
	$(call install,.venv-core,--editable $(CORE_NEEDS))
	touch $@

.venv-lowest/.made: pyproject.toml release/lowest.txt release/release.mk
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and "the lowest versions belong to Python 3.11; try make PYTHON=python3.11")'
	$(call environment,.venv-lowest)
	$(call install,.venv-lowest,--constraint release/lowest.txt --editable $(CORE_NEEDS))
	touch $@

dist: .venv-release/.made  ## sdist and wheel, checked, and tried on every Python there is
	$(BUILDER) release/dist.py $(PYTHONS)

sbom: .venv-release/.made  ## what Saltus is made of, for those who have to know: dist/saltus.cdx.json (CycloneDX)
	rm -rf .venv-sbom
	$(call environment,.venv-sbom)
	$(call install,.venv-sbom,'.[$(SHIPPED)]')
	mkdir -p dist
	.venv-release/$(SCRIPTS)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible -o dist/saltus.cdx.json .venv-sbom

licences: setup  ## docs/licences.md: the licences of everything that Saltus and its extras need
	$(RUN) release/licences.py > docs/licences.md

test-core: .venv-core/.made  ## the tests of the library alone, for any Python and any machine
	$(CORE) $(CORE_TESTS) $(CORE_ROOMS)

test-pure: .venv-core/.made  ## the same without what depends on the operating system
	$(CORE) $(CORE_TESTS) $(PURE_ROOMS)

test-lowest: .venv-lowest/.made  ## the same with the lowest supported NumPy, SciPy, Optuna, scikit-learn and the others
	$(LOWEST) $(CORE_TESTS) $(CORE_ROOMS)

lint-platforms: setup  ## does the library use what Windows or macOS has not?
	$(RUN) -m mypy --platform win32 --cache-dir .mypy_cache/win32 src
	$(RUN) -m mypy --platform darwin --cache-dir .mypy_cache/darwin src

paper-pdf:  ## the paper about Saltus as out/paper.pdf, by Debian's pandoc and pdfLaTeX: docs/releasing.md
	mkdir -p out
	cd paper && pandoc paper.md --citeproc --metadata author='The Saltus developers' --variable geometry=margin=25mm --variable colorlinks=true --output ../out/paper.pdf
