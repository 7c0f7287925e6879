# The commands of the house; `make help` lists them. CMake does the building, in build/.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help test clean

JOBS ?= $(shell nproc)

help:             ## this list
	@sed -n 's/^\([a-z-]*\): .*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

deps-%:
	@scripts/install-deps $*

test: deps-test   ## build everything and run every test
	@cmake --preset dev
	@cmake --build build -j $(JOBS)
	@ctest --test-dir build --output-on-failure -j $(JOBS)

clean:            ## remove what was built
	@rm -rf build build-*
