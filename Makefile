# make run     sets everything up and reproduces RFC 2416, number by number
# make test    sets everything up and runs all tests, lints and type checks
# make setup   only sets up: afterwards .venv/bin/netspurt is the command
# make clean   removes what was set up
#
# Needed: Python >= 3.11, a C toolchain with make, and cargo.

PYTHON ?= python3
BIN    := .venv/bin
STAMP  := .venv/.installed
FILES  := pyproject.toml Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name '*.toml')

.PHONY: run test setup clean lint rust-lint python-lint rust-tests python-tests

run: setup
	@echo 'netspurt papers check rfc2416 (a quarter of a minute)'
	@$(BIN)/netspurt papers check rfc2416

setup: $(STAMP)

$(STAMP): $(FILES)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'netspurt needs Python 3.11 or newer: make PYTHON=python3.11 ...' >&2; exit 1; }
	@command -v cargo >/dev/null || { echo 'netspurt needs cargo: https://rustup.rs' >&2; exit 1; }
	@echo 'setting up .venv: fetching packages and building the extension, two minutes or more'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,cluster]'
	touch $@

# The extension is linked on one core: what Rust's tests and lints need is built beside it.
test:
	@$(MAKE) --no-print-directory -j2 setup rust-lint
	@$(MAKE) --no-print-directory python-lint
	@$(MAKE) --no-print-directory rust-tests
	@$(MAKE) --no-print-directory python-tests

lint: rust-lint python-lint

rust-lint:
	@if cargo fmt --version >/dev/null 2>&1; then echo cargo fmt; cargo fmt --all --check; \
	  else echo 'SKIPPED: rustfmt is not installed (rustup component add rustfmt)'; fi
	@if cargo clippy --version >/dev/null 2>&1; then echo cargo clippy; \
	  cargo clippy --quiet --workspace --all-targets -- --deny warnings; \
	  else echo 'SKIPPED: clippy is not installed (rustup component add clippy)'; fi
	cargo test --quiet --workspace --no-run

python-lint: setup
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy

rust-tests:
	cargo test --quiet --workspace

# Tests that look at real clocks or take all cores have the machine to themselves.
ALONE       := beside cluster docs early_timeout linux live papers poll probe sweep
ALONE_FILES := $(ALONE:%=python/tests/test_%.py)

python-tests: setup
	$(BIN)/python -m pytest -rs -n 2 --dist loadfile $(ALONE_FILES:%=--ignore=%)
	$(BIN)/python -m pytest -rs $(ALONE_FILES)

clean:
	rm -rf .venv target
