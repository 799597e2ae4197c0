#!/usr/bin/env bash
# The format, `go vet` and the tests of packages/nimops-apiproxy/: hack/test_apiproxy.sh [OPTION OF go test…]
set -euo pipefail
cd "$(dirname "$0")/../packages/nimops-apiproxy"
export GOWORK=off
unset GOGC # a test limits the memory of the proxy

command -v go >/dev/null || {
	echo "apiproxy: Go was not found on PATH: install Go 1.26 or later" >&2
	exit 2
}
unformatted=$(gofmt -l .)
[[ -z $unformatted ]] || {
	echo "apiproxy: run gofmt -w on $unformatted" >&2
	exit 1
}
CGO_ENABLED=0 go vet ./...
CGO_ENABLED=$([[ $* == *-race* ]] && echo 1 || echo 0) go test "$@" ./...
