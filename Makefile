# Every target works alone on a fresh clone, in a folder of any name; `make` alone lists them.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-fast test-long test-size fuzz conform matrix bench bench-gate peers conform-peers bench-peers found gpu-check lint kernels vectors clean

# -P: the folders here are sub-packages of fivepoint, not top-level modules
RUN := .venv/bin/python -P -m
# further arguments of pytest, such as ARGS="-k blend"
ARGS ?=
# what `make conform` judges, and how thoroughly: quick or full
LOADER ?= reference
MODE ?= quick
# which reproductions `make found` runs: those whose names begin so
FOUND ?=
# whose environment `make peers` makes: everybody's, where none is named
PEER ?=
# what `make fuzz` runs, every target where none is named, and for how long
TARGET ?=
SECONDS ?= 60
# what `make gpu-check` runs: the environment of `make setup`, or a Python with torch for the GPU and the rest that docs/gpu.md lists
GPU_PYTHON ?= $(if $(wildcard .venv/bin/python),.venv/bin/python,python3)

help: ## list the targets ## make
	@awk -F ' ## ' '/^[a-z-]+:.* ## /{split($$1, t, ":"); printf "  make %-14s %s\n  %-19s example: %s\n", t[1], $$2, "", $$3}' Makefile

setup: .venv/native | .path/fivepoint ## make .venv with fivepoint and all it needs, at the versions of constraints.txt ## make setup

demo: .venv/native ## the main job on real text: tokenize, plan, train, kill, resume, replay ## make demo
	.venv/bin/python examples/demo.py

test: lint ## lint, then every test, on loaders of other projects that install in minutes too ## make test ARGS="-k packaging"
	.venv/bin/fivepoint peers build torch-sampler grain
	$(RUN) pytest -n auto --dist worksteal -m "not long" $(ARGS)

test-fast: .venv/native ## the tests that take seconds, without lint ## make test-fast ARGS="-x tests/test_repository.py"
	$(RUN) pytest -n auto -m "not slow and not long" $(ARGS)

conform: .venv/native ## hold a loader to the contract: an entry point of fivepoint.loaders, or module:Class ## make conform LOADER=reference MODE=full
	.venv/bin/fivepoint conform $(LOADER) --$(MODE) $(ARGS)

test-long: .venv/native ## the conformance suite on every broken loader, and its full mode: an hour ## make test-long
	$(RUN) pytest -n auto -m long $(ARGS)

test-size: .venv/native ## prepare's peak memory on 3 GB of JSONL and on a document of 500 MB ## make test-size
	FIVEPOINT_FULL_SIZE=1 $(RUN) pytest -s tests/corpus/test_memory.py $(ARGS)

fuzz: .venv/native .venv/fuzz ## fuzz every parser of bytes from outside, or one; what is found is kept in fuzz-found/ ## make fuzz SECONDS=60 TARGET=order
	.venv/bin/python -P fuzz/run.py --seconds $(SECONDS) $(TARGET)

matrix: .venv/native ## run the checks on every broken loader, and write conformance/matrix.json ## make matrix && git diff conformance/matrix.json
	.venv/bin/fivepoint conform --matrix

bench: .venv/native ## the native loader beside numpy, torch and the machine, as table and plot, on a quiet machine ## make bench ARGS="--folder /mnt/nvme"
	.venv/bin/python benchmarks/fastpath.py --plot bench.png --json bench.json $(ARGS)

bench-gate: .venv/native ## compare the ratios with benchmarks/baseline.json, and fail where one fell by more than noise ## make bench-gate
	.venv/bin/python benchmarks/gate.py $(ARGS)

peers: .venv/native ## make the environments of other projects' loaders, 9 GB, or of one: each is a name for `make conform LOADER=` ## make peers PEER=grain
	.venv/bin/fivepoint peers build $(PEER)

conform-peers: peers ## hold them to the contract beside the fast path: a table, peers-report/report.json and index.html ## make conform-peers PEER=grain MODE=full
	.venv/bin/fivepoint peers judge $(PEER) --$(MODE) $(ARGS)

found: .venv/native ## show each fault that was found in a released loader, by a script that uses it alone, and write docs/found.md ## make found FOUND=grain
	@peers="$$(PYTHONPATH=found .venv/bin/python -P -c "import run, sys; \
	    print(*sorted({each.peer.name for each in run.reproductions() if each.path.name.startswith(sys.argv[1])}))" "$(FOUND)")" \
	    && { [ -z "$$peers" ] || .venv/bin/fivepoint peers build $$peers; }
	.venv/bin/python -P found/run.py $(FOUND)

bench-peers: peers ## how fast they supply a rank beside the fast path, warm, cold, slowly read and resumed: a table, peers.json and peers.png ## make bench-peers PEER=grain ARGS="--folder /mnt/nvme"
	.venv/bin/fivepoint peers bench $(PEER) --json peers.json --plot peers.png $(ARGS)

gpu-check: .path/fivepoint ## build, contract, sanitizers and speed on a CUDA device; says so where there is none ## make gpu-check GPU_PYTHON=python3
	"$(GPU_PYTHON)" benchmarks/gpu.py $(ARGS)

lint: .venv/native | .path/fivepoint ## style, types, who imports whom, and that the golden vectors are what reference gives ## make lint
	$(RUN) ruff check
	$(RUN) ruff format --check
	$(RUN) mypy -p fivepoint
	.venv/bin/lint-imports --no-logo importlinter.ini
	$(RUN) fivepoint.reference.vectors --check

kernels: .venv/installed ## write csrc/device/kernels.ptx again, with nvcc ## make kernels && git diff csrc/device
	PYTHONPATH=csrc .venv/bin/python -c "import tempfile, build; build.PTX.write_text(build.ptx(tempfile.mkdtemp()))"

vectors: .venv/installed ## write spec/vectors again from reference ## make vectors && git diff spec/vectors
	$(RUN) fivepoint.reference.vectors

clean: ## remove all that the other targets make ## make clean && make setup
	rm -rf .venv .path .peers peers-report build dist fivepoint.egg-info demo fivepoint-cases bench.json bench.png peers.json peers.png gpu.json fuzz-found .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -f fastpath/_C.*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# the native part, compiled again where csrc/ changed since it was installed; the installation itself has just compiled it
.venv/native: .venv/installed $(wildcard csrc/*.cpp csrc/*.h csrc/device/*) csrc/build.py
	@if [ -n "$$(find csrc -newer $@ 2>&1)" ]; then \
	    echo "compiling csrc/"; .venv/bin/python setup.py --quiet build_ext --inplace; \
	fi
	@touch $@

# a virtual environment cannot be moved: after the checkout was, make it again
$(shell [ "$$(cat .venv/installed 2>&1)" = "$$(pwd -P)" ] || rm -f .venv/installed)

# torch comes first and by itself, so that no other package decides which build of it is installed
.venv/installed: pyproject.toml constraints.txt setup.py
	@if ! .venv/bin/python -c "" 2>/dev/null || ! grep -qF "$$(pwd -P)/.venv" .venv/pyvenv.cfg; then \
	    for python in python3.11 python3; do $$python -c "" 2>/dev/null && break; done; \
	    $$python -c "import sys; sys.exit(sys.version_info < (3, 11))" \
	        || { echo "make setup needs Python 3.11 or newer, found $$($$python --version 2>&1)" >&2; exit 1; }; \
	    echo "making .venv with $$($$python --version)"; \
	    $$python -m venv --clear .venv; \
	fi
	@echo "installing torch and the rest into .venv; the first time this takes some minutes"
	.venv/bin/python -m pip install --quiet -c constraints.txt "$$(grep '^torch==' constraints.txt)"
	.venv/bin/python -m pip install --quiet -c constraints.txt -e '.[prepare,train,bench,dev]'
	@pwd -P > $@
	@touch .venv/native

# only where somebody fuzzes: there are wheels of it for some machines alone
.venv/fuzz: .venv/installed
	@.venv/bin/python -m pip install --quiet --only-binary atheris -c constraints.txt "$$(grep '^atheris==' constraints.txt)" \
	    && touch $@ || echo "atheris was not installed: the targets in Python cannot run" >&2

# through this link type checkers see the checkout, whatever its name, as the package fivepoint
.path/fivepoint:
	@mkdir -p .path && ln -sfn .. $@
