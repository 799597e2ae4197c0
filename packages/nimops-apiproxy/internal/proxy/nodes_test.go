// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

const policies = "/apis/nvidia.com/v1/clusterpolicies"

// cluster is a simulated API server with nodes and policies.
type cluster struct {
	nodes, policies *streamer

	mu sync.Mutex
	// What a list of nodes has.
	listed string
	// By name of a policy.
	annotations map[string]string
	// Names of policies that were changed, in order.
	changed []string
	// What to answer instead, by method and path.
	refuse map[string]int
	asked  []*http.Request
}

func newCluster(policies ...string) *cluster {
	c := &cluster{nodes: newStreamer(), policies: newStreamer(), annotations: map[string]string{}, refuse: map[string]int{}}
	for _, name := range policies {
		c.annotations[name] = ""
	}
	return c
}

func gpuNode(name, more string) string {
	return fmt.Sprintf(`{"kind":"PartialObjectMetadata","metadata":{"name":%q,"resourceVersion":"5","labels":{"feature.node.kubernetes.io/pci-10de.present":"true"%s}}}`,
		name, more)
}

func (c *cluster) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/prefix")
	c.mu.Lock()
	c.asked = append(c.asked, r.Clone(context.Background()))
	code := c.refuse[r.Method+" "+path]
	listed := c.listed
	c.mu.Unlock()
	switch {
	case code != 0:
		w.WriteHeader(code)
	case path == nodesPath && r.URL.Query().Get("watch") != "":
		c.nodes.serve(w, r)
	case path == nodesPath:
		_, _ = io.WriteString(w, `{"metadata":{"resourceVersion":"1"},"items":[`+listed+`]}`)
	case path == policies && r.URL.Query().Get("watch") != "":
		c.policies.serve(w, r)
	case path == policies:
		_, _ = io.WriteString(w, `{"metadata":{"resourceVersion":"1"},"items":[`+c.items()+`]}`)
	case r.Method == http.MethodPatch && strings.HasPrefix(path, policies+"/"):
		c.patch(w, r, strings.TrimPrefix(path, policies+"/"))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (c *cluster) items() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var items []string
	for _, name := range slices.Sorted(maps.Keys(c.annotations)) {
		items = append(items, fmt.Sprintf(`{"metadata":{"name":%q,"annotations":{%q:%q}}}`, name, NodesAnnotation, c.annotations[name]))
	}
	return strings.Join(items, ",")
}

func (c *cluster) patch(w http.ResponseWriter, r *http.Request, name string) {
	var change struct {
		Metadata struct{ Annotations map[string]string }
	}
	text, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if json.Unmarshal(text, &change) != nil || len(change.Metadata.Annotations) != 1 || strings.Count(string(text), ":") != 3 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.annotations[name] = change.Metadata.Annotations[NodesAnnotation]
	c.changed = append(c.changed, name)
	_, _ = io.WriteString(w, `{}`)
}

func (c *cluster) changes() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.changed, " ")
}

func (c *cluster) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// notifyNodes starts a notifier for a cluster's nodes, with short times.
func notifyNodes(t *testing.T, c *cluster) chan string {
	t.Helper()
	upstream, err := NewUpstream(configOf(t, c.serve), "nimops-apiproxy/test")
	if err != nil {
		t.Fatal(err)
	}
	logged := make(chan string, 100)
	made := newNodeNotifier(upstream, []string{policies}, func(text string) { logged <- text })
	made.rest, made.settle, made.interval, made.retry = time.Millisecond, 50*time.Millisecond, 60*time.Millisecond, 100*time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { made.run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return logged
}

// startNotifier starts a notifier and waits until it has written to all policies and watches nodes and policies.
func startNotifier(t *testing.T, c *cluster) {
	t.Helper()
	all := strings.Join(slices.Sorted(maps.Keys(c.annotations)), " ")
	notifyNodes(t, c)
	eventually(t, "written at the start", func() bool { return c.changes() == all })
	c.nodes.query(t)
	c.policies.query(t)
}

// staysAt waits for a moment, and expects no further change.
func (c *cluster) staysAt(t *testing.T, want string) {
	t.Helper()
	time.Sleep(200 * time.Millisecond)
	equal(t, c.changes(), want)
}

func TestNodeNotifierRelevantChange(t *testing.T) {
	c := newCluster("a", "b")
	startNotifier(t, c)
	for number, event := range []string{
		`{"type":"ADDED","object":` + gpuNode("gpu", "") + `}`,
		`{"type":"MODIFIED","object":` + gpuNode("gpu", `,"nvidia.com/gpu.present":"true"`) + `}`,
		`{"type":"DELETED","object":` + gpuNode("gpu", "") + `}`,
	} {
		c.nodes.events <- event
		eventually(t, event, func() bool { return c.changes() == strings.Repeat("a b ", number+1)+"a b" })
	}
}

func TestNodeNotifierPeers(t *testing.T) {
	c := newCluster("a", "b")
	startNotifier(t, c)
	c.set(func() { delete(c.annotations, "a") })
	c.policies.events <- `{"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"5"}}}`
	eventually(t, "written to the other", func() bool { return c.changes() == "a b b" })
	c.set(func() { c.annotations["c"] = "" })
	c.policies.events <- `{"type":"ADDED","object":{"metadata":{"name":"c","resourceVersion":"6"}}}`
	eventually(t, "written to both", func() bool { return c.changes() == "a b b b c" })
	c.policies.events <- `{"type":"MODIFIED","object":{"metadata":{"name":"c","resourceVersion":"7","annotations":{"a":"b"}}}}`
	c.staysAt(t, "a b b b c")
}

func TestNodeNotifierRelist(t *testing.T) {
	const expired = `{"type":"ERROR","object":{"kind":"Status","code":410,"metadata":{}}}`
	policies, nodes := newCluster("a", "b"), newCluster("a")
	startNotifier(t, policies)
	policies.set(func() { delete(policies.annotations, "a") })
	policies.policies.events <- expired
	eventually(t, "written to the other policy", func() bool { return policies.changes() == "a b b" })
	nodes.listed = gpuNode("gpu", "")
	startNotifier(t, nodes)
	nodes.set(func() { nodes.listed = "" })
	nodes.nodes.events <- expired
	eventually(t, "written after the node disappeared", func() bool { return nodes.changes() == "a a" })
}

func TestNodeNotifierIrrelevantChange(t *testing.T) {
	c := newCluster("a")
	startNotifier(t, c)
	for _, event := range []string{
		`{"type":"ADDED","object":{"metadata":{"name":"cpu","resourceVersion":"2","labels":{"a":"b"}}}}`,
		`{"type":"MODIFIED","object":{"metadata":{"name":"cpu","resourceVersion":"3","labels":{"a":"c"}}}}`,
		`{"type":"DELETED","object":{"metadata":{"name":"cpu","resourceVersion":"4","labels":{"a":"c"}}}}`,
		`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}`,
		`not JSON`,
	} {
		c.nodes.events <- event
	}
	// A single policy has no peers.
	for _, kind := range []string{"MODIFIED", "DELETED", "ADDED"} {
		c.policies.events <- `{"type":"` + kind + `","object":{"metadata":{"name":"a","uid":"` + kind + `","resourceVersion":"5"}}}`
	}
	c.staysAt(t, "a")
}

func TestNodeNotifierSettles(t *testing.T) {
	c := newCluster("a")
	c.listed = gpuNode("gpu-0", "") + "," + gpuNode("gpu-1", "")
	startNotifier(t, c)
	for number := range 50 {
		c.nodes.events <- `{"type":"ADDED","object":` + gpuNode(fmt.Sprint("more-", number), "") + `}`
	}
	eventually(t, "written", func() bool { return c.changes() == "a a" })
	c.staysAt(t, "a a")
}

func TestFollowerRest(t *testing.T) {
	stream := newStreamer()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			_, _ = io.WriteString(w, `{"metadata":{"resourceVersion":"1"},"items":[]}`)
			return
		}
		stream.serve(w, r)
	}))
	defer server.Close()
	upstream, err := NewUpstream(&rest.Config{Host: server.URL}, "nimops-apiproxy/test")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan time.Time, 100)
	f := &follower{
		upstream: upstream, path: nodesPath, rest: 400 * time.Millisecond,
		onObject: func(meta, []byte, bool) { seen <- time.Now() },
		onList:   func(map[string]bool) {},
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { f.run(ctx); close(done) }()
	stream.query(t)
	time.Sleep(20 * time.Millisecond)
	began := time.Now()
	for range 10 {
		stream.events <- `{"type":"MODIFIED","object":` + gpuNode("a", "") + `}`
		time.Sleep(10 * time.Millisecond)
	}
	first, second := <-seen, <-seen
	for range 8 {
		<-seen
	}
	if first.Sub(began) > 200*time.Millisecond {
		t.Error("the first waited", first.Sub(began))
	}
	if wait := second.Sub(first); wait < 350*time.Millisecond {
		t.Error("no rest", wait)
	}
	if wait := time.Since(second); wait > 200*time.Millisecond {
		t.Error("not together", wait)
	}
	cancel()
	<-done
}

func TestNodeNotifierTwoReplicas(t *testing.T) {
	c := newCluster("a")
	c.listed = gpuNode("gpu", "")
	startNotifier(t, c)
	notifyNodes(t, c)
	c.nodes.query(t)
	c.staysAt(t, "a")
}

func TestNodeNotifierMetadataOnly(t *testing.T) {
	c := newCluster()
	notifyNodes(t, c)
	query := c.nodes.query(t)
	if !strings.Contains(query, "resourceVersion=1&") || !strings.Contains(query, "allowWatchBookmarks=true") {
		t.Error(query)
	}
	c.set(func() {
		for _, request := range c.asked {
			if !strings.Contains(request.Header.Get("Accept"), "as=PartialObjectMetadata") {
				t.Error(request.URL, request.Header)
			}
		}
	})
}

func TestNodeNotifierRetry(t *testing.T) {
	c := newCluster("a")
	c.refuse["PATCH "+policies+"/a"] = http.StatusForbidden
	logged := notifyNodes(t, c)
	want := "cannot update the annotation nimops.nim/nodes: " + policies + "/a: HTTP status 403"
	equal(t, <-logged, want)
	time.Sleep(300 * time.Millisecond)
	c.set(func() { clear(c.refuse) })
	eventually(t, "written", func() bool { return c.changes() == "a" })
	if len(logged) > 0 {
		t.Error(<-logged)
	}
}

func TestNodeNotifierNotFound(t *testing.T) {
	c := newCluster("a", "b")
	c.refuse["PATCH "+policies+"/a"] = http.StatusNotFound
	logged := notifyNodes(t, c)
	eventually(t, "written", func() bool { return c.changes() == "b" })
	c.set(func() { c.refuse["GET "+policies] = http.StatusNotFound })
	c.nodes.query(t)
	c.nodes.events <- `{"type":"ADDED","object":` + gpuNode("gpu", "") + `}`
	time.Sleep(200 * time.Millisecond)
	if len(logged) > 0 {
		t.Error(<-logged)
	}
}

func TestNodeNotifierForbidden(t *testing.T) {
	c := newCluster("a")
	c.refuse["GET "+nodesPath] = http.StatusForbidden
	logged := notifyNodes(t, c)
	if got := <-logged; !strings.HasPrefix(got, "nodes may not be watched") {
		t.Error(got)
	}
	equal(t, c.changes(), "")
}

func TestNodeListenerPathsNone(t *testing.T) {
	c := newCluster("a")
	s := start(t, 0, c.serve)
	time.Sleep(200 * time.Millisecond)
	c.set(func() {
		for _, request := range c.asked {
			if strings.HasSuffix(request.URL.Path, nodesPath) {
				t.Error(request.URL)
			}
		}
	})
	equal(t, len(nodeListenerPaths(s.proxy.options.Primaries)), 0)
}

func TestNodeListenerPathsDriver(t *testing.T) {
	s := startWith(t, 0, watchesYML+"- {group: nvidia.com, version: v1alpha1, kind: NVIDIADriver}\n", newCluster("a").serve)
	want := []string{"/apis/nvidia.com/v1alpha1/nvidiadrivers"}
	if got := nodeListenerPaths(s.proxy.options.Primaries); !slices.Equal(got, want) {
		t.Error(got)
	}
}

func TestProxyNodeNotifier(t *testing.T) {
	c := newCluster("a")
	startWith(t, 0, watchesYML+"- {group: nvidia.com, version: v1, kind: ClusterPolicy}\n", c.serve)
	eventually(t, "written", func() bool { return c.changes() == "a" })
}
