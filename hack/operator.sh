#!/usr/bin/env bash
# Run the operator in the foreground against the cluster that KUBECONFIG names.
#
# LEADER_ELECT=1 enables leader election, in LEADER_ELECT_NAMESPACE (default: kube-system).
# LEAST_PRIVILEGE=1 runs it as the ServiceAccount of config/default, with only the permissions that the image has.
# NAMESPACED=NAME does so for one namespace, with only the permissions that config/overlays/namespaced grants there.
# METRICS_PORT (8080), HEALTH_PORT (8081): ports of metrics, and of /healthz and /readyz.
# LIVENESS_PORT: port of /livez, which reports whether runs end (default: none).
# WATCH_NAMESPACE, OPERATOR_NAMESPACE, OPERATOR_VERSION, NIMOPS_REGISTRIES: see docs/operate/configuration.md.
# NIMOPS_COMPONENT=gpu also installs the CRDs of the GPU stack and serves them; on a sandbox this is the default, but not
#   with NAMESPACED. Empty: it does not.
# INSTALLED=1 applies nothing: the cluster has what the operator needs, as after `kubectl nim install`.
# REPLACE_CRDS=1 replaces CRDs of other operators, such as NVIDIA's, and of later releases; otherwise they are an error.
# NIMOPS_NEMO=off does not serve the NeMo kinds, and omits the permissions that only they need.
# NIMOPS_TEST_REGISTRIES: a test's registries on this machine, as host:port, which are queried over http.
# PREFORK=off runs the stock programs, each in a new interpreter: see packages/ansible-prefork/README.md.
# NIMOPS_API_PROXY=off disables nimops-apiproxy, which the sandbox has on PATH: see packages/nimops-apiproxy/README.md.
# Further arguments are passed to ansible-operator run.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
	echo "operator: $*" >&2
	exit 2
}

# The ports of the runtime's proxy (8888) and event API (5050) are fixed.
require_free_ports() {
	local port
	for port in "$@"; do
		if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
			fail "port $port is in use: another operator is running on this machine, or choose METRICS_PORT, HEALTH_PORT"
		fi
	done
}

# The sandbox marks what it applied.
is_sandbox() {
	[[ $(kubectl -n kube-system get configmap sandbox-definitions --ignore-not-found --output name) ]]
}

apply_component() {
	printf '%s\n' "$manifests" | sed "s/^  namespace: nim$/  namespace: ${NAMESPACED:-nim}/" |
		kubectl apply --server-side --force-conflicts --selector "app.kubernetes.io/component=$1" -f - >&2
}

for tool in kubectl ansible-operator ansible-runner; do
	command -v "$tool" >/dev/null || fail "$tool is not on PATH: run 'make sandbox' and eval its last line"
done
kubectl --request-timeout=10s get --raw /readyz >/dev/null 2>&1 ||
	fail "no cluster answers at KUBECONFIG=${KUBECONFIG:-} (make sandbox starts one)"
metrics=${METRICS_PORT:-8080} health=${HEALTH_PORT:-8081}
require_free_ports 8888 5050 "$metrics" "$health"

overlay=config/default
if [[ ${NAMESPACED:-} ]]; then
	overlay=config/overlays/namespaced LEAST_PRIVILEGE=1 WATCH_NAMESPACE=$NAMESPACED
fi
if [[ -z ${NIMOPS_COMPONENT+set} && ! ${NAMESPACED:-} ]] && is_sandbox; then
	NIMOPS_COMPONENT=gpu
fi
export NIMOPS_COMPONENT="${NIMOPS_COMPONENT-}"
if [[ $NIMOPS_COMPONENT ]]; then
	[[ ! ${NAMESPACED:-} ]] || fail "NIMOPS_COMPONENT=$NIMOPS_COMPONENT serves the whole cluster, so not with NAMESPACED"
	overlay=config/overlays/$NIMOPS_COMPONENT
	[[ -d $overlay ]] || fail "NIMOPS_COMPONENT=$NIMOPS_COMPONENT: there is no $overlay"
fi

nemo=${NIMOPS_NEMO-}
if [[ ${nemo,,} == off ]]; then
	mkdir -p build/without-nemo
	printf '%s\n' "resources: [../../$overlay]" "components: [../../config/components/without-nemo]" \
		>build/without-nemo/kustomization.yaml
	overlay=build/without-nemo
fi

# Only after the comparison: the CRDs of others, such as NVIDIA's GPU operator, describe resources that are in use.
if [[ ! ${INSTALLED:-} ]]; then
	manifests=$(kubectl kustomize "$overlay")
	code=0
	python hack/apply_crds.py ${REPLACE_CRDS:+--replace} <<<"$manifests" >&2 || code=$?
	((code != 1)) ||
		fail "nothing was applied: the CRDs above are in use by another operator. See docs/operate/install.md#without-an-image"
	((code == 0)) || fail "the CRDs were not applied"
	apply_component admission
fi

if [[ ${LEAST_PRIVILEGE:-} ]]; then
	namespace=nimops-system account=nimops-controller-manager
	[[ ! ${INSTALLED:-} ]] || namespace=${OPERATOR_NAMESPACE:-$namespace}
	for name in "$namespace" ${NAMESPACED:+"$NAMESPACED"}; do
		[[ ${INSTALLED:-} ]] || kubectl create namespace "$name" --dry-run=client -o yaml | kubectl apply --server-side -f - >&2
	done
	if [[ ${NAMESPACED:-} ]]; then
		bindings=$(kubectl get clusterrolebindings --selector app.kubernetes.io/name=nimops,app.kubernetes.io/component=rbac --output name)
		[[ ! $bindings ]] ||
			fail "these grant the account permissions in all namespaces: delete them to use NAMESPACED: ${bindings//$'\n'/ }"
	fi
	[[ ${INSTALLED:-} ]] || apply_component rbac
	token=$(kubectl -n "$namespace" create token "$account" --duration=24h)
	limited=$PWD/build/operator.kubeconfig
	mkdir -p build
	(umask 077 && kubectl config view --raw --minify --flatten >"$limited")
	export KUBECONFIG=$limited LEADER_ELECT_NAMESPACE=$namespace
	kubectl config set-credentials "$account" --token="$token" >&2
	kubectl config set-context --current --user="$account" >&2
fi

options=(
	--watches-file=watches.yaml
	--ansible-verbosity=0
	--metrics-bind-address="127.0.0.1:$metrics"
	--health-probe-bind-address="127.0.0.1:$health"
)
if [[ ${LEADER_ELECT:-} ]]; then
	options+=(
		--leader-elect
		--leader-election-id=a0715c6e.nvidia.com
		--leader-election-namespace="${LEADER_ELECT_NAMESPACE:-kube-system}"
	)
fi
# With a local cluster, do not query other machines: pods of the sandbox pull no images, so the only registries needed
# are those that a test serves on loopback over http.
server=$(kubectl config view --minify --output 'jsonpath={.clusters[0].cluster.server}')
if [[ -z ${NIMOPS_REGISTRIES+set} && $server == https://127.0.0.1:* ]]; then
	export NIMOPS_REGISTRIES=${NIMOPS_TEST_REGISTRIES-}
	echo "operator: the cluster is local, so no registries are queried about images (NIMOPS_REGISTRIES)" >&2
fi
export ANSIBLE_GATHERING=explicit ANSIBLE_LOCALHOST_WARNING=false ANSIBLE_INVENTORY_UNPARSED_WARNING=false
export ANSIBLE_INVENTORY_ENABLED=ini ANSIBLE_PIPELINING=true
export PREFORK_PRELOAD="${PREFORK_PRELOAD-nimops.nim}" PREFORK_MODULES="${PREFORK_MODULES-off}"
export WATCH_NAMESPACE="${WATCH_NAMESPACE-}" OPERATOR_NAMESPACE="${OPERATOR_NAMESPACE-nimops-system}"
watch=()
if [[ ${LIVENESS_PORT:-} ]]; then
	watch=("--liveness-bind-address=127.0.0.1:$LIVENESS_PORT")
fi
exec python -m nimops_supervisor "${watch[@]}" -- ansible-operator run "${options[@]}" "$@"
