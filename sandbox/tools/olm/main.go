// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Command olm validates OLM bundles with the validators of operator-framework/api: one folder per argument.
package main

import (
	"fmt"
	"os"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	"github.com/operator-framework/api/pkg/validation/errors"
)

func main() {
	failed := false
	for _, folder := range os.Args[1:] {
		failed = validate(folder) || failed
	}
	if failed || len(os.Args) < 2 {
		os.Exit(1)
	}
}

func validate(folder string) bool {
	bundle, err := manifests.GetBundleFromDir(folder)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", folder, err)
		return true
	}
	objects := bundle.ObjectsToValidate()
	objects = append(objects, map[string]string{})
	return report(folder, validation.AllValidators.Validate(objects...))
}

func report(folder string, results []errors.ManifestResult) bool {
	failed := false
	for _, result := range results {
		for _, found := range append(result.Errors, result.Warnings...) {
			fmt.Fprintf(os.Stderr, "%s: %s: %v\n", folder, result.Name, found)
			failed = true
		}
	}
	return failed
}
