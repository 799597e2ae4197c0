# The tests on the sandbox and on a real node.
#
# `make test` runs these lanes at the same time. Steps on clusters have deadlines, so the rest runs at a lower priority.
.PHONY: lane-main
lane-main: collection ## The parts of test that need no shared cluster, at a lower priority
	@nice hack/run_parts.sh lint unit plays supervisor apiproxy docs packaging galaxy sanity-quick quick first-steps monitoring scenario-kind admission-alone

.PHONY: lane-cluster
lane-cluster: collection ## The parts of test on the sandbox; an interruption stops what the scenarios started
	@trap 'for file in build/molecule/*.pid; do \
		[[ ! -e $$file ]] || hack/process.sh build/molecule stop "$$(basename "$$file" .pid)"; done' EXIT; \
	CHECKS=commands hack/run_parts.sh cluster

.PHONY: lane-node
lane-node: collection ## The tests on the real node, image-versions, and installing on a sandbox of its own
	@hack/run_parts.sh node-test scenario-node image-versions installing-alone

CHECKS ?= admission commands
SCENARIOS := $(addprefix scenario-,default extend namespaced takeover)

.PHONY: cluster
cluster: ## The tests that need a cluster, on the sandbox
	@SANDBOX_MANIFEST=sandbox/manifest.yaml $(SANDBOX) up >/dev/null
	@$(IN_SANDBOX) hack/run_parts.sh $(CHECKS) $(SCENARIOS) scenario-gpu deprecated

# A page for developers, the databases of NeMo, and takeovers that other tests cover in part.
.PHONY: cluster-nightly
cluster-nightly: ## kinds, database and scenario-releases, on the sandbox
	@SANDBOX_MANIFEST=sandbox/manifest.yaml $(SANDBOX) up >/dev/null
	@$(IN_SANDBOX) hack/run_parts.sh kinds database scenario-releases

# Each release has its own types, and the CRDs are generated from those of one release.
.PHONY: admission
admission: collection ## Admission tests against $KUBECONFIG; also checks that the CRDs are up to date
	@$(if $(SANDBOX_KUBERNETES),,$(BIN)/python hack/generate_crds.py --check)
	@$(BIN)/python hack/generate_install.py --check
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/pytest tests/admission

.PHONY: kinds
kinds: collection ## Follow docs/develop/add-a-kind.md in a copy of the project, on the cluster of $KUBECONFIG
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/pytest tests/kinds

.PHONY: deprecated
deprecated: venv ## Whether anything of ours requested a deprecated API since the sandbox of $KUBECONFIG started
	@$(BIN)/pytest tests/deprecated

.PHONY: installing
installing: venv ## Install with Helm and with install.yaml, upgrade, roll back and uninstall, on the API server of $KUBECONFIG
	@$(BIN)/pytest tests/installing

.PHONY: installing-nightly
installing-nightly: venv ## installing with all life cycles of Helm
	@$(BIN)/pytest -m '' tests/installing

# They run in other lanes than the scenarios, whose lane takes the longest.
.PHONY: admission-alone installing-alone installing-nightly-alone
admission-alone installing-alone installing-nightly-alone: %-alone: collection ## The part, then deprecated, on a sandbox of its own
	@export SANDBOX_DIR=$(CURDIR)/build/$*; trap '$(SANDBOX) down >/dev/null' EXIT; \
	$(SANDBOX) up >/dev/null && $(IN_SANDBOX) $(MAKE) $* deprecated

# Each case of these two files has its own namespace, and waits for controllers. One adds nodes, which the other reads.
.PHONY: commands
commands: collection ## The user commands, such as plan and apply, on the API server of $KUBECONFIG
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/pytest tests/commands $(patsubst %,--ignore tests/commands/test_%.py,preflight render_plan_apply)
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/pytest -n 3 tests/commands/test_preflight.py
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/pytest -n 3 tests/commands/test_render_plan_apply.py

.PHONY: database
database: collection ## Open a PostgreSQL server's databases with the settings of NeMo's pods, on the API server of $KUBECONFIG
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/pytest tests/database

.PHONY: scenario
scenario: collection ## The molecule scenarios, on the cluster of $KUBECONFIG
	@hack/run_parts.sh $(SCENARIOS) scenario-releases

.PHONY: scenario-default scenario-extend scenario-namespaced scenario-takeover
scenario-default scenario-extend scenario-namespaced scenario-takeover: collection
	@hack/molecule.sh test --scenario-name $(@:scenario-%=%)

.PHONY: scenario-releases
scenario-releases: collection ## Takeovers on whole objects of the reference's releases, on the sandbox of $KUBECONFIG
	@if compgen -G '../shared/conformance/takeover/*.json' >/dev/null; then hack/molecule.sh test --scenario-name releases; \
	else echo "SKIPPED: the scenario releases: ../shared has no objects of releases" >&2; fi

.PHONY: scenario-upgrade
scenario-upgrade: collection ## From the files of the previous release to today's, and back, on the sandbox of $KUBECONFIG (PREVIOUS=REF)
	@$(BIN)/python release install
	@code=0; WITHOUT_IMAGE=1 hack/previous.sh || code=$$?; \
	if ((code == 0)); then hack/molecule.sh test --scenario-name upgrade; \
	elif ((code == 4)); then echo "SKIPPED: the scenario upgrade: see above" >&2; \
	else exit $$code; fi

.PHONY: scenario-role
scenario-role: collection ## The scenario default with an operator that reconciles by roles
	@NIMOPS_RECONCILE=role hack/molecule.sh test --scenario-name default

.PHONY: scenario-lws
scenario-lws: collection ## Groups of pods with the real controller of LeaderWorkerSets, on a sandbox of its own
	@hack/scenario_neighbor.sh lws lws

.PHONY: scenario-kserve
scenario-kserve: collection ## Services with the real controllers and webhooks of KServe and Knative, on a sandbox of its own
	@hack/scenario_neighbor.sh kserve "kserve knative"

.PHONY: scenario-epp
scenario-epp: collection ## The real endpoint picker in the pods that the operator deploys, on a sandbox of its own
	@hack/scenario_neighbor.sh epp epp

.PHONY: scenario-gateway
scenario-gateway: collection ## Routes that Envoy Gateway and an Envoy serve, on a sandbox of its own
	@hack/scenario_neighbor.sh gateway gateway

RELEASES ?= 1.34 1.30

.PHONY: kubernetes
kubernetes: collection ## admission and the scenarios default and takeover on older releases of Kubernetes (RELEASES="1.34 1.30")
	@hack/kubernetes.sh $(RELEASES)

.PHONY: scenario-autoscaling
scenario-autoscaling: collection ## Autoscalers with the real controller, metrics-server, Prometheus and KEDA, on a sandbox of its own
	@hack/scenario_neighbor.sh autoscaling "prometheus metrics keda"

.PHONY: scenario-gpu
scenario-gpu: collection ## The GPU stack on simulated nodes, on the sandbox of $KUBECONFIG
	@hack/molecule.sh test --scenario-name gpu

.PHONY: scenario-node
scenario-node: collection ## The operator from its image on a real node, skipped with a reason where there cannot be one
	@hack/scenario_node.sh node "previous chart nim gpu"

.PHONY: node-llm
node-llm: collection ## A real language model in a NIM-like image on a real node, skipped with a reason where there cannot be one
	@hack/scenario_node.sh llm llm

.PHONY: scenario-air-gap
scenario-air-gap: collection ## Bundle, mirror, cache, service and upgrade on a real node without Internet access
	@hack/scenario_node.sh air_gap nim

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
