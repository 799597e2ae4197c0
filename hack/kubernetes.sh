#!/usr/bin/env bash
# Run tests on other releases of Kubernetes, each on a sandbox of its own, which is removed: hack/kubernetes.sh RELEASE…
set -euo pipefail
cd "$(dirname "$0")/.."

export SANDBOX_MANIFEST=sandbox/manifest.yaml
for release in "$@"; do
	export SANDBOX_KUBERNETES=$release SANDBOX_DIR=$PWD/build/sandbox-$release
	trap 'python3 sandbox down' EXIT
	line=$(python3 sandbox up | tail -n 1)
	(
		eval "$line"
		echo "Kubernetes $release:" >&2
		# The sandbox only warns of rejected CRDs, and tests without their CRDs are skipped.
		kubectl apply --server-side --force-conflicts --kustomize config/crd >/dev/null
		hack/run_parts.sh admission scenario-default scenario-takeover deprecated
	)
	python3 sandbox down
done
