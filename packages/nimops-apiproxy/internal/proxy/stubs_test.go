// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nimops.nim/apiproxy/internal/rawjson"
	"nimops.nim/apiproxy/internal/request"
	"nimops.nim/apiproxy/internal/stub"
)

// largeService is a NIMService at rest that is too large, by size bytes of spec.
func largeService(name string, size int) string {
	text := service(name, 7, 1)
	return strings.TrimSuffix(text, "}") + `,"spec":{"env":["` + strings.Repeat("x", size) + `"]}}`
}

func isStub(text string) bool { return stub.Is([]byte(text)) }

// shape returns the names of the items, those of stubs in parentheses.
func shape(t *testing.T, list string) string {
	t.Helper()
	var found struct{ Items []json.RawMessage }
	if err := json.Unmarshal([]byte(list), &found); err != nil {
		t.Fatalf("%v: %s", err, list)
	}
	var all []string
	for _, item := range found.Items {
		name := readMeta(item).name
		if isStub(string(item)) {
			name = "(" + name + ")"
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

func listWith(next string, items ...string) string {
	list := listOf(next)
	return strings.Replace(list, `"items":[]`, `"items":[`+strings.Join(items, ",")+`]`, 1)
}

const viaRuntime = "X-Forwarded-For"

func TestListStubs(t *testing.T) {
	items := []string{service("new", 5, 2), largeService("large", 9000), service("new2", 5, 2)}
	for name, c := range map[string]struct {
		query   string
		spread  time.Duration
		headers []string
		want    string
	}{
		"the first of an informer": {first, time.Hour, nil, "new new2 (large)"},
		"without deferral":         {first, 0, nil, "new (large) new2"},
		"a later one":              {"?resourceVersion=5", time.Hour, nil, "new (large) new2"},
		"of a playbook":            {"", time.Hour, []string{"User-Agent", "Python", viaRuntime, "127.0.0.1"}, "new (large) new2"},
		"by a field":               {"?fieldSelector=metadata.name%21%3D-", time.Hour, []string{"User-Agent", "Python"}, "new (large) new2"},
		"by a label":               {"?labelSelector=a", time.Hour, nil, "new (large) new2"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, c.spread, noPods(newPrimary(listWith("", items...)).serve))
			list := s.get(services+c.query, c.headers...)
			equal(t, shape(t, list), c.want)
			if !strings.Contains(list, items[0]) || !strings.Contains(list, items[2]) {
				t.Error("a resource within the limits changed")
			}
		})
	}
}

func TestListPagesStubs(t *testing.T) {
	api := newPrimary(listWith("next", service("new", 5, 2), largeService("a", 9000)), listWith("", largeService("b", 9000), service("new2", 5, 2)))
	s := start(t, time.Hour, noPods(api.serve))
	equal(t, shape(t, s.get(services+first)), "new (a)")
	equal(t, shape(t, s.get(services+"?limit=500&continue=next")), "new2 (b)")
}

func TestDeferralStubs(t *testing.T) {
	items := make([]string, 0, len(six))
	api := newPrimary()
	for _, name := range six {
		items = append(items, largeService(name, 9000))
		api.set(name, 0, largeService(name, 9000))
	}
	api.lists = []string{listWith("", items...)}
	s := start(t, 300*time.Millisecond, noPods(api.serve))
	if got := shape(t, s.get(services+first)); got != "" {
		t.Fatal(got)
	}
	w := s.watch(services + "?watch=true&resourceVersion=100")
	for range six {
		if line := <-w.lines; !strings.HasPrefix(line, `{"type":"ADDED"`) || !strings.Contains(line, stub.Annotation) || len(line) > 2000 {
			t.Errorf("%.300s", line)
		}
	}
}

func TestWatchStubs(t *testing.T) {
	for name, headers := range map[string][]string{"the runtime": nil, "another client": {"User-Agent", "Python"}} {
		for _, spread := range []time.Duration{0, time.Hour} {
			t.Run(fmt.Sprint(name, spread), func(t *testing.T) {
				api := newPrimary(listOf(""))
				s := start(t, spread, noPods(api.serve))
				response := s.request(context.Background(), http.MethodGet, services+"?watch=true&resourceVersion=100", nil, headers...)
				defer response.Body.Close()
				in := json.NewDecoder(response.Body)
				for _, kind := range []string{"ADDED", "MODIFIED", "DELETED"} {
					for _, object := range []string{service("a", 8, 1), largeService("a", 9000)} {
						event := `{"type":"` + kind + `","object":` + object + `}`
						api.events <- event
						var seen json.RawMessage
						if err := in.Decode(&seen); err != nil {
							t.Fatal(err)
						}
						isLarge := len(object) > 4096
						if isLarge != isStub(string(rawjson.Find(seen, "object"))) || (!isLarge && string(seen) != event) || len(seen) > 2000 {
							t.Errorf("%.300s", seen)
						}
					}
				}
				all := func(request.Collection) bool { return true }
				if headers != nil && len(s.proxy.streams.where(all)) > 0 {
					t.Error("events could be added to a watch of a client that is not the runtime")
				}
			})
		}
	}
}

// TestWatchStubShortened shortens a resource, which is then whole again.
func TestWatchStubShortened(t *testing.T) {
	api := newPrimary(listOf(""))
	s := start(t, time.Hour, noPods(api.serve))
	w := s.watch(services + "?watch=true&resourceVersion=100")
	api.events <- `{"type":"MODIFIED","object":` + largeService("a", 9000) + `}`
	if line := <-w.lines; !strings.Contains(line, stub.Annotation) {
		t.Errorf("%.300s", line)
	}
	whole := `{"type":"MODIFIED","object":` + largeService("a", 10) + `}`
	api.events <- whole
	if line := <-w.lines; line != whole {
		t.Error(line)
	}
}

func TestGetStubs(t *testing.T) {
	api := newPrimary()
	api.set("large", 0, largeService("large", 9000))
	api.set("status", 0, largeService("status", 9000))
	api.set("small", 0, largeService("small", 10))
	s := start(t, time.Hour, noPods(api.serve))
	one := "/apis/apps.nvidia.com/v1alpha1/namespaces/ns/nimservices/"
	for _, headers := range [][]string{nil, {"User-Agent", "Python", viaRuntime, "127.0.0.1"}} {
		for _, name := range []string{"large", "status", "large/status"} {
			if got := s.get(one+name, headers...); name != "large/status" && !isStub(got) {
				t.Errorf("%s: %.300s", name, got)
			}
		}
		equal(t, s.get(one+"small", headers...), largeService("small", 10)+"\n")
	}
	// This client requests only the metadata, which is small.
	outline := s.get(one+"large", "Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json")
	if isStub(outline) {
		t.Error("metadata only")
	}
	response := s.request(context.Background(), http.MethodGet, one+"large", nil)
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.ContentLength != int64(len(text)) {
		t.Error(response.ContentLength, len(text))
	}
}

func TestGetOtherKinds(t *testing.T) {
	large := strings.Replace(largeService("a", 9000), "apps.nvidia.com/v1alpha1", "v1", 1)
	s := start(t, time.Hour, noPods(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, large)
	}))
	for _, path := range []string{"/api/v1/namespaces/ns/configmaps/a", "/apis/apps/v1/namespaces/ns/deployments/a"} {
		equal(t, s.get(path), large)
	}
}

// written is a request that reached the API server.
type written struct{ Method, URI, Type, Body string }

func writes(t *testing.T) (*setup, chan written) {
	t.Helper()
	came := make(chan written, 10)
	return start(t, time.Hour, noPods(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		came <- written{r.Method, r.RequestURI, r.Header.Get("Content-Type"), string(body)}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, largeService("a", 9000))
	})), came
}

func reducedService() []byte {
	return stub.Limits{Bytes: 100, Depth: 9}.Reduce([]byte(largeService("a", 9000)))
}

const object = "/apis/apps.nvidia.com/v1alpha1/namespaces/ns/nimservices/a"

// TestPutStub: the runtime writes whole objects to set finalizers, and its cache has stubs.
func TestPutStub(t *testing.T) {
	s, came := writes(t)
	given := strings.Replace(string(reducedService()), `["f"]`, `["f","g"]`, 1)
	patch := "application/merge-patch+json"
	for name, c := range map[string]struct {
		path, body string
		want       written
	}{
		"finalizers": {"?fieldManager=x", given, written{"PATCH", "/prefix" + object + "?fieldManager=x", patch,
			`{"metadata":{"uid":"uid-a","resourceVersion":"7","finalizers":["f","g"]}}`}},
		"status": {"/status", given, written{"PATCH", "/prefix" + object + "/status", patch,
			`{"metadata":{"uid":"uid-a","resourceVersion":"7"},"status":{"observedGeneration":1,"state":"Ready"}}`}},
		"a whole one": {"", service("a", 7, 1), written{"PUT", "/prefix" + object, "application/json", service("a", 7, 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			response := s.request(context.Background(), http.MethodPut, object+c.path, strings.NewReader(c.body), "Content-Type", "application/json")
			defer response.Body.Close()
			answer, _ := io.ReadAll(response.Body)
			if got := <-came; got != c.want {
				t.Errorf("%+v", got)
			}
			if response.StatusCode != http.StatusOK || !isStub(string(answer)) {
				t.Errorf("%d %.300s", response.StatusCode, answer)
			}
		})
	}
}

// TestPutStubUnknownLength: as kubectl sends it.
func TestPutStubUnknownLength(t *testing.T) {
	s, came := writes(t)
	reduced := reducedService()
	for _, body := range []string{string(reduced), largeService("a", 2<<20)} {
		response := s.request(context.Background(), http.MethodPut, object, io.MultiReader(strings.NewReader(body)))
		_ = response.Body.Close()
		got := <-came
		if isPatch := got.Method == http.MethodPatch; isPatch != (len(body) < 9000) || !isPatch && got.Body != body {
			t.Errorf("%s %d", got.Method, len(got.Body))
		}
	}
}

func TestPutStubOtherClient(t *testing.T) {
	s, came := writes(t)
	reduced := reducedService()
	response := s.request(context.Background(), http.MethodPut, object, bytes.NewReader(reduced), "User-Agent", "Python", viaRuntime, "127.0.0.1")
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusUnprocessableEntity || len(came) > 0 {
		t.Errorf("%d %s", response.StatusCode, text)
	}
}

// TestProxyMemory: twenty resources of 1.4 MB are listed, watched and read by name. Decoded, they take
// 700 MiB; the measurement includes the simulated API server.
func TestProxyMemory(t *testing.T) {
	var peak atomic.Uint64
	large := largeService("a", 1400000)
	list := listWith("", strings.Split(strings.Repeat(large+"\n", 19)+large, "\n")...)
	api := newPrimary(list)
	api.set("a", 0, large)
	s := start(t, 0, noPods(api.serve))
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(5 * time.Millisecond):
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				peak.Store(max(peak.Load(), now.HeapInuse-min(now.HeapInuse, before.HeapInuse)))
			}
		}
	}()
	w := s.watch(services + "?watch=true&resourceVersion=100")
	for range 3 {
		equal(t, strings.Count(shape(t, s.get(services+"?resourceVersion=1")), "(a)"), 20)
		for range 20 {
			api.events <- `{"type":"MODIFIED","object":` + large + `}`
			<-w.lines
			s.get(object)
		}
	}
	close(ended)
	if mebibytes := peak.Load() >> 20; mebibytes > 96 {
		t.Errorf("%d MiB", mebibytes)
	} else {
		t.Logf("%d MiB", mebibytes)
	}
}

func benchmarkList(b *testing.B, edit func([]byte) []byte) {
	items := make([]string, 2000)
	for i := range items {
		items[i] = largeService(fmt.Sprintf("name-%d", i), 0)
		env := make([]string, 100)
		for j := range env {
			env[j] = fmt.Sprintf(`{"name":"NAME_%d","value":"a value"}`, j)
		}
		items[i] = strings.Replace(items[i], `[""]`, "["+strings.Join(env, ",")+"]", 1)
	}
	list := listWith("", items...)
	b.SetBytes(int64(len(list)))
	b.ReportAllocs()
	for b.Loop() {
		if _, whole, err := rawjson.EditList(io.Discard, strings.NewReader(list), rawjson.ListEditor{Item: edit}); err != nil || !whole {
			b.Fatal(whole, err)
		}
	}
}

func BenchmarkEditList(b *testing.B) {
	b.Run("unchanged", func(b *testing.B) { benchmarkList(b, func(item []byte) []byte { return item }) })
	b.Run("reduce", func(b *testing.B) { benchmarkList(b, stub.Limits{Bytes: stub.MaxBytes, Depth: stub.MaxDepth}.Reduce) })
}
