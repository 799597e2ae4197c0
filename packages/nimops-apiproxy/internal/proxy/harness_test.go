// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"nimops.nim/apiproxy/internal/request"
	"nimops.nim/apiproxy/internal/stub"
	"nimops.nim/apiproxy/internal/watches"
)

const (
	token      = "the-token"
	credential = "upstream-credential"
	patience   = 5 * time.Second
	interval   = 200 * time.Millisecond
	selector   = "app.kubernetes.io/managed-by=k8s-nim-operator"
	encoded    = "labelSelector=app.kubernetes.io%2Fmanaged-by%3Dk8s-nim-operator"
	watchesYML = `
- {group: apps.nvidia.com, version: v1alpha1, kind: NIMService, finalizer: {name: f}}
- {group: apps.nvidia.com, version: v1alpha1, kind: NIMCache}
`
)

// setup is a proxy between a client and a simulated API server.
type setup struct {
	*testing.T
	proxy  *Proxy
	url    string
	client *http.Client
	logged chan string
}

// start runs a proxy in front of a handler. Pods are not watched unless the handler serves them.
func start(t *testing.T, spread time.Duration, upstream http.HandlerFunc) *setup {
	t.Helper()
	return startWith(t, spread, watchesYML, upstream)
}

// startWith has other kinds in watches.yaml.
func startWith(t *testing.T, spread time.Duration, kinds string, upstream http.HandlerFunc) *setup {
	t.Helper()
	return startAt(t, spread, kinds, configOf(t, upstream))
}

// configOf starts a simulated API server with a handler, and returns its configuration.
func configOf(t *testing.T, handler http.HandlerFunc) *rest.Config {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &rest.Config{Host: server.URL + "/prefix", BearerToken: credential, TLSClientConfig: rest.TLSClientConfig{CAData: authority}}
}

func startAt(t *testing.T, spread time.Duration, kinds string, config *rest.Config) *setup {
	t.Helper()
	upstream, err := NewUpstream(config, "nimops-apiproxy/test")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "watches.yaml")
	if err := os.WriteFile(file, []byte(kinds), 0o600); err != nil {
		t.Fatal(err)
	}
	primaries, err := watches.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	logged := make(chan string, 100)
	made, err := New(Options{
		Upstream: upstream, Token: token, Primaries: primaries, Selector: selector, Spread: spread, Interval: interval,
		Limits: stub.Limits{Bytes: 4 << 10, Depth: 16}, Runtime: request.Runtime{UserAgent: "ansible-operator"}, Log: func(text string) { logged <- text },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { made.Run(ctx); close(done) }()
	server := httptest.NewServer(made)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		cancel()
		<-done
	})
	return &setup{T: t, proxy: made, url: server.URL, client: server.Client(), logged: logged}
}

func (s *setup) request(ctx context.Context, method, path string, body io.Reader, headers ...string) *http.Response {
	s.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("User-Agent", "ansible-operator/v0.0.0 (linux/amd64) kubernetes/$Format")
	r.Header.Set("Accept", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	return response
}

// get returns the body of an answer.
func (s *setup) get(path string, headers ...string) string {
	s.Helper()
	response := s.request(context.Background(), http.MethodGet, path, nil, headers...)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}

// watching is an open watch.
type watching struct {
	*setup
	lines chan string
	stop  func()
}

func (s *setup) watch(path string) *watching {
	s.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.Cleanup(cancel)
	response := s.request(ctx, http.MethodGet, path, nil)
	w := &watching{s, make(chan string, 100), cancel}
	go func() {
		defer close(w.lines)
		defer response.Body.Close()
		in := bufio.NewScanner(response.Body)
		for in.Scan() {
			w.lines <- in.Text()
		}
	}()
	return w
}

// next returns the next event: its type, the object's name or else version, and its digest.
func (w *watching) next() string {
	w.Helper()
	select {
	case line, open := <-w.lines:
		if !open {
			return "end"
		}
		var found struct {
			Type   string
			Object struct {
				Metadata struct {
					Name, ResourceVersion string
					Annotations           map[string]string
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &found); err != nil {
			return line
		}
		name := found.Object.Metadata.Name
		if name == "" {
			name = "@" + found.Object.Metadata.ResourceVersion
		}
		return strings.TrimSpace(found.Type + " " + name + " " + found.Object.Metadata.Annotations["nimops.nim/status-digest"])
	case <-time.After(patience):
		w.Fatal("no event")
		return ""
	}
}

func (w *watching) quiet(during time.Duration) {
	w.Helper()
	select {
	case line := <-w.lines:
		w.Fatalf("unexpected: %s", line)
	case <-time.After(during):
	}
}

// streamer is a watch of the simulated API server.
type streamer struct {
	events chan string
	opened chan string
}

func newStreamer() *streamer {
	return &streamer{make(chan string, 100), make(chan string, 100)}
}

// serve sends events until there is an empty one.
func (s *streamer) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	s.opened <- r.URL.RawQuery
	for {
		select {
		case event := <-s.events:
			if event == "" {
				return
			}
			_, _ = io.WriteString(w, event+"\n")
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (s *streamer) query(t *testing.T) string {
	t.Helper()
	select {
	case query := <-s.opened:
		return query
	case <-time.After(patience):
		t.Fatal("no watch")
		return ""
	}
}

// service is a NIMService; at rest unless its generation is 2.
func service(name string, version, generation int) string {
	return fmt.Sprintf(`{"apiVersion":"apps.nvidia.com/v1alpha1","kind":"NIMService","metadata":{"name":%q,"namespace":"ns",`+
		`"uid":"uid-%s","resourceVersion":"%d","generation":%d,"finalizers":["f"]},"status":{"observedGeneration":1,"state":"Ready"}}`,
		name, name, version, generation)
}

func names(t *testing.T, list string) string {
	t.Helper()
	var found struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(list), &found); err != nil {
		t.Fatalf("%v: %s", err, list)
	}
	var all []string
	for _, item := range found.Items {
		all = append(all, item.Metadata.Name)
	}
	return strings.Join(all, " ")
}

// equal reports an unexpected value, with some context.
func equal[T comparable](t *testing.T, got, want T, context ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%.300v, not %.300v %.300v", got, want, context)
	}
}

func eventually(t *testing.T, event string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("never: %s", event)
}
