# The virtual environments, the installed collection and what starts the sandbox.
$(VENV)/.installed: requirements/dev.txt $(if $(CORE),requirements/core-$(CORE).txt) packages/ansible-prefork/pyproject.toml packages/nimops-supervisor/pyproject.toml
	@test ! -L $(VENV) || { echo "$(VENV) is a link, and what it points to would be cleared: remove it, or set VENV=…" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is required; set it with PYTHON=…" >&2; exit 2; }
	@PYTHON=$(PYTHON) hack/create_venv.sh $(VENV) requirements/dev.txt $(if $(CORE),requirements/core-$(CORE).txt)
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable packages/ansible-prefork --editable packages/nimops-supervisor >&2
	@touch $@

# Without a C compiler, prefork's client is the one in Python.
CLIENT := $(if $(shell command -v cc),$(BIN)/ansible-prefork-client)
$(BIN)/ansible-prefork-client: $(VENV)/.installed packages/ansible-prefork/src/ansible_prefork/client.c packages/ansible-prefork/src/ansible_prefork/client.py
	@$(BIN)/python -m ansible_prefork compile >/dev/null || echo "prefork's client is the one in Python" >&2

# Each virtualenv builds the same collection: one that is new must not replace it while tests use it.
$(INSTALLED)/MANIFEST.json: $(SOURCES) | $(VENV)/.installed
	@mkdir -p build
	@rm -rf $(INSTALLED) build/nimops-nim-*.tar.gz
	@$(BIN)/ansible-galaxy collection build --force --output-path build >build/collection.log 2>&1 || { cat build/collection.log >&2; exit 1; }
	@$(BIN)/ansible-galaxy collection install --offline --force --no-deps -p $(COLLECTIONS) build/nimops-nim-*.tar.gz >>build/collection.log 2>&1 || { cat build/collection.log >&2; exit 1; }
	@touch $@

RELEASE_VENV := $(CURDIR)/build/release-venv

$(RELEASE_VENV)/.installed: requirements/release.txt
	@PYTHON=$(PYTHON) hack/create_venv.sh $(RELEASE_VENV) requirements/release.txt
	@touch $@

DOCS_VENV := $(CURDIR)/build/docs-venv
# Without this, the theme advertises another program.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs

$(DOCS_VENV)/.installed: requirements/docs.txt
	@PYTHON=$(PYTHON) hack/create_venv.sh $(DOCS_VENV) requirements/docs.txt
	@touch $@

# The script that draws diagrams, which the theme would request from another host.
MERMAID := build/mermaid.min.js

$(MERMAID): requirements/mermaid.yaml | $(DOCS_VENV)/.installed
	@$(DOCS_VENV)/bin/python hack/site/site_mermaid.py $@

SANDBOX := $(PYTHON) sandbox
IN_SANDBOX = eval "$$($(SANDBOX) env | tail -n 1)" &&

.PHONY: lock
lock: ## Recompile the lock files in requirements/ from their .in files (LOCK="dev core-2.21")
	@hack/lock.sh $(LOCK)
