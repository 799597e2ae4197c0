// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

const secrets = "/api/v1/namespaces/ns/secrets/"

func objectsOf(paths ...string) string {
	return objectsPath + "?" + url.Values{"paths": {strings.Join(paths, ",")}}.Encode()
}

// serveSecrets answers when all of a number of requests are there, so that reads one after the other never end.
func serveSecrets(together int) http.HandlerFunc {
	var all sync.WaitGroup
	all.Add(together)
	return noPods(func(w http.ResponseWriter, r *http.Request) {
		all.Done()
		all.Wait()
		name := strings.TrimPrefix(r.URL.Path, "/prefix"+secrets)
		w.Header().Set("Content-Type", "application/json")
		switch name {
		case "missing":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","code":404}`)
		case "broken":
			_, _ = io.WriteString(w, "not JSON")
		default:
			_, _ = fmt.Fprintf(w, `{"metadata":{"name":%q},"by":%q}`, name, r.Header.Get("Authorization"))
		}
	})
}

func TestObjects(t *testing.T) {
	s := start(t, 0, serveSecrets(4))
	text := s.get(objectsOf(secrets+"a", secrets+"missing", secrets+"broken", secrets+"b.c"))
	var answer struct{ Items []readObject }
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err, text)
	}
	var seen []string
	for _, item := range answer.Items {
		seen = append(seen, fmt.Sprint(item.Status, " ", string(item.Body)))
	}
	equal(t, strings.Join(seen, "\n"), strings.Join([]string{
		`200 {"metadata":{"name":"a"},"by":"Bearer upstream-credential"}`,
		`404 {"kind":"Status","code":404}`,
		`200 null`,
		`200 {"metadata":{"name":"b.c"},"by":"Bearer upstream-credential"}`,
	}, "\n"))
}

func TestObjectsLimitsSize(t *testing.T) {
	s := start(t, 0, noPods(func(w http.ResponseWriter, r *http.Request) {
		more := 0
		if strings.HasSuffix(r.URL.Path, "/large") {
			more = 1
		}
		_, _ = fmt.Fprintf(w, "%q", strings.Repeat("x", largestTogether-2+more))
	}))
	var answer struct{ Items []readObject }
	if err := json.Unmarshal([]byte(s.get(objectsOf(secrets+"large", secrets+"fits"))), &answer); err != nil {
		t.Fatal(err)
	}
	equal(t, answer.Items[0].Status, http.StatusRequestEntityTooLarge)
	equal(t, string(answer.Items[0].Body), "null")
	equal(t, answer.Items[1].Status, http.StatusOK)
	equal(t, len(answer.Items[1].Body), largestTogether)
}

func TestObjectsReducesLarge(t *testing.T) {
	s := start(t, 0, noPods(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.Replace(service("a", 1, 1), `"status"`, `"spec":{"x":"`+strings.Repeat("y", 9000)+`"},"status"`, 1))
	}))
	text := s.get(objectsOf("/apis/apps.nvidia.com/v1alpha1/namespaces/ns/nimservices/a"))
	equal(t, strings.Contains(text, "nimops.nim/oversized"), true, text)
	equal(t, strings.Contains(text, "yyy"), false)
}

func TestObjectsInvalid(t *testing.T) {
	s := start(t, 0, noPods(func(_ http.ResponseWriter, r *http.Request) { t.Error("asked: ", r.URL) }))
	many := strings.Split(strings.Repeat(secrets+"a ", mostObjects+1), " ")[:mostObjects+1]
	for _, query := range []string{
		objectsPath, objectsOf(many...), objectsPath + "?paths=%zz", objectsOf(secrets), objectsOf("/api/v1/namespaces/ns/pods/a/log"),
		objectsOf("/apis/apps/v1/namespaces/ns/deployments/a/status"), objectsOf(secrets + ".."), objectsOf(secrets + "../configmaps/a"),
		objectsOf("https://example.com" + secrets + "a"), objectsOf(secrets + "a?watch=1"), objectsOf(secrets + "%2e%2e"),
	} {
		response := s.request(context.Background(), http.MethodGet, query, nil)
		_ = response.Body.Close()
		equal(t, response.StatusCode, http.StatusBadRequest, query)
	}
	response := s.request(context.Background(), http.MethodPost, objectsOf(secrets+"a"), nil)
	_ = response.Body.Close()
	equal(t, response.StatusCode, http.StatusBadRequest)
}

func TestObjectsWithoutAPIServer(t *testing.T) {
	config := configOf(t, noPods(echo))
	config.Host = "https://127.0.0.1:1"
	s := startAt(t, 0, watchesYML, config)
	response := s.request(context.Background(), http.MethodGet, objectsOf(secrets+"a", secrets+"b"), nil)
	_ = response.Body.Close()
	equal(t, response.StatusCode, http.StatusServiceUnavailable)
}
