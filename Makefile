# make run     installs the command and reproduces RFC 2416, number by number
# make test    installs what tests need as well and runs all tests, lints and type checks
# make setup   only installs: afterwards .venv/bin/netspurt is the command
# make docs    runs all that the pages show, checks links and the reference, and builds the site and the man pages
# make fuzz    runs each fuzz target for a minute (FUZZ_SECONDS=60); needs a nightly toolchain and cargo-fuzz
# make drill   builds the library that packetdrill loads (docs/scripts.md)
# make clean   removes what was installed and built
#
# Needed: Python >= 3.11, a C toolchain with make, and cargo.

PYTHON ?= python3
BIN    := .venv/bin
# What an installation was made from, and the marks of the command alone, of the Python packages that
# tests need, and of the extension beside them.
FILES  := pyproject.toml Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name '*.toml')
USE    := .venv/.use
DEPS   := .venv/.dependencies
TEST   := .venv/.test
DOCS   := .venv/.docs
# On a terminal pip shows its progress.
QUIET  := $(if $(shell test -t 2 && echo terminal),,--quiet)
# Only modules that are imported are compiled, when they are.
PIP    := env -u MAKEFLAGS -u MFLAGS $(BIN)/python -m pip $(QUIET) --disable-pip-version-check install --no-compile

# Without byte code every process would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

# Cargo takes as many cores as it finds, whatever make was told of jobs.
CARGO  := env -u MAKEFLAGS -u MFLAGS cargo

# Clippy's compiler lints what it compiles: tests need no second pass over the sources. Cargo keeps
# what it compiled apart from what rustc compiled.
LINTER := $(wildcard $(shell rustc --print sysroot 2>/dev/null)/bin/clippy-driver)
ifneq ($(LINTER),)
LINTED := test rust-tests-built rust-tests unit-tests python-tests real-time-tests docs $(TEST) $(DOCS)
$(LINTED): export RUSTC_WORKSPACE_WRAPPER := $(LINTER)
$(LINTED): export CLIPPY_ARGS := --deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
endif

.PHONY: run test setup docs site fuzz drill clean lint rust-lint rust-format python-lint
.PHONY: rust-tests-built rust-tests unit-tests python-tests real-time-tests

run: setup
	@echo 'netspurt papers check rfc2416 (a quarter of a minute)'
	@$(BIN)/netspurt papers check rfc2416

setup: $(USE)

$(USE): $(FILES) | $(BIN)/python
	@echo 'building the extension and installing it into .venv: one to ten minutes, depending on the machine'
	$(PIP) --editable .
	@rm -f $(TEST)
	touch $@

$(DEPS): pyproject.toml docs/_ext/requirements.py | $(BIN)/python
	$(BIN)/python docs/_ext/requirements.py test cluster > .venv/.requirements.txt
	$(PIP) --requirement .venv/.requirements.txt
	touch $@

# For tests the extension is linked from what Rust's tests have compiled, with its checks of overflow.
$(TEST): $(FILES) $(DEPS)
	@echo 'building the extension and installing it into .venv'
	$(PIP) --config-settings 'build-args=--profile dev --strip false' --editable .
	@rm -f $(USE)
	touch $@

# What Sphinx needs is in an extra of its own, since nothing else needs it.
$(DOCS): $(TEST)
	$(BIN)/python docs/_ext/requirements.py docs > .venv/.requirements.txt
	$(PIP) --requirement .venv/.requirements.txt
	touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'netspurt needs Python 3.11 or newer: make PYTHON=python3.11 ...' >&2; exit 1; }
	@command -v cargo >/dev/null || { echo 'netspurt needs cargo: https://rustup.rs' >&2; exit 1; }
	@# A new pip installs the packages in half the time of the one that comes with Python, and the pip of
	@# $(PYTHON) sets it up in a third of the time that `venv` takes. Where it cannot, `venv` does.
	$(PYTHON) -m venv --without-pip .venv
	@$(PYTHON) -m pip --quiet --disable-pip-version-check --python $@ install --no-compile pip 2>/dev/null || \
	  $(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

# While Rust's compiler has work for one core only, Python's packages are installed and its types checked.
# Then both languages' tests run side by side, since some of each only wait. Rust's tests are compiled
# before the extension: its compiler settings would have them compiled again. Tests in real time leave
# most of the processors' time to the core's unit tests, which give way to them.
test:
	@$(MAKE) --no-print-directory --jobs=2 rust-tests-built python-lint
	@$(MAKE) --no-print-directory --jobs=2 rust-tests python-tests
	@$(MAKE) --no-print-directory --jobs=2 unit-tests real-time-tests

lint: rust-lint python-lint

rust-lint: rust-format
	$(CARGO) clippy --quiet --workspace --all-targets -- --deny warnings

rust-format:
	@if $(CARGO) fmt --version >/dev/null 2>&1; then echo cargo fmt; cargo fmt --all --check; \
	  else echo 'SKIPPED: rustfmt is not installed (rustup component add rustfmt)'; fi

rust-tests-built: rust-format
	@test -n "$(LINTER)" || echo 'SKIPPED: clippy is not installed (rustup component add clippy)'
	$(CARGO) test --quiet --workspace --no-run

python-lint: $(DEPS)
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy

rust-tests:
	$(CARGO) test --quiet --workspace --exclude netspurt-units

unit-tests:
	nice -n 19 $(CARGO) test --quiet --workspace --test units

# One worker more than cores: some tests wait for a process or a browser.
python-tests: $(TEST)
	$(BIN)/python -m pytest -rs -n 3 --dist worksteal -m 'not real_time'

# Tests that look at real clocks wait most of their time, but not beside tests that compute.
real-time-tests: $(TEST)
	$(BIN)/python -m pytest -rs -n 6 --dist worksteal -m real_time $$(grep -l real_time python/tests/test_*.py)

docs: $(DOCS)
	$(BIN)/python -m pytest -rs python/tests/test_docs.py python/tests/test_site.py
	@$(MAKE) --no-print-directory site

# The pages and the man pages alone, without running what they show.
SPHINX := $(BIN)/python -m sphinx --quiet --nitpicky --fail-on-warning --keep-going --conf-dir docs .

site: $(DOCS)
	$(SPHINX) docs/_build/html
	$(SPHINX) --builder man docs/_build/man
	@echo 'open docs/_build/html/index.html, or read: man docs/_build/man/netspurt.1'

FUZZ_SECONDS ?= 60

fuzz:
	$(PYTHON) fuzz/run.py --seconds $(FUZZ_SECONDS)

drill:
	$(CARGO) build --quiet --profile quick --package netspurt-drill
	@echo '$(CURDIR)/target/quick/libnetspurt_drill.so'

clean:
	rm -rf .venv target docs/_build
