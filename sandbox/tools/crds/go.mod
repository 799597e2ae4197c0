module nimops.nim/sandbox/tools/crds

go 1.26.0

require (
	github.com/kserve/kserve v0.20.0
	sigs.k8s.io/dra-driver-nvidia-gpu v0.4.1
	sigs.k8s.io/gateway-api v1.5.1
	sigs.k8s.io/gateway-api-inference-extension v1.5.0
	sigs.k8s.io/kwok v0.8.0
	sigs.k8s.io/lws v0.9.0
)
