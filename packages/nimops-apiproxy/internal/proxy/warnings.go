// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"net/http"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// mostWarnings is the number of texts that are remembered: some contain names.
const mostWarnings = 1000

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
		if w.isNew(warning.Text) {
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
