.DEFAULT_GOAL := help
.PHONY: help setup demo test lint bench clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
ROWS ?= 1000000

# Everything is bound to loopback, and the workers run the interpreter of the virtual environment.
export SPARK_LOCAL_IP := 127.0.0.1
unexport SPARK_HOME PYTHONPATH PYSPARK_PYTHON PYSPARK_DRIVER_PYTHON

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## make the virtual environment

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed: install it, or say make PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

.PHONY: java
java:
	@command -v java >/dev/null || [ -x "$${JAVA_HOME:-none}/bin/java" ] \
	  || { echo "Spark needs Java 17 or newer: install it (Debian: apt-get install openjdk-17-jre-headless), or set JAVA_HOME"; exit 1; }

demo: java setup  ## monitor a million packets by plain Spark and by Anabranch, side by side
	$(BIN)/anabranch demo --rows $(ROWS)

test: java setup  ## run all tests
	@echo "tests on one Spark session, and beside them all others"
	@$(BIN)/python -m pytest --ignore=tests/spark & plain=$$!; trap "kill $$plain" INT TERM; \
	  $(BIN)/python -m pytest tests/spark; spark=$$?; wait $$plain && exit $$spark

lint: setup  ## ruff, mypy (strict) and the layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: java setup  ## measure every policy (over an hour)
	$(BIN)/anabranch bench mesh
	$(BIN)/anabranch bench content
	$(BIN)/anabranch bench native
	$(BIN)/anabranch bench rounds
	$(BIN)/anabranch bench filters --rows $(ROWS)

clean:  ## remove the virtual environment and what was made
	rm -rf $(VENV) artifacts build *.egg-info
