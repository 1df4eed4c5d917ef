# Two commands for a fresh machine: `make demo` and `make test`. Both need Python 3.10 to 3.13; PYTHON=python3.12 chooses one.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

.PHONY: demo test fast attack golden lint setup clean

demo: setup
	$(BIN)/warpwright run configs/quickstart.yaml

test: lint
	$(BIN)/python -m pytest -n $(JOBS) tests

# What compiles and emulates nothing, and tries little: under half a minute.
fast: lint
	$(BIN)/python -m pytest -q -n $(JOBS) tests/test_house.py tests/test_resources.py tests/spec tests/plan tests/render \
	    tests/epilogue tests/record tests/families -m "not slow"

# What a hostile or unlucky world does to it, by the thousand: forged evidence, damaged files, kills, full disks, broken YAML.
# Minutes. ATTACK_SEED chooses other cases (a number; without it, those that every machine tries).
attack: setup
	$(BIN)/python -m pytest -q -n $(JOBS) tests/attack

golden: setup
	$(BIN)/python -m tests.render.golden

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

setup: $(VENV)/.installed

# Reinstalled whenever pyproject.toml changes; an interrupted installation leaves no mark and is taken up again.
$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 10) <= v <= (3, 13) else \
	    "warpwright needs Python 3.10 to 3.13, and $(PYTHON) is %d.%d: call make PYTHON=python3.12" % v)'
	@$(PYTHON) -c 'import ensurepip, venv' || \
	    { echo "$(PYTHON) cannot make virtual environments: install its venv module (Debian: apt-get install python3-venv)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=24'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) dist build .mypy_cache .pytest_cache .ruff_cache
