# The commands of the house; `make help` lists them. CMake does the building, in build/.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help build test toolkit clean

JOBS ?= $(shell nproc)
PREFIX ?= build/toolkit

help:             ## this list
	@sed -n 's/^\([a-z-]*\): .*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

deps-%:
	@scripts/install-deps $*

build: deps-build
	@cmake --preset dev -DBELAY_TESTS=OFF --log-level=WARNING >/dev/null
	@cmake --build build -j $(JOBS)

toolkit: build    ## fill build/toolkit (or PREFIX=dir) with what programs need
	@cmake --install build --prefix "$(abspath $(PREFIX))" --component toolkit >/dev/null
	@echo "Toolkit in $(PREFIX). To use it: source $(PREFIX)/set_env.sh"

test: deps-test   ## build everything and run every test
	@cmake --preset dev -DBELAY_TESTS=ON --log-level=WARNING >/dev/null
	@cmake --build build -j $(JOBS)
	@ctest --test-dir build --output-on-failure -j $(JOBS)

clean:            ## remove what was built
	@rm -rf build build-*
