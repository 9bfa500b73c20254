# make demo      a real fleet at work in a sample repository, no key
# make serve     the same with the dashboard, until Ctrl-C
# make web       the dashboard, built into the package
# make test      what to run before you push: checks, fast tests, and one of each slow kind
# make test-all  the rest: every agent program, campaign, story and database version
# make fast      the tests without the slow ones
# make check     style, types and the direction of imports
# make postgres-15  the tests of the store on PostgreSQL 15; `make test-all` does 14, and all with 18
# make posix     the tests of processes, the store and the stories as on a system that is not Linux
# make bench     the measurements behind docs/explanation/performance.md

PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 3
PYTEST = $(BIN)/pytest -n $(WORKERS) --dist worksteal --durations 10

unexport PYTHONDONTWRITEBYTECODE  # or each of many processes would compile the tests anew

.PHONY: demo serve node web web-types web-check test before-push test-all fast check style types posix \
	bench docs clean

demo: .venv/ready
	@$(BIN)/fleet demo

serve: web
	@$(BIN)/fleet demo --serve

node: .venv/ready
	@$(BIN)/python -m web.tools.node  # installs one if the machine has none

web: node
	@$(BIN)/python -m web.tools.build

web-types: .venv/ready
	$(BIN)/python -m web.tools.api_types

web-check: node
	$(BIN)/python -m web.tools.check

test: style web-check
	$(MAKE) --jobs 2 types before-push  # side by side: types take one processor half a minute

before-push: .venv/ready
	$(PYTEST) -m "not slow or smoke"

test-all: .venv/ready
	$(PYTEST) -m "programs and not smoke"
	$(PYTEST) --hypothesis-profile thorough --ignore tests/faults \
		-m "(slow and not programs and not smoke) or hypothesis"
	$(PYTEST) -n 2 -m "slow and not smoke" tests/faults
	$(MAKE) postgres-14 posix

postgres-%: .venv/ready
	TEST_POSTGRES=$* $(PYTEST) tests/store -k "postgres and not test_model"

posix: .venv/ready
	$(BIN)/python -m tests.platform

fast: .venv/ready
	$(PYTEST) -m "not slow"

check: style types

style: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: .venv/ready
	$(BIN)/mypy

bench: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	$(BIN)/python -m bench

docs: .venv/ready
	$(BIN)/python docs/generate.py

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	@$(BIN)/python -m compileall -q src  # what pip does for all but an editable install
	@touch $@
