# The tests on the sandbox and on a real node.
# The node is a network of its own, and waits most of the time.
.PHONY: e2e
e2e: venv collection ## All tests on the sandbox, and at the same time those on the real node (build/node.log, printed last)
	@$(MAKE) node-test scenario-node >build/node.log 2>&1 & node=$$!; \
	trap 'kill $$node' EXIT; \
	code=0; hack/run_parts.sh cluster quick operators scenario-kind || code=$$?; \
	wait $$node || code=$$?; \
	trap - EXIT; cat build/node.log; exit $$code

.PHONY: cluster
cluster: ## The tests that need a cluster, on the sandbox
	@SANDBOX_MANIFEST=sandbox/manifest.yaml $(SANDBOX) up >/dev/null
	@$(IN_SANDBOX) hack/run_parts.sh admission commands database installing kinds scenario scenario-gpu

.PHONY: admission
admission: collection ## Admission tests against $KUBECONFIG; also checks that the CRDs are up to date
	@$(BIN)/python hack/generate_crds.py --check
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/pytest tests/admission

.PHONY: kinds
kinds: collection ## Follow docs/develop/add-a-kind.md in a copy of the project, on the cluster of $KUBECONFIG
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/pytest tests/kinds

.PHONY: installing
installing: venv ## Install with Helm and with install.yaml, upgrade, roll back and uninstall, on the API server of $KUBECONFIG
	@$(BIN)/pytest tests/installing

.PHONY: commands
commands: collection ## The user commands, such as plan and apply, on the API server of $KUBECONFIG
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/pytest tests/commands

.PHONY: database
database: collection ## Open a PostgreSQL server's databases with the settings of NeMo's pods, on the API server of $KUBECONFIG
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/pytest tests/database

.PHONY: scenario
scenario: collection ## The molecule scenarios, on the cluster of $KUBECONFIG
	@hack/run_parts.sh $(addprefix scenario-,default extend namespaced takeover releases)

.PHONY: scenario-default scenario-extend scenario-namespaced scenario-takeover
scenario-default scenario-extend scenario-namespaced scenario-takeover: collection
	@$(BIN)/molecule test --scenario-name $(@:scenario-%=%)

.PHONY: scenario-releases
scenario-releases: collection ## Takeovers on whole objects of the reference's releases, on the sandbox of $KUBECONFIG
	@if compgen -G '../shared/conformance/takeover/*.json' >/dev/null; then $(BIN)/molecule test --scenario-name releases; \
	else echo "SKIPPED: the scenario releases: ../shared has no objects of releases" >&2; fi

.PHONY: scenario-role
scenario-role: collection ## The scenario default with an operator that reconciles by roles
	@NIMOPS_RECONCILE=role $(BIN)/molecule test --scenario-name default

.PHONY: scenario-gpu
scenario-gpu: collection ## The GPU stack on simulated nodes, on the sandbox of $KUBECONFIG
	@$(BIN)/molecule test --scenario-name gpu

.PHONY: scenario-node
scenario-node: collection ## The operator from its image on a real node, skipped with a reason where there cannot be one
	@hack/scenario_node.sh

.PHONY: scenario-kind
scenario-kind: collection ## The scenario on a kind cluster, if there is a container engine
	@$(BIN)/molecule test --scenario-name kind

.PHONY: node
node: ## Start a real node, as root, and install its Debian packages; the last line of output is to eval
	@$(SANDBOX) node install
	@$(SANDBOX) node up

.PHONY: node-down
node-down: ## Stop the real node; keep only its logs
	@$(SANDBOX) node down

.PHONY: node-test
node-test: venv ## The tests of the real node, skipped with a reason where there cannot be one
	@$(BIN)/pytest tests/node

.PHONY: operators
operators: venv ## Compare a third-party operator with and without prefork, on its own sandbox (OPERATORS=--ratio=1)
	@$(BIN)/python packages/ansible-prefork/tests/operators $(OPERATORS)
