// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

func TestWarnings(t *testing.T) {
	s := start(t, 0, noPods(func(w http.ResponseWriter, r *http.Request) {
		for _, text := range r.URL.Query()["warn"] {
			w.Header().Add("Warning", text)
		}
		w.WriteHeader(http.StatusOK)
	}))
	const old, malformed = `299 - "v1 Endpoints is deprecated in \"v1.33+\""`, `299`
	const finalizer = `299 - "metadata.finalizers: \"finalizer.nimcache.apps.nvidia.com\": prefer"`
	for _, text := range []string{"", malformed, finalizer, old, old} {
		path := "/api/v1/endpoints?" + url.Values{"warn": {text}}.Encode()
		response := s.request(t.Context(), http.MethodGet, path, nil)
		_ = response.Body.Close()
		if response.Header.Get("Warning") != text {
			t.Errorf("%s: the client got %q", text, response.Header)
		}
	}
	const expected = `the API server warns at GET /prefix/api/v1/endpoints: "v1 Endpoints is deprecated in \"v1.33+\""`
	found := s.drain("the API server warns")
	if len(found) != 1 || found[0] != expected {
		t.Errorf("logged %q", found)
	}
}

// drain returns the lines logged so far that begin with these words.
func (s *setup) drain(words string) []string {
	var found []string
	for {
		select {
		case line := <-s.logged:
			if strings.HasPrefix(line, words) {
				found = append(found, line)
			}
		default:
			return found
		}
	}
}

func TestWarningsAreBounded(t *testing.T) {
	warnings := newWarnings(func(string) {})
	for i := range mostWarnings {
		if !warnings.isNew(strconv.Itoa(i)) {
			t.Fatalf("%d was not logged", i)
		}
	}
	if warnings.isNew("one more") {
		t.Error("one more was logged")
	}
}
