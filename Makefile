# Two commands: `make demo` and `make test`. The others are for people who work on Countersign.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
SERVE ?= 1
PORT ?= 8000
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test lint types check bench bench-pages record lock clean

help:  ## what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

$(VENV)/.run: requirements.lock
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Countersign needs Python 3.11 or newer: make PYTHON=python3.11 demo"; exit 1; }
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

$(VENV)/.test: requirements-test.lock $(VENV)/.run
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements-test.lock
	@touch $@

demo: $(VENV)/.run  ## run the shipped batches to their end, print the table, serve the app (SERVE=0: stop after the table)
	@$(BIN)/python manage.py demo $(if $(filter 0,$(SERVE)),--no-serve,--port $(PORT))

test: $(VENV)/.test  ## the whole suite; browser, PostgreSQL and Celery tests where their servers are found
	$(BIN)/python -m tests.run $(PYTEST_ARGS)

lint: $(VENV)/.test  ## ruff
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(VENV)/.test  ## mypy
	$(BIN)/mypy

check: $(VENV)/.test  ## lint, types, missing migrations, deployment check
	$(MAKE) lint types
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py deploycheck

bench: $(VENV)/.test  ## speed as ratios, measured side by side in one run
	$(BIN)/python -m benchmarks.bench
	$(BIN)/python -m benchmarks.bench_envelopes

SIZES ?= 10000:1000,100000:10000
QUALITY ?= --accepted 4000 --samples 400

bench-pages: $(VENV)/.test  ## the queue's pages by size: p95 and queries (SIZES=10000:1000,1000000:100000, DATABASE_URL for PostgreSQL)
	$(BIN)/python -m benchmarks.bench_pages --sizes $(SIZES)
	$(BIN)/python -m benchmarks.pages_quality $(QUALITY)

record: $(VENV)/.run  ## record the demo's replies anew: ENDPOINT=http://127.0.0.1:8089/v1 MODEL=qwen-0.5b
	$(BIN)/python -m examples.record --endpoint $(ENDPOINT) --model $(MODEL) $(RECORD_ARGS)

lock:  ## resolve both lock files again (needs uv)
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header pyproject.toml -o requirements.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --extra test -c requirements.lock pyproject.toml -o requirements-test.lock

clean:  ## remove the environment and everything the demo made
	rm -rf $(VENV) var staticfiles
