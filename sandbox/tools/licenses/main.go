// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Command licenses prints which licenses are in each file, as a JSON object of SPDX identifiers by file name.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	classifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

func main() {
	found, err := classify(os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(found)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func classify(files []string) (map[string][]string, error) {
	known, err := assets.DefaultClassifier()
	if err != nil {
		return nil, err
	}
	found := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found[file] = names(known.Match(text).Matches)
	}
	return found, nil
}

// Besides licenses, and headers that refer to one, the classifier finds lines of copyright.
func names(matches classifier.Matches) []string {
	found := []string{}
	for _, match := range matches {
		if match.MatchType == "License" || match.MatchType == "Header" {
			found = append(found, match.Name)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
