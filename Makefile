# One word per deed. Every word does its own set-up, so a fresh machine needs only python3 (with venv), make and git.
.DEFAULT_GOAL := help
PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
READY   := $(VENV)/ready
WORKERS ?= 4
ARGS    ?=
LONG    ?=
MINE    ?= mine.kubeconfig

.PHONY: help up test check generate verify bench docs lock clean

help: ## Show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | awk -F '\t' '{printf "  make %-10s %s\n", $$1, $$2}'

$(READY): requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing Mooring's dependencies into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

up: $(READY) ## Start a landscape of real Kubernetes on this machine, and get a cluster of your own in it
	@$(BIN)/mooring up --detach $(ARGS)
	@echo
	$(BIN)/mooring request create mine --purpose mcp --unless-exists --wait
	$(BIN)/mooring kubeconfig --request mine --rule get,list,create,delete:namespaces,configmaps --kubeconfig $(MINE)

test: export MOORING_LONG_RUN := $(LONG)
test: $(READY) ## Run all tests (they start and stop the servers they need); LONG=1: some with many more cases
	@$(BIN)/mooring binaries fetch
	@$(BIN)/mooring binaries fetch --set cluster-api
	@$(BIN)/mooring binaries fetch --set cluster-api-v1alpha3
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

check: $(READY) ## Lint, types, floors and generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory verify

generate: $(READY) ## Write the generated files anew
	$(BIN)/python -m mooring.cli.reference .

verify: $(READY) ## Fail if a generated file is not current
	$(BIN)/python -m mooring.cli.reference --check .

bench: $(READY) ## Measure every bar against its floor: make bench [ONLY=up,client]
	@$(BIN)/mooring binaries fetch
	@$(BIN)/mooring binaries fetch --set cluster-api
	@$(BIN)/python -m bench $(if $(ONLY),--only $(ONLY))

docs: generate ## Write the reference pages (docs/ is plain Markdown)

lock: $(READY) ## Resolve the dependencies anew into requirements.lock
	$(PYTHON) -m venv build/uv && build/uv/bin/pip install --quiet uv
	build/uv/bin/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --upgrade \
		--group dev pyproject.toml --output-file requirements.lock

clean: ## Remove what was built here (binaries in the user cache and landscapes stay)
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
