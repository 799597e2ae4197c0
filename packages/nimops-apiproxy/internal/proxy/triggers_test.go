// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nimops.nim/apiproxy/internal/digest"
)

const deployments = "/apis/apps/v1/deployments"

func deployment(ready int, labels string) string {
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"llm","namespace":"ns","uid":"u","resourceVersion":"7","labels":{%s}},"status":{"readyReplicas":%d}}`,
		labels, ready)
}

func pod(version int, reason string) string {
	return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"llm-7d9-x","namespace":"ns","resourceVersion":"%d","labels":{"pod-template-hash":"7d9"},`+
		`"ownerReferences":[{"kind":"ReplicaSet","name":"llm-7d9","controller":true}]},"status":{"containerStatuses":[{"name":"c","state":{"waiting":{"reason":%q}}}]}}`,
		version, reason)
}

const ours = `"app.kubernetes.io/managed-by":"k8s-nim-operator"`

// children is a simulated API server with a Deployment and its pods.
type children struct {
	deployments, pods *streamer
	labels, object    atomic.Value
	list              string
	podLists          atomic.Int32
}

func newChildren() *children {
	c := &children{deployments: newStreamer(), pods: newStreamer(), list: `{"items":[` + pod(1, "ContainerCreating") + `],"metadata":{"resourceVersion":"1"}}`}
	c.labels.Store(ours)
	return c
}

func (c *children) serve(w http.ResponseWriter, r *http.Request) {
	watch := r.URL.Query().Get("watch") != ""
	w.Header().Set("Content-Type", "application/json")
	switch path := strings.TrimPrefix(r.URL.Path, "/prefix"); {
	case path == deployments && watch:
		c.deployments.serve(w, r)
	case path == deployments:
		_, _ = io.WriteString(w, `{"items":[`+c.one()+`]}`)
	case path == "/api/v1/pods" && watch:
		c.pods.serve(w, r)
	case path == "/api/v1/pods":
		c.podLists.Add(1)
		_, _ = io.WriteString(w, c.list)
	default:
		_, _ = io.WriteString(w, c.one())
	}
}

// one is the Deployment of the simulated API server.
func (c *children) one() string {
	if object, is := c.object.Load().(string); is {
		return object
	}
	return deployment(1, c.labels.Load().(string))
}

func one(pods ...string) string {
	return digest.Sum("", "readyReplicas=1", strings.Join(pods, "\n"))
}

func TestAnnotateListAndWatch(t *testing.T) {
	api := newChildren()
	s := start(t, 0, noPods(api.serve))
	if got := s.get(deployments); !strings.Contains(got, `"nimops.nim/status-digest":"`+one()+`"`) {
		t.Error(got)
	}
	w := s.watch(deployments + "?watch=true")
	for line, want := range map[string]string{
		`{"type":"MODIFIED","object":` + deployment(1, ours) + `}`:              "MODIFIED llm " + one(),
		`{"type":"ADDED","object":{"metadata":{"name":"other"},"status":{}}}`:   "ADDED other",
		`{"type":"DELETED","object":` + deployment(1, ours) + `}`:               "DELETED llm",
		`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}`:     "BOOKMARK @9",
		`{"type":"ERROR","object":{"kind":"Status","code":410,"metadata":{}}}`:  "ERROR @",
		`{"type":"MODIFIED","object":{"metadata":[],"status":{"phase":"x"}}}`:   `{"type":"MODIFIED","object":{"metadata":[],"status":{"phase":"x"}}}`,
		`{"type":"MODIFIED","object":{"metadata":{"name":"a"},"status":["x"]}}`: "MODIFIED a",
		`not JSON`: "not JSON",
	} {
		api.deployments.events <- line
		equal(t, w.next(), want, line)
	}
	if got := s.get("/apis/apps/v1/deployments", "User-Agent", "x"); strings.Contains(got, "digest") {
		t.Error(got)
	}
}

func rollout(version int, status string) string {
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"llm","namespace":"ns","uid":"u","resourceVersion":"%d","generation":1,"labels":{%s},`+
		`"annotations":{"a":"b","deployment.kubernetes.io/revision":"1"},"managedFields":[{"manager":"k8s-nim-operator"},{"manager":"kcm","subresource":"status"}]},`+
		`"spec":{"replicas":2},"status":{"observedGeneration":1%s}}`, version, ours, status)
}

func TestTriggersRolloutProgress(t *testing.T) {
	api := newChildren()
	api.list = `{"items":[],"metadata":{"resourceVersion":"1"}}`
	s := start(t, 0, api.serve)
	s.proxy.triggers.mu.Lock()
	s.proxy.triggers.progressInterval = 300 * time.Millisecond
	s.proxy.triggers.mu.Unlock()
	w := s.watch(deployments + "?watch=true&allowWatchBookmarks=true&resourceVersion=3")
	send := func(object, want string) {
		t.Helper()
		api.deployments.events <- `{"type":"MODIFIED","object":` + object + `}`
		equal(t, w.next(), want)
	}
	const done = `,"replicas":2,"updatedReplicas":2,"availableReplicas":2`
	complete := "MODIFIED llm " + digest.Sum("complete=2", "replicas=2\navailableReplicas=2\nupdatedReplicas=2", "")
	send(rollout(4, ""), "MODIFIED llm")
	send(rollout(5, `,"replicas":1`), "MODIFIED llm")
	send(rollout(6, `,"replicas":2`), "MODIFIED llm")
	send(rollout(7, done), complete)
	w.quiet(400 * time.Millisecond)
	// An incomplete rollout is reported at once; then it continues and stays the same.
	send(rollout(8, `,"replicas":2`), "MODIFIED llm "+digest.Sum("", "replicas=2", ""))
	api.object.Store(rollout(9, `,"replicas":1`))
	send(rollout(9, `,"replicas":1`), "MODIFIED llm "+digest.Sum("", "replicas=2", ""))
	for _, want := range []string{"MODIFIED llm " + digest.Sum("", "replicas=1", ""), "BOOKMARK @9"} {
		equal(t, w.next(), want)
	}
	w.quiet(400 * time.Millisecond)
	// Deleted and recreated: it has no known progress.
	api.deployments.events <- `{"type":"DELETED","object":` + rollout(10, `,"replicas":1`) + `}`
	_ = w.next()
	send(rollout(11, `,"replicas":2`), "MODIFIED llm "+digest.Sum("", "replicas=2", ""))
	s.proxy.triggers.mu.Lock()
	defer s.proxy.triggers.mu.Unlock()
	if len(s.proxy.triggers.deferred) != 0 || len(s.proxy.triggers.reported) != 1 {
		t.Error(s.proxy.triggers.deferred, s.proxy.triggers.reported)
	}
}

// While the progress is read, it cannot be read or an event of the API server passes: it is reported later.
func TestTriggersRolloutProgressOvertaken(t *testing.T) {
	api := newChildren()
	api.list = `{"items":[],"metadata":{"resourceVersion":"1"}}`
	s := start(t, 0, api.serve)
	w := s.watch(deployments + "?watch=true&resourceVersion=3")
	known := "MODIFIED llm " + digest.Sum("", "replicas=2", "")
	send := func(version, replicas int) {
		api.deployments.events <- fmt.Sprintf(`{"type":"MODIFIED","object":%s}`, rollout(version, fmt.Sprintf(`,"replicas":%d`, replicas)))
	}
	var reads atomic.Int32
	passed := make(chan struct{})
	s.proxy.triggers.mu.Lock()
	s.proxy.triggers.progressInterval = 100 * time.Millisecond
	s.proxy.triggers.fetch = func(context.Context, string) ([]byte, error) {
		switch reads.Add(1) {
		case 1:
			return nil, io.ErrUnexpectedEOF
		case 2:
			send(6, 1)
			<-passed
		}
		return []byte(rollout(6, `,"replicas":1`)), nil
	}
	s.proxy.triggers.mu.Unlock()
	send(4, 2)
	send(5, 1)
	for range 3 {
		equal(t, w.next(), known)
	}
	close(passed)
	equal(t, w.next(), "MODIFIED llm "+digest.Sum("", "replicas=1", ""))
	equal(t, reads.Load(), 3)
	w.quiet(200 * time.Millisecond)
}

func TestAnnotateHidesStatusWrites(t *testing.T) {
	api := newChildren()
	s := start(t, 0, noPods(api.serve))
	api.object.Store(rollout(4, ""))
	got := s.get(deployments)
	if strings.Contains(got, "revision") || strings.Contains(got, "kcm") || !strings.Contains(got, `"managedFields":[{"manager":"k8s-nim-operator"}]`) ||
		!strings.Contains(got, `"annotations":{"a":"b"}`) {
		t.Error(got)
	}
}

func TestTriggersPodFault(t *testing.T) {
	api := newChildren()
	s := start(t, 0, api.serve)
	w := s.watch(deployments + "?watch=true&allowWatchBookmarks=true&resourceVersion=3")
	if query := api.pods.query(t); !strings.Contains(query, encoded) || !strings.Contains(query, "resourceVersion=1&") {
		t.Error(query)
	}
	expect := func(want ...string) {
		t.Helper()
		for _, text := range want {
			equal(t, w.next(), text)
		}
	}
	api.pods.events <- `{"type":"MODIFIED","object":` + pod(2, "ErrImagePull") + `}`
	expect("MODIFIED llm "+one("c: ErrImagePull"), "BOOKMARK @3")
	// Later events, and lists, agree.
	api.deployments.events <- `{"type":"MODIFIED","object":` + deployment(1, ours) + `}`
	expect("MODIFIED llm " + one("c: ErrImagePull"))
	if got := s.get(deployments); !strings.Contains(got, one("c: ErrImagePull")) {
		t.Error(got)
	}
	// An equivalent reason.
	api.pods.events <- `{"type":"MODIFIED","object":` + pod(3, "ImagePullBackOff") + `}`
	w.quiet(100 * time.Millisecond)
	// The next event waits for the interval, and reports the last state.
	begun := time.Now()
	s.proxy.triggers.mu.Lock()
	s.proxy.triggers.triggered[workload{"apps", "deployments", "ns", "llm"}] = begun
	s.proxy.triggers.mu.Unlock()
	api.pods.events <- `{"type":"MODIFIED","object":` + pod(4, "CreateContainerConfigError") + `}`
	api.pods.events <- `{"type":"MODIFIED","object":` + pod(5, "InvalidImageName") + `}`
	expect("MODIFIED llm "+one("c: InvalidImageName"), "BOOKMARK @7")
	api.pods.events <- `{"type":"DELETED","object":` + pod(6, "InvalidImageName") + `}`
	expect("MODIFIED llm "+one(), "BOOKMARK @7")
	if elapsed := time.Since(begun); elapsed < triggerInterval {
		t.Error("too frequent:", elapsed)
	}
	// It lacks our label, so its deletion would never be reported.
	api.labels.Store("")
	api.pods.events <- `{"type":"MODIFIED","object":` + pod(7, "InvalidImageName") + `}`
	w.quiet(triggerInterval + 200*time.Millisecond)
}

func TestFollowPodsRelist(t *testing.T) {
	api := newChildren()
	s := start(t, 0, api.serve)
	w := s.watch(deployments + "?watch=true")
	api.pods.query(t)
	api.pods.events <- `{"type":"MODIFIED","object":` + pod(2, "InvalidImageName") + `}`
	equal(t, w.next(), "MODIFIED llm "+one("c: InvalidImageName"))
	api.pods.events <- `{"type":"ERROR","object":{"kind":"Status","code":410}}`
	// The list does not have the fault.
	equal(t, w.next(), "MODIFIED llm "+one())
	if api.podLists.Load() != 2 {
		t.Error(api.podLists.Load(), "lists")
	}
}

func TestFollowPodsForbidden(t *testing.T) {
	s := start(t, 0, noPods(echo))
	select {
	case text := <-s.logged:
		if !strings.Contains(text, "pods may not be watched in all namespaces") {
			t.Error(text)
		}
	case <-time.After(patience):
		t.Error("no message")
	}
}

func TestWorkloadOf(t *testing.T) {
	for name, c := range map[string]struct {
		labels map[string]string
		owner  digest.Owner
		want   string
	}{
		"Deployment":       {map[string]string{revisionLabel: "5f"}, digest.Owner{Kind: "ReplicaSet", Name: "a-b-5f", Controller: true}, "{apps deployments ns a-b}"},
		"no revision":      {nil, digest.Owner{Kind: "ReplicaSet", Name: "a-b", Controller: true}, ""},
		"StatefulSet":      {nil, digest.Owner{Kind: "StatefulSet", Name: "a", Controller: true}, "{apps statefulsets ns a}"},
		"Job":              {nil, digest.Owner{Kind: "Job", Name: "a", Controller: true}, "{batch jobs ns a}"},
		"not its owner":    {nil, digest.Owner{Kind: "Job", Name: "a"}, ""},
		"group":            {map[string]string{groupLabel: "g"}, digest.Owner{Kind: "StatefulSet", Name: "g-0", Controller: true}, "{leaderworkerset.x-k8s.io leaderworkersets ns g}"},
		"InferenceService": {map[string]string{inferenceLabel: "i"}, digest.Owner{Kind: "ReplicaSet", Name: "x", Controller: true}, "{serving.kserve.io inferenceservices ns i}"},
	} {
		t.Run(name, func(t *testing.T) {
			var found digest.Pod
			found.Metadata.Namespace, found.Metadata.Labels = "ns", c.labels
			found.Metadata.OwnerReferences = []digest.Owner{c.owner}
			of, known := workloadOf(&found)
			if known != (c.want != "") || known && fmt.Sprint(of) != c.want {
				t.Error(of, known)
			}
		})
	}
}

func TestFaultsSet(t *testing.T) {
	var changed []string
	f := newFaults(func(of workload) { changed = append(changed, of.name) })
	a, b := workload{name: "a"}, workload{name: "b"}
	f.set("ns/1", a, "x")
	f.set("ns/2", a, "x") // The same reason: nothing new.
	f.set("ns/1", a, "")
	f.set("ns/2", b, "y") // No pod changes its owner, but a name may.
	f.set("ns/2", b, "y")
	f.set("other/3", b, "z")
	f.retain("ns", map[string]bool{})
	f.set("ns/4", workload{}, "")
	equal(t, strings.Join(changed, " "), "a a b b b")
	if len(f.pods) != 1 || f.summary(b) != "z" || f.summary(a) != "" || len(f.of) != 1 {
		t.Error(f.pods, f.of)
	}
}

func TestFaultsObserveRevisions(t *testing.T) {
	const group = "leaderworkerset.sigs.k8s.io/template-revision-hash"
	for name, c := range map[string]struct {
		pods []map[string]string
		want string
	}{
		"same revision":   {[]map[string]string{{group: "1", "controller-revision-hash": "a"}, {group: "1", "controller-revision-hash": "b"}}, "Lost"},
		"other revision":  {[]map[string]string{{group: "1"}, {group: "2"}}, "Lost\nLost"},
		"of StatefulSets": {[]map[string]string{{"controller-revision-hash": "1"}, {"controller-revision-hash": "2"}}, "Lost\nLost"},
		"of Deployments":  {[]map[string]string{{revisionLabel: "1"}, {revisionLabel: "2"}}, "Lost\nLost"},
		"no revision":     {[]map[string]string{{}, {}}, "Lost"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFaults(func(workload) {})
			for i, labels := range c.pods {
				labels[groupLabel] = "g"
				var found digest.Pod
				found.Metadata.Name, found.Metadata.Namespace, found.Metadata.Labels = fmt.Sprint(i), "ns", labels
				found.Status.Reason = "Lost"
				f.observe(&found, false)
			}
			equal(t, f.summary(workload{"leaderworkerset.x-k8s.io", "leaderworkersets", "ns", "g"}), c.want)
		})
	}
}
