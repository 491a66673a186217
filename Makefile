# Everything a person or CI needs. `make help` lists the targets.
SHELL := /bin/sh
.DEFAULT_GOAL := help
BIN := .venv/bin
# One BLAS thread, so that results are the same everywhere and processes do not fight over cores.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# Tests start hundreds of processes: let Python keep what it has compiled, wherever it was told not to.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check slow bench lock clean format

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile

demo: .venv/.runtime ## optimise a UAV's wing with real processes, in about three minutes
	@$(BIN)/counterpoise demo

test: .venv/.dev ## all tests, on SQLite and on a real PostgreSQL
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

check: .venv/.dev ## format, lint, strict types, import contracts
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

slow: .venv/.dev ## the long proofs
	@$(BIN)/python -m pytest -m slow --timeout 3600

bench: .venv/.dev ## short benchmarks, with ratios against peers: a few minutes
	@$(BIN)/counterpoise bench gp --size 134 --size 545 --datasets 2
	@$(BIN)/counterpoise bench step --m 3 --m 10 --steps 3
	@$(BIN)/counterpoise bench store --jobs 1000 --jobs 100000 --cycles 100
	@$(BIN)/counterpoise bench service --no-planning --rounds 1 --cycles 20 --trials 5

format: .venv/.dev ## format and mend what can be mended by machine
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

lock: .venv/.dev ## resolve the lock files anew (newest versions)
	@$(BIN)/python locks/resolve.py

clean: ## remove the environment and all caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build

# The environment is made once; a stamp is newer than its lock file when that lock is installed.
.venv/.runtime: locks/runtime.txt pyproject.toml locks/install.sh
	@sh locks/install.sh runtime

.venv/.dev: locks/dev.txt pyproject.toml locks/install.sh
	@sh locks/install.sh dev
