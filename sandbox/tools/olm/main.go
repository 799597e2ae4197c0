// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Command olm validates OLM bundles with the validators of operator-framework/api: one folder per argument.
// It prints warnings too, but only fails for errors.
package main

import (
	"fmt"
	"os"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	"github.com/operator-framework/api/pkg/validation/errors"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
)

// Without those that pull the image.
var validators = interfaces.Validators{
	validation.BundleValidator,
	validation.ClusterServiceVersionValidator,
	validation.CustomResourceDefinitionValidator,
	validation.GoodPracticesValidator,
	validation.ObjectValidator,
	validation.OperatorGroupValidator,
	validation.OperatorHubV2Validator,
	validation.StandardCapabilitiesValidator,
	validation.StandardCategoriesValidator,
}

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
	return report(folder, validators.Validate(bundle.ObjectsToValidate()...))
}

func report(folder string, results []errors.ManifestResult) bool {
	failed := false
	for _, result := range results {
		for _, found := range append(result.Errors, result.Warnings...) {
			fmt.Fprintf(os.Stderr, "%s: %s: %v\n", folder, result.Name, found)
			failed = failed || found.Level == errors.LevelError
		}
	}
	return failed
}
