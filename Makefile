PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check stress bench clean

demo: $(VENV)/installed
	$(BIN)/moet demo

test: check
	$(BIN)/pytest -n auto

# What depends on other processes, again and again beside others that keep all cores busy.
TIMES ?= 50
stress: $(VENV)/installed-dev
	$(BIN)/python tests/stress.py $(TIMES)

check: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/installed-dev
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

clean:
	rm -rf $(VENV) build dist demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} +
