# make app | test | test-slow | test-shuffled | test-mteb | docs | install | check | fix | bench | lock | audit
PYTHON ?= python3
PORT ?= 8501
# Whoever reaches the app reads folders of this machine by it: this machine alone, but in public mode everybody.
HOST ?= $(if $(CROSSMATCH_PUBLIC),0.0.0.0,localhost)
BIN := .venv/bin
UV := $(BIN)/uv
STAMP := .venv/.installed

# Python keeps what it has compiled, also where the environment forbids it: without, every start of the app and every one of
# the hundreds of processes that tests start compiles torch, transformers and Streamlit anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: app test test-slow test-shuffled test-mteb docs install check fix bench lock audit

install: $(STAMP)

# uv is bootstrapped with pip into the project's own environment: it resolves torch and torchvision as a
# matching pair, and installs the pinned, hashed versions in well under a minute.
$(UV):
	$(PYTHON) -c "import sys; sys.exit(0 if sys.version_info >= (3, 11) else 'Crossmatch needs Python 3.11 or newer: make PYTHON=python3.12 ...')"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q uv==0.13.9

$(STAMP): requirements.lock pyproject.toml | $(UV)
	VIRTUAL_ENV=.venv $(UV) pip sync --compile-bytecode --require-hashes requirements.lock
	VIRTUAL_ENV=.venv $(UV) pip install --no-deps --no-build-isolation -e .
	touch $(STAMP)

app: install
	$(BIN)/streamlit run app.py --server.address $(HOST) --server.port $(PORT)

# Three workers on two cores: tests often wait for a process or a browser.
test: install
	$(BIN)/python -m pytest -n 3 --dist worksteal -m "not slow"

# The dearest tests, about four tenths of the processor time of all: CI runs both.
test-slow: install
	$(BIN)/python -m pytest -n 3 --dist worksteal -m slow

# All of them in an order of its own each time (the seed is printed): no test may need another one before it.
test-shuffled: install
	$(BIN)/python -m pytest -n 3 --dist worksteal -o addopts="-q --strict-markers"

# The tests that need the library mteb, which no extra brings: it and what it needs beyond the environment (250 MB) lie in
# a folder of their own, in sight of these tests alone. With it every_eval_ever, which asks for Python 3.12 and whose validator
# runs on 3.11, too.
test-mteb: install
	VIRTUAL_ENV=.venv $(UV) pip install -q --no-deps --require-hashes --target build/mteb -r tests/requirements-mteb.lock
	VIRTUAL_ENV=.venv $(UV) pip install -q --no-deps --require-hashes --python-version 3.12 --target build/mteb -r tests/requirements-eee.lock
	PYTHONPATH=build/mteb $(BIN)/python -m pytest -m "mteb or every_eval_ever" tests/test_rejudge.py $$(grep -l mteb_model tests/test_*.py)

# The documentation as a folder of pages, build/site/index.html; asks no network.
docs: install
	$(BIN)/python -m docs.build

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fix: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install
	$(BIN)/python -m benchmarks

lock: $(UV)
	$(UV) pip compile -q --upgrade --universal --python-version 3.11 --all-extras --generate-hashes \
		--no-emit-index-url --no-emit-find-links --no-annotate --no-header pyproject.toml -o requirements.lock
	echo mteb | $(UV) pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes -c requirements.lock \
		$$(sed -nE 's/^([A-Za-z0-9._-]+)==.*/--no-emit-package \1/p' requirements.lock | sort -u) \
		--no-emit-index-url --no-emit-find-links --no-annotate --no-header - -o tests/requirements-mteb.lock
	echo every-eval-ever | $(UV) pip compile -q --upgrade --no-deps --universal --python-version 3.12 --generate-hashes \
		--no-emit-index-url --no-emit-find-links --no-annotate --no-header - -o tests/requirements-eee.lock
	@! grep -nE '^--|https?://' requirements.lock tests/requirements-*.lock || (echo "a lock must hold no address" && exit 1)

# Known vulnerabilities of the locked versions. Asks the network; run by uv in an environment of its own. Strict: a
# package that nobody could be asked about is a failure, and not one without vulnerabilities.
audit: $(UV)
	$(UV) tool run pip-audit --strict --require-hashes --disable-pip -r requirements.lock
