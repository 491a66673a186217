# Targets for developers and CI. `make help` lists them.
SHELL := /bin/sh
.DEFAULT_GOAL := help
BIN := .venv/bin
# One BLAS thread, so that results are reproducible and processes do not compete for cores.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# Tests start hundreds of processes: let Python cache bytecode even if the environment disables it.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check docs slow bench lock clean format screenshots vendor

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile

demo: .venv/.runtime ## optimise a UAV wing with real processes (a few minutes)
	@$(BIN)/counterpoise demo

test: .venv/.dev ## run all tests on SQLite and on a real PostgreSQL
	@sh .ci/install-browser
	@$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder || { \
	    test $$? -eq 1 && echo "Repeating what has failed, without other tests beside it:" && \
	    $(BIN)/python -m pytest --last-failed --last-failed-no-failures none; }

check: .venv/.dev ## check format, lint rules, strict types, import contracts and the docs
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

docs: .venv/.dev ## build the documentation as a site, into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

slow: .venv/.dev ## run the long tests
	@$(BIN)/python -m pytest -m slow --timeout 3600

bench: .venv/.dev ## run short benchmarks with ratios to other libraries (a few minutes)
	@$(BIN)/counterpoise bench gp --size 134 --size 545 --datasets 2
	@$(BIN)/counterpoise bench step --m 3 --m 10 --steps 3
	@$(BIN)/counterpoise bench store --jobs 1000 --jobs 100000 --cycles 100
	@$(BIN)/counterpoise bench service --no-planning --rounds 1 --cycles 20 --trials 5

screenshots: .venv/.dev ## take the pictures of the README and the docs with a real study (four minutes)
	@sh .ci/install-browser --required
	@$(BIN)/python -m benchmarks.dashboard.screenshots

vendor: ## rebuild the dashboard's vendored scripts (needs Node and npm)
	@node vendoring/rebuild.mjs

format: .venv/.dev ## format the code and fix lint errors automatically
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .
	@$(BIN)/python docs/study_fields.py

lock: .venv/.dev ## resolve the lock files again (newest versions)
	@$(BIN)/python locks/resolve.py

clean: ## remove the environment and all caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build site

# The environment is created once. A stamp file that is newer than its lock file marks the lock file as installed.
.venv/.runtime: locks/runtime.txt pyproject.toml locks/install.sh
	@sh locks/install.sh runtime

.venv/.dev: locks/dev.txt pyproject.toml locks/install.sh
	@sh locks/install.sh dev
