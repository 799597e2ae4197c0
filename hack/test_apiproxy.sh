#!/usr/bin/env bash
# The format, `go vet` and the tests of packages/nimops-apiproxy/, with the race detector where there is a C compiler.
set -euo pipefail
cd "$(dirname "$0")/../packages/nimops-apiproxy"
export GOWORK=off CGO_ENABLED=0

command -v go >/dev/null || {
	echo "apiproxy: Go was not found on PATH: install Go 1.26 or later" >&2
	exit 2
}
unformatted=$(gofmt -l .)
[[ -z $unformatted ]] || {
	echo "apiproxy: run gofmt -w on $unformatted" >&2
	exit 1
}
go vet ./...
if command -v "$(go env CC)" >/dev/null; then
	CGO_ENABLED=1 go test -race ./...
else
	echo "apiproxy: no C compiler, so the tests run without the race detector" >&2
	go test ./...
fi
