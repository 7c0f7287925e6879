# The commands of the house; `make help` lists them. CMake does the building, in build/.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run build toolkit test test-sanitize test-clients test-asan test-tsan fuzz fuzz-functions chaos check bench zoo clean

JOBS ?= $(shell nproc)
PREFIX ?= build/toolkit
SECONDS_EACH ?= 60
CMAKE_QUIET = --log-level=WARNING >/dev/null
CTEST = ctest --output-on-failure -j $(JOBS)

help:             ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps-%:
	@scripts/install-deps $*

run: deps-build   ## build the libraries and run the cross-stream capture example
	@cmake --preset dev $(CMAKE_QUIET)
	@cmake --build build -j $(JOBS) --target libraries
	@cmake --install build --prefix "$(abspath $(PREFIX))" --component toolkit >/dev/null
	@source $(PREFIX)/set_env.sh && \
	  g++ examples/cross_stream_capture/main.cc -o build/cross_stream_capture \
	    -I$$ASCEND_TOOLKIT_HOME/include -L$$ASCEND_TOOLKIT_HOME/lib64 -lascendcl -lnnopbase -lopapi && \
	  build/cross_stream_capture

build: deps-build
	@cmake --preset dev $(CMAKE_QUIET)
	@cmake --build build -j $(JOBS) --target toolkit

toolkit: build    ## fill build/toolkit (or PREFIX=dir) with libraries, headers and commands
	@cmake --install build --prefix "$(abspath $(PREFIX))" --component toolkit >/dev/null
	@echo "Toolkit in $(PREFIX). To use it: source $(PREFIX)/set_env.sh"

test: deps-test   ## build everything and run every test
	@cmake --preset dev $(CMAKE_QUIET)
	@cmake --build build -j $(JOBS)
	@$(CTEST) --test-dir build

test-sanitize: test-asan test-tsan  ## the tests under AddressSanitizer, UBSan and ThreadSanitizer

# Left out: programs that go on using device memory that they give back (the finding would be right); those in which
# the sanitizer waits for its own allocator's lock: it was held when the program forked with busy threads, or called
# exit in a signal handler; and one whose thread is cancelled, as it takes what cancelling unwinds for stack in use.
NOT_UNDER_ASAN = ^(guest:(ending\..*under_fire|exit\.from_a_signal_handler$$|threads\.cancelled_in_process_report$$|fork\.)|layer_memory:.*/wrong)

# g++ 12's search for leaks takes the memory before a thread's variables in a loaded library for a header of
# an old C library when they lie 16 bytes into a page, and follows what it reads there ("Tracer caught signal
# 11"). Told not to look at __tls_get_addr, it finds those variables by who allocated them.
test-asan: deps-sanitize
	@cmake --preset asan-ubsan $(CMAKE_QUIET)
	@cmake --build build-asan -j $(JOBS)
	@ASAN_OPTIONS=intercept_tls_get_addr=0 UBSAN_OPTIONS=print_stacktrace=1 \
	  $(CTEST) --test-dir build-asan -E '$(NOT_UNDER_ASAN)'

# ThreadSanitizer looks at our own threads: the operators' kernels are left to the other build. Workers that
# exit() joins with a time limit, which ThreadSanitizer does not know, would be reported as leaked threads.
# Programs that race on purpose are not run. guest:fork is not built: ThreadSanitizer does not support threads in a
# forked child.
test-tsan: deps-sanitize
	@cmake --preset tsan $(CMAKE_QUIET)
	@cmake --build build-tsan -j $(JOBS)
	@TSAN_OPTIONS=second_deadlock_stack=1:die_after_fork=0:report_thread_leaks=0 \
	  $(CTEST) --test-dir build-tsan -R '^(base|runtime|collective|api|conformance|layer.*/right|stress|chaos|guest)'

fuzz: deps-fuzz   ## run each fuzzer for 60 seconds (SECONDS_EACH=), ARGS= goes to libFuzzer
	@cmake --preset fuzz $(CMAKE_QUIET)
	@cmake --build build-fuzz -j $(JOBS) --target fuzzers
	@scripts/run-fuzz build-fuzz $(SECONDS_EACH) $(ARGS)

# BELAY_SEED= chooses other calls, BELAY_ONLY= the functions. Whatever ends the process is told with its call.
fuzz-functions: export BELAY_TIMES ?= 30
fuzz-functions: deps-sanitize  ## calls of aclnn that are almost right, 90 of each function (BELAY_TIMES= threes of them)
	@cmake --preset asan-ubsan $(CMAKE_QUIET)
	@cmake --build build-asan -j $(JOBS) --target mutations

test-clients: toolkit deps-clients  ## onnxruntime-cann and torch_npu from PyPI, on the toolkit (MODES= some of its modes)
	@scripts/test-clients $(PREFIX) $(MODES)

chaos: deps-test  ## ten minutes (SECONDS_EACH=) of random programs from which memory, files and threads are taken away
	@cmake --preset dev $(CMAKE_QUIET)
	@cmake --build build -j $(JOBS) --target chaos
	@build/bin/chaos $(if $(filter command line,$(origin SECONDS_EACH)),$(SECONDS_EACH),600)

check: deps-check ## what the sources promise: format, layers, sizes, message ids, tests and files that documents name
	@scripts/check-format
	@scripts/check-layers
	@scripts/check-batches
	@scripts/check-sizes
	@scripts/check-messages
	@scripts/check-codes
	@scripts/check-fidelity
	@scripts/check-paths

bench: deps-bench ## build and run the benchmarks (ARGS= goes to Google Benchmark, MODELS= are .om files to time)
	@cmake --preset release -DBELAY_TESTS=OFF $(CMAKE_QUIET)
	@cmake --build build-release -j $(JOBS)
	@scripts/run-bench build-release $(ARGS)

zoo: toolkit deps-clients  ## what nobody tuned beside onnxruntime and OpenVINO (ARGS= [networks] [a pattern] [--cores 2] ...)
	@scripts/zoo $(PREFIX) $(ARGS)

clean:            ## remove what was built
	@rm -rf build build-*
