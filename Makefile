# The commands that people use: `make help` lists them. The parts of `make test` and `make nightly`, and all else, are in
# make/*.mk: `make help-all` lists those as well.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

PYTHON ?= python3
# A version of ansible-core to use instead of the locked one, such as 2.18, in a virtualenv of its own.
CORE ?=
VENV := $(CURDIR)/$(if $(CORE),build/venv-$(notdir $(PYTHON))-$(CORE),.venv)
BIN := $(VENV)/bin
COLLECTIONS := $(CURDIR)/build/collections
INSTALLED := $(COLLECTIONS)/ansible_collections/nimops/nim
SOURCES := $(shell git ls-files --cached --others --exclude-standard galaxy.yml README.md LICENSE meta plugins roles playbooks changelogs docs 2>/dev/null)

export PATH := $(BIN):$(PATH)
export ANSIBLE_COLLECTIONS_PATH := $(COLLECTIONS)
export ANSIBLE_HOME := $(CURDIR)/build/ansible
export PYTHONDONTWRITEBYTECODE := 1
# Thousands of tests import the same modules in many processes: pytest compiles them once, outside of the source tree.
PYTEST := env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX=$(CURDIR)/build/pycache $(BIN)/pytest

include make/environment.mk make/checks.mk make/cluster.mk make/load.mk make/release.mk

.PHONY: help
help: ## List these commands
	@awk -F ':.*## ' '/^[a-z/.-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' Makefile

.PHONY: help-all
help-all: ## List all commands, those in make/*.mk as well
	@awk -F ':.*## ' '/^[a-z/.-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: venv
venv: $(VENV)/.installed $(CLIENT) ## Install the Python packages into .venv

.PHONY: collection
collection: $(INSTALLED)/MANIFEST.json ## Build the collection and install it into build/collections

.PHONY: lint
lint: collection $(DOCS_VENV)/.installed ## ruff, mypy, yamllint, shellcheck, ansible-lint (production), antsibull-docs, vale
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/yamllint --strict .
	@$(BIN)/shellcheck hack/*.sh hack/image/*.sh molecule/*/*.sh plugins/module_utils/_nim/service/multi_node/scripts/*.sh .ci/run
	@$(BIN)/ansible-lint --offline --exclude molecule
	@cd $(INSTALLED) && PATH="$(DOCS_VENV)/bin:$$PATH" antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs=self .
	@$(PYTHON) hack/check_prose.py

# One more process than processors, because some tests wait. The files are in the order of tests/unit/conftest.py.
.PHONY: unit
unit: collection ## The unit tests, against the installed collection
	@PYTHONPATH=$(COLLECTIONS) $(PYTEST) -n "$$(($$(nproc) + 1))" --dist loadfile --no-loadscope-reorder -m "not nightly and not ansible" tests/unit

.PHONY: test
test: venv collection $(RELEASE_VENV)/.installed ## Lint, unit tests, sanity and the scenarios on the sandbox; prints how long each part took
	@hack/run_lanes.sh lane-main lane-cluster lane-node

# What CI has no time for.
.PHONY: nightly
nightly: ## What `make test` leaves out: the matrix, all of attack, faults, reports and fuzz, endurance, a release, bench
	@hack/run_parts.sh unit-nightly lint-scenarios cluster-nightly installing-nightly-alone sanity apiproxy-race matrix prefork prefork-package operators attack faults reports observability docs-page tutorials fuzz endurance scenario-role scenario-upgrade kubernetes scenario-lws scenario-kserve scenario-epp scenario-gateway scenario-autoscaling scenario-air-gap node-llm release-check bench

.PHONY: generate
generate: $(VENV)/.installed ## Write the generated files: version, kinds, CRDs, schemas, modules, manifests, health checks (needs the API server of $KUBECONFIG)
	@$(BIN)/python hack/generate_version.py
	@$(BIN)/python hack/generate_publisher.py
	@$(BIN)/python hack/generate_kinds.py
	@$(BIN)/python hack/generate_crds.py
	@$(BIN)/python hack/generate_schemas.py
	@$(BIN)/python hack/generate_modules.py
	@$(BIN)/python hack/generate_install.py
	@$(BIN)/python hack/generate_gitops.py
	@$(BIN)/python hack/generate_reference.py
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/python hack/generate_effects.py
	@$(BIN)/python hack/generate_chart_values.py
	@$(BIN)/python hack/generate_monitoring.py
	@$(BIN)/python hack/generate_dashboards.py

.PHONY: sandbox
sandbox: ## Start the local control plane (WITH="lws": with neighbors); the last line of output is an export command to eval
	@$(if $(WITH),SANDBOX_WITH="$(WITH)") $(SANDBOX) up

.PHONY: sandbox-down
sandbox-down: ## Stop only the processes of the local control plane
	@$(SANDBOX) down

.PHONY: operator
operator: collection ## Run the operator in the foreground against $KUBECONFIG
	@hack/operator.sh

.PHONY: models
models: ## Serve the sandbox's simulated models in the foreground; without them no NIMService becomes Ready
	@$(IN_SANDBOX) $(PYTHON) sandbox/model_server.py

.PHONY: demo
demo: collection ## Start sandbox and operator, and a NIMCache and a NIMService until both are Ready
	@SANDBOX_MANIFEST=sandbox/manifest.yaml $(SANDBOX) up >/dev/null
	@$(IN_SANDBOX) $(BIN)/python hack/demo.py

.PHONY: demo-down
demo-down: ## Remove what the demo created and stop what it started
	@$(IN_SANDBOX) $(PYTHON) hack/demo.py --down

.PHONY: image
image: collection image-programs ## Build the operator's image and build/image.tar (BASE=, IMAGE=: python3 hack/image --help)
	@$(BIN)/python hack/image build

.PHONY: docs
docs: $(MERMAID) ## Build the documentation site in build/site: each link leads somewhere, each page is in the navigation
	@$(MKDOCS) build --config-file hack/site/mkdocs.yml

.PHONY: docs-serve
docs-serve: $(MERMAID) ## Serve the documentation site on http://127.0.0.1:8000, and rebuild it after a change
	@$(MKDOCS) serve --config-file hack/site/mkdocs.yml

.PHONY: docs-version
docs-version: $(MERMAID) ## Add the site as VERSION=x.y, and as `latest`, to the branch `site`, with a selector of versions; pushes nothing
	@[[ "$(VERSION)" ]] || { echo "name the version: make docs-version VERSION=x.y" >&2; exit 2; }
	@PATH="$(DOCS_VENV)/bin:$$PATH" NO_MKDOCS_2_WARNING=1 mike deploy --config-file hack/site/mkdocs.yml --branch site --update-aliases "$(VERSION)" latest
	@PATH="$(DOCS_VENV)/bin:$$PATH" mike set-default --config-file hack/site/mkdocs.yml --branch site latest

.PHONY: release
release: venv ## Write the release VERSION=x.y.z on BASE=registry/name:tag@sha256:… into dist/, from the last commit (BASE=stand-in or WITHOUT_IMAGE=1: for tests)
	@[[ "$(VERSION)" ]] || { echo "name the version: make release VERSION=x.y.z" >&2; exit 2; }
	@$(BIN)/python release check $(if $(WITHOUT_IMAGE),--without-image)
	@$(MAKE) $(RELEASE_VENV)/.installed $(if $(WITHOUT_IMAGE),,image-programs)
	@PATH="$$PATH:$(RELEASE_VENV)/bin" $(BIN)/python release release --version "$(VERSION)" $(if $(WITHOUT_IMAGE),--without-image)

.PHONY: bench
bench: venv collection ## Measure reconciles on the sandbox (BENCH=--quick for a quick try)
	@SANDBOX_MANIFEST=sandbox/manifest.yaml $(SANDBOX) up >/dev/null
	@$(IN_SANDBOX) $(BIN)/python tests/harness bench $(BENCH)
