# The parts of `make test` that need no cluster.
# pytest-ansible runs a task in pytest's own process, and finds the collection through Ansible's loader, not PYTHONPATH.
PYTEST_ANSIBLE := -q --strict-markers --import-mode=importlib -p no:cacheprovider --ansible-unit-inject-only

.PHONY: prose
prose: ## vale on documents, comments and docstrings
	@$(PYTHON) hack/check_prose.py

# Two thirds of ansible-lint's time are the syntax checks of molecule's playbooks, most of which `make test` runs.
.PHONY: lint-scenarios
lint-scenarios: collection ## ansible-lint on all content, with that of molecule, which `lint` leaves out
	@$(BIN)/ansible-lint --offline

# One more process than processors, because some tests wait.
.PHONY: plays
plays: collection ## Verbs, plugins, inventory and roles, by the programs of Ansible on a simulated API server
	@PYTHONPATH=$(COLLECTIONS) $(PYTEST) -n "$$(($$(nproc) + 1))" --dist loadfile --no-loadscope-reorder -m "ansible and not nightly" tests/unit/plugins
	@$(PYTEST) -o addopts="$(PYTEST_ANSIBLE)" tests/through_ansible

# The rest of searches of which `unit` runs a part: docs/develop/testing.md lists them.
.PHONY: unit-nightly
unit-nightly: collection ## The unit tests that unit leaves out: those with the mark nightly
	@PYTHONPATH=$(COLLECTIONS) $(PYTEST) -n auto -m nightly tests/unit

# `make matrix` runs all tests with these versions, and scenario-node the operator. Left to them: unit tests, prefork's endurance,
# its client that is a script, rare cases, and those of ansible-playbook, which the image only runs as part of ansible-runner.
.PHONY: image-versions
image-versions: ## prefork with the image's versions: Python 3.12, ansible-core 2.18
	@if python=$$(hack/find_python.sh 3.12); then \
		$(MAKE) prefork PYTHON="$$python" CORE=2.18 PREFORK_TESTS='-m "not script and not nightly" -k "not endurance and not ansible-playbook"'; \
	elif [[ "$${CI:-}" ]]; then exit 1; \
	else echo "SKIPPED: the tests with the image's versions: see above" >&2; fi

.PHONY: matrix
matrix: ## Unit tests and prefork with ansible-core 2.18 to 2.21; lists missing Pythons (MATRIX="2.20:3.13")
	@hack/matrix.sh $(MATRIX)

# One more process than processors, because test_silence.py only waits.
.PHONY: prefork
prefork: venv ## The tests of prefork: the same events as stock, isolation, restarts, memory
	@$(BIN)/pytest -n "$$(($$(nproc) + 1))" --dist loadfile packages/ansible-prefork/tests $(PREFORK_TESTS)

# What builds it is in the release's environment.
.PHONY: prefork-package
prefork-package: venv $(RELEASE_VENV)/.installed ## prefork as a package: wheel, source distribution, installed with pip and without
	@PYTHONPATH="$$($(RELEASE_VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
		$(BIN)/pytest packages/ansible-prefork/tests/test_package.py

.PHONY: supervisor
supervisor: venv ## The tests of the supervisor: guarded runs, restarts, leftovers
	@$(BIN)/pytest -n auto --dist loadfile -c packages/nimops-supervisor/pyproject.toml --rootdir packages/nimops-supervisor packages/nimops-supervisor/tests

.PHONY: apiproxy
apiproxy: ## The proxy to the API server: gofmt, go vet, its tests
	@hack/test_apiproxy.sh

.PHONY: apiproxy-race
apiproxy-race: ## The same with Go's race detector, which takes eight times the CPU time; needs a C compiler
	@hack/test_apiproxy.sh -race

.PHONY: packaging
packaging: venv $(RELEASE_VENV)/.installed ## The tests of chart, bundle and overlays against config/default
	@PATH="$$PATH:$(RELEASE_VENV)/bin" $(BIN)/pytest -n auto --dist loadfile tests/packaging

.PHONY: galaxy
galaxy: collection $(RELEASE_VENV)/.installed ## Run galaxy-importer; build the execution-environment context in build/
	@PATH="$(RELEASE_VENV)/bin:$$PATH" hack/check_galaxy.sh

# The virtual environments of ansible-test, whose names have a hash of their packages, are shared by all checkouts.
SANITY_HOME := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/nimops-sanity
SANITY := $(CURDIR)/build/sanity
SANITY_ROOT := $(SANITY)/ansible_collections/nimops/nim

.PHONY: sanity
sanity: collection ## ansible-test sanity on the installed collection, with empty ignore files (SANITY_TESTS="--test import")
	@mkdir -p $(SANITY_HOME)/.ansible/test/cache $(SANITY)/ansible_collections/nimops
	@cp tests/sanity/bootstrap_pip.py $(SANITY_HOME)/.ansible/test/cache/get_pip_24_2.py
	@rm -rf $(SANITY_ROOT)/plugins $(SANITY_ROOT)/roles $(SANITY_ROOT)/meta
	@cp -r $(INSTALLED) $(SANITY)/ansible_collections/nimops/
	@cd $(SANITY_ROOT) && git init --quiet . && echo /tests/output/ >.git/info/exclude \
		&& HOME=$(SANITY_HOME) $(BIN)/ansible-test sanity --venv --color no $(SANITY_TESTS) \
		--python "$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')"

# `lint` checks the same by ruff, mypy, yamllint and shellcheck, and `unit` what is imported. The test `import` takes twice the CPU
# time of all others, because it imports each file alone.
.PHONY: sanity-quick
sanity-quick: ## sanity without what lint and unit check
	@$(MAKE) sanity SANITY_TESTS='$(addprefix --skip-test ,import pylint pep8 yamllint shellcheck)'

.PHONY: golden
golden: collection ## Write tests/golden: the objects that the samples become
	@$(BIN)/python tests/golden/samples.py

REPORT_PATH := $(COLLECTIONS):$(CURDIR)/packages/kubectl-nim/src:$(CURDIR)/tests/observability

.PHONY: report-page
report-page: collection ## A report in Chromium: console, keyboard, filter, contrast, print
	@PYTHONPATH=$(REPORT_PATH) $(BIN)/pytest -rs tests/observability/test_report_page.py

.PHONY: docs-page
docs-page: docs venv ## The documentation site in Chromium, opened as files: search, diagrams, no request to another host
	@PYTHONPATH=tests/observability $(BIN)/pytest -rs tests/site/test_site.py

.PHONY: monitoring
monitoring: collection ## Rules, alerts and runbooks by promtool, queries of dashboards on a Prometheus with recorded scrapes
	@PYTHONPATH=$(REPORT_PATH) $(BIN)/pytest tests/observability/test_rules.py tests/observability/test_dashboards.py

.PHONY: report-picture
report-picture: collection ## Write docs/images/report.png: the report of a fleet, on a sandbox of its own; needs Chromium
	@export SANDBOX_DIR=$(CURDIR)/build/picture; trap '$(SANDBOX) down >/dev/null' EXIT; \
	$(SANDBOX) up >/dev/null && eval "$$($(SANDBOX) env | tail -n 1)" && \
		PYTHONPATH=$(REPORT_PATH) $(BIN)/python tests/observability/picture.py $(CURDIR)/docs/images/report.png
