# make run     installs the command and reproduces RFC 2416, number by number
# make test    installs the command and what tests need, and runs all tests, lints and type checks
# make setup   only installs: afterwards .venv/bin/netspurt is the command
# make docs    runs all commands on the pages, checks links and the reference, and builds the site and the man pages
# make fuzz    runs each fuzz target for a minute (FUZZ_SECONDS=60); needs a nightly toolchain and cargo-fuzz
# make drill   builds the library that packetdrill loads (docs/scripts.md)
# make clean   removes what was installed and built
#
# Needed: Python >= 3.11, a C toolchain with make, and cargo.

PYTHON ?= python3
BIN    := .venv/bin
# FILES are the sources of the extension. Each of the other four names stands for an empty file. The
# modification time of this file says when a step was last done. The step of USE is that `make setup` installs
# the command. DEPS: the Python packages that tests need are installed. TEST: the extension for tests is built.
# DOCS: the packages that Sphinx needs are installed.
FILES  := pyproject.toml Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name '*.toml')
USE    := .venv/.use
DEPS   := .venv/.dependencies
TEST   := .venv/.test
DOCS   := .venv/.docs
# On a terminal pip shows its progress.
QUIET  := $(if $(shell test -t 2 && echo terminal),,--quiet)
# COMPILE compiles modules faster than pip, because it leaves out the tests of packages.
PIP    := env -u MAKEFLAGS -u MFLAGS $(BIN)/python -m pip $(QUIET) --disable-pip-version-check install --no-compile

# `make setup` stores the byte code of all modules. A command that must compile the modules that it
# imports takes more time and memory. If PYTHONDONTWRITEBYTECODE is set, every command would have to
# compile them.
COMPILE := $(BIN)/python -m compileall -q -j 0 -x '/tests?/' python/netspurt .venv/lib

# The processes that `make` starts store byte code, too.
unexport PYTHONDONTWRITEBYTECODE

# Cargo uses all cores, even if make was called with a number of jobs.
CARGO  := env -u MAKEFLAGS -u MFLAGS cargo

# clippy-driver lints the sources while it compiles them, so tests need no second pass. Cargo does not
# mix the files that clippy-driver compiles with the files that rustc compiles.
LINTER := $(wildcard $(shell rustc --print sysroot 2>/dev/null)/bin/clippy-driver)
ifneq ($(LINTER),)
LINTED := test rust-tests-built rust-tests unit-tests python-tests real-time-tests docs $(TEST) $(DOCS)
$(LINTED): export RUSTC_WORKSPACE_WRAPPER := $(LINTER)
$(LINTED): export CLIPPY_ARGS := --deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
endif

.PHONY: run test setup docs site fuzz drill clean lint rust-lint rust-format python-lint
.PHONY: rust-tests-built rust-tests fuzz-checked unit-tests python-tests real-time-tests

run: setup
	@echo 'netspurt papers check rfc2416 (a quarter of a minute)'
	@$(BIN)/netspurt papers check rfc2416

setup: $(USE)

$(USE): $(FILES) | $(BIN)/python
	@echo 'building the extension and installing it into .venv: one to ten minutes, depending on the machine'
	$(PIP) --editable .
	@$(COMPILE)
	@rm -f $(TEST)
	touch $@

$(DEPS): pyproject.toml docs/_ext/requirements.py | $(BIN)/python
	$(BIN)/python docs/_ext/requirements.py test cluster > .venv/.requirements.txt
	$(PIP) --requirement .venv/.requirements.txt
	touch $@

# For tests the extension is linked from the files that were compiled for Rust's tests. This code checks
# arithmetic for overflow.
$(TEST): $(FILES) $(DEPS)
	@echo 'building the extension and installing it into .venv'
	$(PIP) --config-settings 'build-args=--profile dev --strip false' --editable .
	@rm -f $(USE)
	touch $@

# The packages that Sphinx needs are in a separate extra, because nothing else needs them.
$(DOCS): $(TEST)
	$(BIN)/python docs/_ext/requirements.py docs > .venv/.requirements.txt
	$(PIP) --requirement .venv/.requirements.txt
	touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'netspurt needs Python 3.11 or newer: make PYTHON=python3.11 ...' >&2; exit 1; }
	@command -v cargo >/dev/null || { echo 'netspurt needs cargo: https://rustup.rs' >&2; exit 1; }
	@# A new pip installs the packages in half the time of the pip that comes with Python. The pip of $(PYTHON)
	@# installs this new pip in a third of the time that `venv` needs. If it cannot, `venv` installs the pip that
	@# comes with Python.
	$(PYTHON) -m venv --without-pip .venv
	@$(PYTHON) -m pip --quiet --disable-pip-version-check --python $@ install --no-compile pip 2>/dev/null || \
	  $(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

# While Rust's compiler uses only one core, Python's packages are installed and the types are checked.
# Then the tests of both languages run side by side, because some tests of each language only wait.
# Rust's tests are compiled before the extension. In the other order they would be compiled again,
# because the extension has other compiler settings. The tests in real time run alone. No step has a
# lower priority than the others, because on a busy machine such a step would get hardly any processor
# time.
test:
	@$(MAKE) --no-print-directory --jobs=2 rust-tests-built python-lint
	@$(MAKE) --no-print-directory --jobs=2 rust-tests python-tests unit-tests fuzz-checked
	@$(MAKE) --no-print-directory real-time-tests

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

# Only checks that the fuzz targets compile. A check links nothing, so it does not need the library libFuzzer.
# With this variable the sources of libFuzzer, which are in C++, are not compiled.
fuzz-checked:
	CUSTOM_LIBFUZZER_PATH=./unused.a $(CARGO) check --quiet --locked --manifest-path fuzz/Cargo.toml \
	  --target-dir target/fuzz

unit-tests:
	$(CARGO) test --quiet --workspace --test units

# Three workers suit two cores: some tests wait for a process or a browser.
python-tests: $(TEST)
	$(BIN)/python -m pytest -rs -n 3 --dist worksteal -m 'not real_time'

# Tests in real time mostly wait, so six of them run at once. They do not run beside other Python tests.
real-time-tests: $(TEST)
	$(BIN)/python -m pytest -rs -n 6 --dist worksteal -m real_time $$(grep -l real_time python/tests/test_*.py)

docs: $(DOCS)
	$(BIN)/python -m pytest -rs python/tests/test_docs.py python/tests/test_site.py python/tests/test_named_commands.py
	@$(MAKE) --no-print-directory site

# Builds only the pages and the man pages; does not run the commands on them.
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
	rm -rf .venv target docs/_build python/netspurt/_core*.so
