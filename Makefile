# make demo   a real fleet at work in a sample repository, no key
# make test   everything that proves it
# make fast   the tests without the slow campaigns
# make check  style, types and the direction of imports
# make postgres-15  the tests of the store on PostgreSQL 15; `make test` does 14 and 17, and all with 18
# make bench  the measurements behind docs/explanation/performance.md

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test fast check bench docs clean

demo: .venv/ready
	@$(BIN)/fleet demo

test: check
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"
	$(BIN)/pytest -n 2 --dist worksteal -m programs
	$(BIN)/pytest -n 2 --dist worksteal -m "slow and not programs" --ignore tests/faults
	$(BIN)/pytest tests/faults
	$(MAKE) postgres-14 postgres-17

postgres-%: .venv/ready
	TEST_POSTGRES=$* $(BIN)/pytest -n 2 --dist worksteal tests/store -k "postgres and not test_model"

fast: .venv/ready
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

check: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

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
