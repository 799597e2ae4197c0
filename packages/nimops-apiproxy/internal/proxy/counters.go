// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"encoding/json"
	"io"
	"os"
	"syscall"
)

// largestCounters is the size up to which the file of the counters is read; it has a short line for each kind.
const largestCounters = 64 << 10

// readPasses returns the counters of the passes, by kind; nil until there is a file.
func readPasses(path string) map[string]passes {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	// A pass rewrites the file under an exclusive lock, in microseconds.
	if syscall.Flock(int(file.Fd()), syscall.LOCK_SH) != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(file, largestCounters))
	if err != nil {
		return nil
	}
	var found map[string]passes
	if json.Unmarshal(text, &found) != nil {
		return nil
	}
	return found
}
