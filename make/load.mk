# Attacks, faults, odd resources and endurance.
.PHONY: quick
quick: collection ## The quick parts of attack and faults; test includes them
	@$(BIN)/python tests/harness attack --quick
	@$(BIN)/python tests/harness faults --quick

.PHONY: attack
attack: collection ## Attacks on the operator, on a sandbox of its own (ATTACK=--list, --only NAME, --quick)
	@$(BIN)/python tests/harness attack $(ATTACK)

.PHONY: faults
faults: collection ## Faults, each with 60 resources in progress, on a sandbox of its own (FAULTS=--list, --only NAME, --quick)
	@$(BIN)/python tests/harness faults $(FAULTS)

.PHONY: manifests
manifests: collection ## What becomes of files of users, on a sandbox of its own (FILES="a.yaml b.yaml", MANIFESTS=--placeholders)
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/python tests/harness manifests $(MANIFESTS) $(or $(FILES),$(error set FILES: make manifests FILES="a.yaml b.yaml"))

.PHONY: reports
reports: collection ## Public bug reports, played with the operator on a sandbox of its own (REPORTS=--list, --only NAME, --quick)
	@$(BIN)/python tests/harness reports $(REPORTS)

.PHONY: reports-quick
reports-quick: ## The quick part of reports
	@$(MAKE) reports REPORTS=--quick

.PHONY: observability
observability: collection ## Health, differences and metrics as GitOps tools and monitoring see them, on a sandbox of its own (OBSERVABILITY="-k gitops")
	@PYTHONPATH=$(REPORT_PATH) $(BIN)/python tests/observability $(OBSERVABILITY)

.PHONY: first-steps
first-steps: collection ## Follow the README's five minutes as a new user, on a sandbox of its own; test includes it
	@$(BIN)/python tests/first_steps

.PHONY: tutorials
tutorials: collection ## Follow the tutorials as a reader, on a sandbox of its own (TUTORIALS="first-model --keep-going")
	@PYTHONPATH=$(REPORT_PATH) $(BIN)/python tests/tutorials $(TUTORIALS)

.PHONY: first-tutorial
first-tutorial: ## The first tutorial
	@$(MAKE) tutorials TUTORIALS=first-model

.PHONY: fuzz
fuzz: collection ## 1,000 odd resources per kind, on $KUBECONFIG or the sandbox (FUZZ=--seed N)
ifdef KUBECONFIG
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/python tests/harness fuzz $(FUZZ)
else
	@SANDBOX_MANIFEST=sandbox/manifest.yaml $(SANDBOX) up >/dev/null
	@$(IN_SANDBOX) PYTHONPATH=$(COLLECTIONS) $(BIN)/python tests/harness fuzz $(FUZZ)
endif

.PHONY: endurance
endurance: collection ## 2,000 runs of one prefork parent, 5,000 resources: memory, descriptors, files
	@$(BIN)/python packages/ansible-prefork/tests/endurance.py --count 2000
	@$(BIN)/python tests/harness attack --only leftovers --mode prefork --rounds 25 --output build/endurance
