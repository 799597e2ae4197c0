#!/usr/bin/env bash
# Run the checks that are too slow for CI, step by step, until one fails. Print the duration of each.
#
# A step is a function, named below in `steps`. Its output goes to build/release-check/STEP.log.
# `hack/release_check.sh STEP…` runs only those; `make release-check` runs all. SOURCE_DATE_EPOCH and BASE are those of make release;
# by default, the base is the stand-in.
set -euo pipefail
cd "$(dirname "$0")/.."

version=99.0.0 # not a real release
out=$PWD/build/release-check
steps=(proxy release again contents signatures environment)

# docker and podman write times into an image.
export IMAGE_ENGINE=buildah BASE="${BASE:-stand-in}"

make_release() { python release --output "$out/$1" release --version "$version"; }

# Two builds of nimops-apiproxy that share no cache are equal.
proxy() { pytest tests/supply/test_apiproxy.py; }

# Build a whole release with its image.
release() {
	git rev-parse HEAD >"$out/commit"
	make_release first
}

# Build it again from scratch: SHA256SUMS lists all files, so an equal list means equal bytes.
again() {
	git rev-parse HEAD | diff "$out/commit" - || {
		echo "the commit changed since the step release: run both again"
		return 1
	}
	make_release second
	diff "$out/first/SHA256SUMS" "$out/second/SHA256SUMS" || {
		echo "two releases of one commit differ in the files above"
		return 1
	}
}

# The SBOM is valid and complete, each component has a license or is listed as unknown.
contents() { DIST=$out/first pytest tests/supply/test_contents.py; }

# An image and the provenance are signed on a loopback registry, and refused with another key or after a change.
signatures() { pytest tests/supply/test_signatures.py tests/supply/test_provenance.py; }

# The execution environment builds, and renders the same as this checkout. `make galaxy` writes its context.
environment() {
	make galaxy
	python hack/image environment >"$out/environment.yaml"
	ANSIBLE_STDOUT_CALLBACK=nimops.nim.pipe ansible-playbook nimops.nim.render </dev/null \
		--extra-vars files=config/samples/apps_v1alpha1_nimservice.yaml | diff "$out/environment.yaml" -
}

mkdir -p "$out"
(($#)) || set -- "${steps[@]}"
for step in "$@"; do
	[[ " ${steps[*]} " == *" $step "* ]] || { echo "release-check: $step: not one of ${steps[*]}" >&2; exit 2; }
done
for step in "$@"; do
	started=$SECONDS
	# Not as a condition: bash would ignore -e inside the step.
	set +e
	(set -e && "$step") >"$out/$step.log" 2>&1
	code=$?
	set -e
	if ((code)); then
		tail -n 30 "$out/$step.log" >&2
		echo "release-check: $step failed with $code after $((SECONDS - started)) s: $out/$step.log" >&2
		exit 1
	fi
	echo "release-check: $step: $((SECONDS - started)) s" >&2
done
