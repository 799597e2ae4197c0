# Files of a release.
.PHONY: image-files
image-files: collection ## Fill build/image with the files that the Dockerfile installs
	@$(BIN)/python hack/image files

.PHONY: image-programs
image-programs: venv ## Install the programs that build images, as root on Debian
	@$(BIN)/python hack/image install

.PHONY: dist/install.yaml
dist/install.yaml: venv ## config/default in one file
	@$(BIN)/python release install

.PHONY: dist/admission.yaml
dist/admission.yaml: venv ## The admission policies, which an OLM bundle cannot contain
	@$(BIN)/python release admission

.PHONY: dist/namespaced.yaml
dist/namespaced.yaml: venv ## The operator for one namespace, and dist/cluster.yaml, which an administrator applies before
	@$(BIN)/python release one-namespace

.PHONY: dist/monitoring.yaml
dist/monitoring.yaml: venv ## The ServiceMonitor, rules and dashboards in one file, and the dashboards alone in dist/dashboards.tgz
	@$(BIN)/python release monitoring

.PHONY: dist/chart
dist/chart: venv ## The Helm chart, in dist/chart/nimops
	@$(BIN)/python release chart

.PHONY: dist/bundle
dist/bundle: venv ## The OLM bundle, and a catalog with it in dist/catalog
	@$(BIN)/python release bundle

.PHONY: dist/wheel
dist/wheel: venv ## The wheel of kubectl-nim, which contains the collection
	@$(BIN)/python release wheel

.PHONY: sign
sign: venv ## Sign the pushed IMAGE=registry/name:tag with KEY=cosign.key; COSIGN_PASSWORD or a prompt
	@[[ "$(IMAGE)" && "$(KEY)" ]] || { echo "name both: make sign IMAGE=registry/name:tag KEY=cosign.key" >&2; exit 2; }
	@$(BIN)/python release sign --image "$(IMAGE)" --key "$(KEY)"

.PHONY: attest
attest: venv ## Sign the provenance of dist/ with KEY=cosign.key; with IMAGE=registry/name:tag, attach it to this pushed image of the release
	@[[ "$(KEY)" ]] || { echo "name the key: make attest KEY=cosign.key" >&2; exit 2; }
	@$(BIN)/python release attest --key "$(KEY)" $(if $(IMAGE),--image "$(IMAGE)")

.PHONY: release-check
release-check: venv $(RELEASE_VENV)/.installed image-programs ## Build a release with its image twice, its SBOM and its signatures, and compare
	@PATH="$$PATH:$(RELEASE_VENV)/bin" hack/release_check.sh

.PHONY: compatibility
compatibility: venv ## Check that the CRDs are compatible with those of the last release
	@$(BIN)/python release compatibility
