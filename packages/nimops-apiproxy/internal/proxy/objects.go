// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"

	"nimops.nim/apiproxy/internal/request"
)

// objectsPath is the path of reads of several objects in one request: a pass over a NeMo service reads up to ten that
// the runtime must not cache, one over the GPU stack fifty that it cannot, and each request of its own takes milliseconds.
const objectsPath = "/nimops/objects"

// mostObjects limits the objects of one request.
const mostObjects = 32

// largestTogether limits each of them, because all are held in memory at the same time. A pass reads a larger one alone.
const largestTogether = 64 << 10

// readObject is the API server's answer for one object; Body is null if the answer is not JSON.
type readObject struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}

// serveObjects reads the objects that the parameter `paths` names, separated by commas, all at once, and answers in
// their order. Each read has the same permissions as a request of its own.
func (p *Proxy) serveObjects(w http.ResponseWriter, r *http.Request) {
	paths := strings.Split(r.URL.Query().Get("paths"), ",")
	if r.Method != http.MethodGet || len(paths) > mostObjects {
		answerError(w, http.StatusBadRequest, badRequest, fmt.Sprintf("nimops-apiproxy: a GET of at most %d paths is needed", mostObjects))
		return
	}
	for _, name := range paths {
		object, is := request.ParseObjectPath(name)
		if !is || object.IsStatus || path.Clean(name) != name || strings.ContainsAny(name, "%?#") {
			answerError(w, http.StatusBadRequest, badRequest, "nimops-apiproxy: not the path of an object: "+name)
			return
		}
	}
	found := make([]readObject, len(paths))
	failed := make([]error, len(paths))
	var running sync.WaitGroup
	for at, name := range paths {
		running.Go(func() { found[at], failed[at] = p.readObject(r, name) })
	}
	running.Wait()
	for _, err := range failed {
		if err != nil {
			p.fail(w, r, err)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"items": found})
}

// readObject reads one object on behalf of a request.
func (p *Proxy) readObject(r *http.Request, name string) (readObject, error) {
	target := p.options.Upstream.url.JoinPath(name).String()
	asked, err := http.NewRequestWithContext(r.Context(), http.MethodGet, target, nil)
	if err != nil {
		return readObject{}, err
	}
	asked.Header.Set("Accept", "application/json")
	asked.Header.Set("User-Agent", r.UserAgent())
	response, err := p.options.Upstream.transport.RoundTrip(asked)
	if err != nil {
		return readObject{}, err
	}
	defer func() { _ = response.Body.Close() }()
	p.warnings.note(response)
	body, err := io.ReadAll(io.LimitReader(response.Body, largestTogether+1))
	if err != nil {
		return readObject{}, err
	}
	if len(body) > largestTogether {
		return readObject{http.StatusRequestEntityTooLarge, []byte("null")}, nil
	}
	object, _ := request.ParseObjectPath(name)
	if response.StatusCode == http.StatusOK && p.options.Primaries.HasGroup(object.Collection.Group) {
		body = p.options.Limits.Reduce(body)
	}
	if !json.Valid(body) {
		body = []byte("null")
	}
	return readObject{response.StatusCode, body}, nil
}
