// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

const (
	// mostWarnings is the number of texts that are remembered: some contain names.
	mostWarnings = 1000
	// ofFinalizers begins a warning at each write of a custom resource: finalizers have the names that the
	// reference operator gave them.
	ofFinalizers = "metadata.finalizers: "
)

// warnings logs the API server's warnings, each text once: playbooks ignore them.
type warnings struct {
	log   func(string)
	mutex sync.Mutex
	seen  map[string]bool
}

func newWarnings(log func(string)) *warnings {
	return &warnings{log: log, seen: map[string]bool{}}
}

func (w *warnings) note(response *http.Response) {
	values := response.Header.Values("Warning")
	if len(values) == 0 {
		return
	}
	found, _ := utilnet.ParseWarningHeaders(values)
	for _, warning := range found {
		if !strings.HasPrefix(warning.Text, ofFinalizers) && w.isNew(warning.Text) {
			w.log(fmt.Sprintf("the API server warns at %s %s: %q",
				response.Request.Method, response.Request.URL.Path, warning.Text))
		}
	}
}

func (w *warnings) isNew(text string) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.seen[text] || len(w.seen) == mostWarnings {
		return false
	}
	w.seen[text] = true
	return true
}
