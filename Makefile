PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test quick coverage check docs results package stress bench clean

help: ## say what there is to make
	@sed -n 's/^\([a-z]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

demo: $(VENV)/installed ## set up .venv and distil, measure, draw and prove a CartPole policy
	$(BIN)/moet demo

test: check ## set up .venv, lint, check types, run all tests
	$(BIN)/pytest -n auto

quick: check ## lint, types, and the tests that are quick once compiled
	$(BIN)/pytest -n auto -m 'not processes and not slow' tests/model tests/explain tests/export tests/envs

coverage: $(VENV)/installed-dev ## all tests, and the share of lines they run; pyproject.toml has the least that is allowed
	$(BIN)/pytest -n auto --cov --cov-report=term:skip-covered

docs: $(VENV)/installed-docs ## the site, its gallery executed; warnings are errors
	$(BIN)/sphinx-build -W --keep-going -j auto -q docs docs/_build/html
	$(BIN)/python docs/_ext/links.py docs/_build/html
	@echo "docs/_build/html/index.html"

results: ## the tables of docs/results*.md from the rows in docs/rows
	$(PYTHON) benchmarks/result_tables.py

package: $(VENV)/installed ## wheel and sdist in dist/, the wheel tried in an empty environment
	$(BIN)/python -m pip install --quiet build
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv dist/venv
	dist/venv/bin/python -m pip install --quiet dist/*.whl
	cd dist && venv/bin/moet demo
	rm -rf dist/venv

# What depends on other processes, again and again beside others that keep all cores busy.
TIMES ?= 50
stress: $(VENV)/installed-dev ## tests of processes and signals, again and again beside busy cores
	$(BIN)/python tests/stress.py $(TIMES)

check: $(VENV)/installed-dev ## lint and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/installed-dev ## the benchmarks that take minutes
	$(BIN)/python benchmarks/train.py
	$(BIN)/python benchmarks/predict.py
	$(BIN)/python benchmarks/quality.py
	$(BIN)/python benchmarks/first_use.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/rollout.py
	$(BIN)/moet bench gridworld
	$(BIN)/python benchmarks/distill.py speed
	$(BIN)/python benchmarks/verify_queries.py
	$(BIN)/python benchmarks/verify_honesty.py
	$(BIN)/python benchmarks/verify_loop_honesty.py
	$(BIN)/python benchmarks/verify_horizon.py

$(VENV)/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

$(VENV)/installed-docs: $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

clean: ## remove what was made
	rm -rf $(VENV) build dist demo docs/_build docs/gallery docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} +
