# Every command for developers and CI; `make help` lists them.
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

.PHONY: help
help: ## List these commands
	@awk -F ':.*## ' '/^[a-z/.-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.installed: requirements/dev.txt $(if $(CORE),requirements/core-$(CORE).txt) packages/ansible-prefork/pyproject.toml packages/nimops-supervisor/pyproject.toml
	@test ! -L $(VENV) || { echo "$(VENV) is a link, and what it points to would be cleared: remove it, or set VENV=…" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is required; set it with PYTHON=…" >&2; exit 2; }
	@echo "installing the Python packages of requirements/dev.txt into $(VENV:$(CURDIR)/%=%)" >&2
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements/dev.txt >&2
	@$(if $(CORE),$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements/core-$(CORE).txt >&2)
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable packages/ansible-prefork --editable packages/nimops-supervisor >&2
	@touch $@

# Without a C compiler, prefork's client is the one in Python.
CLIENT := $(if $(shell command -v cc),$(BIN)/ansible-prefork-client)
$(BIN)/ansible-prefork-client: $(VENV)/.installed packages/ansible-prefork/src/ansible_prefork/client.c packages/ansible-prefork/src/ansible_prefork/client.py
	@$(BIN)/python -m ansible_prefork compile >/dev/null || echo "prefork's client is the one in Python" >&2

.PHONY: venv
venv: $(VENV)/.installed $(CLIENT) ## Install the Python packages into .venv

build/.collection: $(VENV)/.installed $(SOURCES)
	@mkdir -p build
	@rm -rf $(INSTALLED) build/nimops-nim-*.tar.gz
	@$(BIN)/ansible-galaxy collection build --force --output-path build >build/collection.log 2>&1 || { cat build/collection.log >&2; exit 1; }
	@$(BIN)/ansible-galaxy collection install --offline --force --no-deps -p $(COLLECTIONS) build/nimops-nim-*.tar.gz >>build/collection.log 2>&1 || { cat build/collection.log >&2; exit 1; }
	@touch $@

.PHONY: collection
collection: build/.collection ## Build the collection and install it into build/collections

.PHONY: image-files
image-files: collection ## Fill build/image with all that the Dockerfile installs
	@$(BIN)/python hack/image files

.PHONY: image-programs
image-programs: venv ## Install what builds images, as root on Debian
	@$(BIN)/python hack/image install

.PHONY: image
image: collection image-programs ## Build the operator's image and build/image.tar (BASE=, IMAGE=: python3 hack/image --help)
	@$(BIN)/python hack/image build

.PHONY: test
test: lint unit prefork prefork-package image-versions supervisor apiproxy packaging galaxy sanity e2e ## Everything: lint, unit tests, sanity, then the scenarios on the sandbox

# The node is a network of its own, and waits most of the time.
.PHONY: e2e
e2e: venv collection ## All tests on the sandbox, and those on the real node beside them: build/node.log, printed in the end
	@$(MAKE) node-test scenario-node >build/node.log 2>&1 & node=$$!; \
	trap 'kill $$node' EXIT; \
	code=0; $(MAKE) cluster quick operators scenario-kind || code=$$?; \
	wait $$node || code=$$?; \
	trap - EXIT; cat build/node.log; exit $$code

.PHONY: lint
lint: collection ## ruff, mypy, yamllint, shellcheck, ansible-lint (production)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy -p ansible_collections.nimops.nim.plugins.module_utils
	@cd packages/ansible-prefork/src && $(BIN)/mypy --config-file $(CURDIR)/pyproject.toml -p ansible_prefork
	@cd packages/nimops-supervisor/src && $(BIN)/mypy --config-file $(CURDIR)/pyproject.toml -p nimops_supervisor
	@$(BIN)/mypy sandbox/nimops_sandbox sandbox/model_server.py hack/*.py molecule/gpu/*.py
	@MYPYPATH=sandbox $(BIN)/mypy sandbox/postgresql.py
	@$(BIN)/mypy -p nimops_release
	@$(BIN)/mypy release/chart/ready.py
	@$(BIN)/mypy release/write_sbom.py
	@$(BIN)/mypy tests/live/nimops_live tests/attack/nimops_attack tests/faults/nimops_faults tests/bench/nimops_bench tests/bench/chart.py
	@MYPYPATH=tests/fuzz $(BIN)/mypy -p nimops_fuzz
	@MYPYPATH=hack/image:sandbox $(BIN)/mypy -p nimops_image
	@$(BIN)/yamllint --strict .
	@$(BIN)/shellcheck hack/*.sh hack/image/*.sh plugins/module_utils/_nim/service/multi_node/scripts/*.sh .ci/run
	@$(BIN)/ansible-lint --offline

# pytest-ansible runs a task in pytest's own process, and finds the collection through Ansible's loader, not PYTHONPATH.
PYTEST_ANSIBLE := -q --strict-markers --import-mode=importlib -p no:cacheprovider --ansible-unit-inject-only

.PHONY: unit
unit: collection ## The unit tests, against the installed collection
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/pytest -n auto --dist loadfile tests/unit
	@$(BIN)/pytest -o addopts="$(PYTEST_ANSIBLE)" tests/through_ansible

# Left to `prefork`: endurance, and the cases of ansible-playbook, which the image only runs as part of ansible-runner.
.PHONY: image-versions
image-versions: ## Unit tests and prefork with the image's versions, Python 3.12 and ansible-core 2.18; skipped without that Python
	@if python=$$(hack/find_python.sh 3.12); then \
		$(MAKE) unit prefork PYTHON="$$python" CORE=2.18 PREFORK_TESTS='-k "not endurance and not ansible-playbook"'; \
	elif [[ "$${CI:-}" ]]; then exit 1; \
	else echo "SKIPPED: the tests with the image's versions: see above" >&2; fi

.PHONY: matrix
matrix: ## Unit tests and prefork with ansible-core 2.18 to 2.21; says which Python is missing (MATRIX="2.20:3.13")
	@hack/matrix.sh $(MATRIX)

.PHONY: fuzz
fuzz: collection ## 1,000 malformed and 1,000 odd resources per kind, on $$KUBECONFIG or the sandbox (FUZZ=--seed N)
ifdef KUBECONFIG
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/python tests/fuzz $(FUZZ)
else
	@SANDBOX_MANIFEST=sandbox/manifest.yaml $(SANDBOX) up >/dev/null
	@$(IN_SANDBOX) PYTHONPATH=$(COLLECTIONS) $(BIN)/python tests/fuzz $(FUZZ)
endif

.PHONY: prefork
prefork: venv ## The tests of prefork: the same events as stock, isolation, restarts, memory
	@$(BIN)/pytest -n auto --dist loadfile packages/ansible-prefork/tests $(PREFORK_TESTS)

.PHONY: operators
operators: venv ## An operator as others have it, stock and with prefork, on a sandbox of its own: effects compared (OPERATORS=--ratio=1)
	@$(BIN)/python packages/ansible-prefork/tests/operators $(OPERATORS)

.PHONY: supervisor
supervisor: venv ## The tests of the supervisor: guarded runs, restarts, leftovers
	@$(BIN)/pytest -n auto --dist loadfile -c packages/nimops-supervisor/pyproject.toml --rootdir packages/nimops-supervisor packages/nimops-supervisor/tests

.PHONY: apiproxy
apiproxy: ## The proxy to the API server: gofmt, go vet, its tests with the race detector
	@hack/test_apiproxy.sh

RELEASE_VENV := $(CURDIR)/build/release-venv

$(RELEASE_VENV)/.installed: requirements/release.txt
	@echo "installing the Python packages of requirements/release.txt into build/release-venv" >&2
	@$(PYTHON) -m venv --clear $(RELEASE_VENV)
	@$(RELEASE_VENV)/bin/pip install --quiet --disable-pip-version-check --requirement requirements/release.txt >&2
	@touch $@

.PHONY: packaging
packaging: venv $(RELEASE_VENV)/.installed ## The tests of what users install: chart, bundle, overlays against config/default
	@PATH="$$PATH:$(RELEASE_VENV)/bin" $(BIN)/pytest -n auto --dist loadfile tests/packaging

# What builds it is in the release's environment.
.PHONY: prefork-package
prefork-package: venv $(RELEASE_VENV)/.installed ## prefork as a package: wheel, source distribution, installed with pip and without
	@PYTHONPATH="$$($(RELEASE_VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
		$(BIN)/pytest packages/ansible-prefork/tests/test_package.py

.PHONY: galaxy
galaxy: collection $(RELEASE_VENV)/.installed ## What Galaxy's importer says of the collection; an execution environment's context in build/
	@PATH="$(RELEASE_VENV)/bin:$$PATH" hack/check_galaxy.sh

.PHONY: endurance
endurance: collection ## 2,000 runs of one parent of prefork, 5,000 resources: memory, descriptors, files
	@$(BIN)/python packages/ansible-prefork/tests/endurance.py --count 2000
	@$(BIN)/python tests/attack --only leftovers --mode prefork --rounds 25 --output build/endurance

SANITY := $(CURDIR)/build/sanity
SANITY_ROOT := $(SANITY)/ansible_collections/nimops/nim

.PHONY: sanity
sanity: collection ## ansible-test sanity on the installed collection, with empty ignore files
	@mkdir -p $(SANITY)/home/.ansible/test/cache $(SANITY)/ansible_collections/nimops
	@cp tests/sanity/bootstrap_pip.py $(SANITY)/home/.ansible/test/cache/get_pip_24_2.py
	@rm -rf $(SANITY_ROOT)/plugins $(SANITY_ROOT)/roles $(SANITY_ROOT)/meta
	@cp -r $(INSTALLED) $(SANITY)/ansible_collections/nimops/
	@cd $(SANITY_ROOT) && git init --quiet . && echo /tests/output/ >.git/info/exclude \
		&& HOME=$(SANITY)/home $(BIN)/ansible-test sanity --venv --color no \
		--python "$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')"

.PHONY: cluster
cluster: ## The tests that need a cluster, on the sandbox
	@SANDBOX_MANIFEST=sandbox/manifest.yaml $(SANDBOX) up >/dev/null
	@$(IN_SANDBOX) $(MAKE) admission commands database installing kinds scenario scenario-gpu

.PHONY: admission
admission: collection ## What the API server of $$KUBECONFIG accepts and rejects, and that the CRDs match the generator
	@$(BIN)/python hack/generate_crds.py --check
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/pytest tests/admission

.PHONY: kinds
kinds: collection ## Follow docs/develop/add-a-kind.md in a copy of the project, on the cluster of $$KUBECONFIG
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/pytest tests/kinds

.PHONY: installing
installing: venv ## Install with Helm and with install.yaml, upgrade, roll back and uninstall, on the API server of $$KUBECONFIG
	@$(BIN)/pytest tests/installing

.PHONY: commands
commands: collection ## The user commands, such as plan and apply, on the API server of $$KUBECONFIG
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/pytest tests/commands

.PHONY: database
database: collection ## What NeMo's pods get opens their databases, on a PostgreSQL server of its own and the API server of $$KUBECONFIG
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/pytest tests/database

.PHONY: scenario
scenario: collection ## The molecule scenarios, on the cluster of $$KUBECONFIG
	@$(BIN)/molecule test --scenario-name default
	@$(BIN)/molecule test --scenario-name extend
	@$(BIN)/molecule test --scenario-name namespaced
	@$(BIN)/molecule test --scenario-name takeover
	@$(MAKE) scenario-releases

.PHONY: scenario-releases
scenario-releases: collection ## Takeovers on whole objects of the reference's releases, on the sandbox of $$KUBECONFIG
	@if compgen -G '../shared/conformance/takeover/*.json' >/dev/null; then $(BIN)/molecule test --scenario-name releases; \
	else echo "SKIPPED: the scenario releases: ../shared has no objects of releases" >&2; fi

.PHONY: scenario-gpu
.PHONY: scenario-role
scenario-role: collection ## The scenario default with an operator that reconciles by roles
	@NIMOPS_RECONCILE=role $(BIN)/molecule test --scenario-name default

scenario-gpu: collection ## The GPU stack on simulated nodes, on the sandbox of $$KUBECONFIG
	@$(BIN)/molecule test --scenario-name gpu

.PHONY: scenario-node
scenario-node: collection ## The operator from its image on a real node, skipped with a reason where there cannot be one
	@hack/scenario_node.sh

.PHONY: scenario-kind
scenario-kind: collection ## The same on a kind cluster, if there is a container engine
	@$(BIN)/molecule test --scenario-name kind

SANDBOX := $(PYTHON) sandbox
IN_SANDBOX = eval "$$($(SANDBOX) env | tail -n 1)" &&

.PHONY: sandbox
sandbox: ## Start the local control plane; the last line of output is an export command to eval
	@$(SANDBOX) up

.PHONY: sandbox-down
sandbox-down: ## Stop only the processes of the local control plane
	@$(SANDBOX) down

.PHONY: node
node: ## Start a real node, as root, and install its Debian packages; the last line of output is to eval
	@$(SANDBOX) node install
	@$(SANDBOX) node up

.PHONY: node-down
node-down: ## Kill all that runs on the real node, and leave nothing of it but logs
	@$(SANDBOX) node down

.PHONY: node-test
node-test: venv ## The tests of the real node, skipped with a reason where there cannot be one
	@$(BIN)/pytest tests/node

.PHONY: generate
generate: $(VENV)/.installed ## Generate files from galaxy.yml's version, the declared kinds and config/crd/src, with the API server of $$KUBECONFIG
	@$(BIN)/python hack/generate_version.py
	@$(BIN)/python hack/generate_kinds.py
	@$(BIN)/python hack/generate_crds.py
	@$(BIN)/python hack/generate_schemas.py

.PHONY: golden
golden: collection ## Regenerate tests/golden: the objects that the samples become
	@$(BIN)/python tests/golden/samples.py

.PHONY: dist/install.yaml
dist/install.yaml: venv ## config/default in one file
	@$(BIN)/python release install

.PHONY: dist/admission.yaml
dist/admission.yaml: venv ## The policies, for installations by OLM, which cannot have them
	@$(BIN)/python release admission

.PHONY: dist/chart
dist/chart: venv ## The Helm chart, in dist/chart/nimops
	@$(BIN)/python release chart

.PHONY: dist/bundle
dist/bundle: venv ## The OLM bundle, and a catalog with it in dist/catalog
	@$(BIN)/python release bundle

.PHONY: release
release: venv $(RELEASE_VENV)/.installed $(if $(WITHOUT_IMAGE),,image-programs) ## Everything of VERSION=x.y.z in dist/, from what is committed (WITHOUT_IMAGE=1: the rest, in seconds)
	@[[ "$(VERSION)" ]] || { echo "name the version: make release VERSION=x.y.z" >&2; exit 2; }
	@PATH="$$PATH:$(RELEASE_VENV)/bin" $(BIN)/python release release --version "$(VERSION)" $(if $(WITHOUT_IMAGE),--without-image)

.PHONY: sign
sign: venv ## Sign IMAGE=registry/name:tag, which is pushed, with KEY=cosign.key; COSIGN_PASSWORD or a prompt
	@[[ "$(IMAGE)" && "$(KEY)" ]] || { echo "name both: make sign IMAGE=registry/name:tag KEY=cosign.key" >&2; exit 2; }
	@$(BIN)/python release sign --image "$(IMAGE)" --key "$(KEY)"

.PHONY: release-check
release-check: venv $(RELEASE_VENV)/.installed image-programs ## What CI has no time for: a release with its image twice, SBOM, signatures
	@PATH="$$PATH:$(RELEASE_VENV)/bin" hack/release_check.sh

.PHONY: compatibility
compatibility: venv ## Whether the CRDs are compatible with those of the last release
	@$(BIN)/python release compatibility

.PHONY: operator
operator: collection ## Run the operator in the foreground against $KUBECONFIG
	@hack/operator.sh

.PHONY: models
models: ## Simulate the sandbox's model servers, in the foreground: without them no NIMService becomes Ready
	@$(IN_SANDBOX) $(PYTHON) sandbox/model_server.py

.PHONY: demo
demo: collection ## Start sandbox and operator, and a NIMCache and a NIMService until both are Ready
	@SANDBOX_MANIFEST=sandbox/manifest.yaml $(SANDBOX) up >/dev/null
	@$(IN_SANDBOX) $(BIN)/python hack/demo.py

.PHONY: demo-down
demo-down: ## Remove what the demo created and stop what it started
	@$(IN_SANDBOX) $(PYTHON) hack/demo.py --down

BENCH_VENV := $(CURDIR)/build/bench-venv

$(BENCH_VENV)/.installed: requirements/bench.txt
	@echo "installing the Python packages of requirements/bench.txt into build/bench-venv" >&2
	@$(PYTHON) -m venv --clear $(BENCH_VENV)
	@$(BENCH_VENV)/bin/pip install --quiet --disable-pip-version-check --requirement requirements/bench.txt >&2
	@touch $@

.PHONY: bench
bench: venv collection $(BENCH_VENV)/.installed ## Measure what prefork saves, on the sandbox (BENCH=--quick for a quick try)
	@SANDBOX_MANIFEST=sandbox/manifest.yaml $(SANDBOX) up >/dev/null
	@$(IN_SANDBOX) $(BIN)/python tests/bench --chart-with $(BENCH_VENV)/bin/python $(BENCH)

.PHONY: attack
attack: collection ## Attacks on the operator, on a sandbox of its own (ATTACK=--list, --only NAME, --quick)
	@$(BIN)/python tests/attack $(ATTACK)

.PHONY: quick
quick: collection ## The quick parts of attack and faults; test includes them
	@$(BIN)/python tests/attack --quick
	@$(BIN)/python tests/faults --quick

.PHONY: faults
faults: collection ## Faults, each with 60 resources in progress, on a sandbox of its own (FAULTS=--list, --only NAME, --quick)
	@$(BIN)/python tests/faults $(FAULTS)

.PHONY: lock
lock: ## Recompile the lock files in requirements/ from their .in files; says which one it leaves alone (LOCK="dev core-2.21")
	@hack/lock.sh $(LOCK)
