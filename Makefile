# The ways in: `make help` lists them. Each target installs what it needs first; a second run finds
# everything in place.

BUILD := build/release
PYTHON ?= python3
JOBS ?= $(shell nproc)
VENV_PYTHON := .venv/bin/python
export PYTHON

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo build test test-cpp test-python full sheet setup-demo setup-test setup-checks \
  checks format clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

demo: setup-demo  ## the whole story on the shipped model: inspect, verify, generate; under 3 minutes
	@tools/build.sh $(BUILD) program $(JOBS)
	@tools/demo.sh $(BUILD)/trilith

build: setup-test  ## the program (build/release/trilith) and the C++ tests (ctest --test-dir build/release)
	@tools/build.sh $(BUILD) all $(JOBS)

test: test-cpp test-python  ## build, then every test that takes seconds
	@echo "all tests passed"

test-cpp: build  ## the C++ tests alone
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

test-python: build  ## the Python tests alone: oracles and end to end
	@TRILITH_BUILD=$(CURDIR)/$(BUILD) TRILITH_PROGRAM=$(CURDIR)/$(BUILD)/trilith $(VENV_PYTHON) -m pytest -q

bench: build  ## kernels and inspect's statistics against the read rate, and the sample's tokens/s; JSON lines in build/bench
	@cmake --preset release -DTRILITH_BENCH=ON >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target kernels_bench inspect_bench
	@mkdir -p build/bench
	@$(BUILD)/kernels_bench >build/bench/kernels.jsonl
	@$(BUILD)/inspect_bench >build/bench/inspect.jsonl
	@python3 tools/bench_model.py $(BUILD)/trilith models/sample >build/bench/model.jsonl
	@echo "written: build/bench/kernels.jsonl build/bench/inspect.jsonl build/bench/model.jsonl"

checks: setup-checks  ## format, includes, file rules, without building
	@tools/check_format.sh
	@python3 tools/check_includes.py
	@python3 tools/check_files.py

sheet: setup-demo  ## write the committed sheet of the sample anew (models/sample/SHEET.md)
	@tools/build.sh $(BUILD) program $(JOBS)
	@$(BUILD)/trilith inspect models/sample --md models/sample/SHEET.md

full: setup-checks  ## everything long: .ci/run, slow tests, 10 minutes for each fuzz target, clang-tidy on all
	@tools/full.sh

format: setup-checks  ## rewrite the C++ sources as .clang-format says
	@git ls-files -co --exclude-standard '*.cc' '*.h' | xargs clang-format-14 -i

clean:  ## remove what was built (not .venv)
	rm -rf build

setup-demo:
	@tools/install_packages.sh tools/apt-demo.txt

setup-test: setup-demo
	@tools/install_packages.sh tools/apt-test.txt
	@tools/install_python.sh requirements/test.txt

setup-checks: setup-test
	@tools/install_packages.sh tools/apt-checks.txt
