// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"nimops.nim/apiproxy/internal/digest"
	"nimops.nim/apiproxy/internal/rawjson"
)

const (
	firstBackOff   = time.Second
	longestBackOff = time.Minute
	// How long to do without pods when they may not be watched; the permission may come.
	forbiddenDelay = 10 * time.Minute
)

// workload is what a pod belongs to.
type workload struct{ group, resource, namespace, name string }

// Labels that name the workload of pods that it does not own itself.
const (
	groupLabel     = "leaderworkerset.sigs.k8s.io/name"
	inferenceLabel = "serving.kserve.io/inferenceservice"
	revisionLabel  = "pod-template-hash"
)

// workloadOf returns the workload that a pod belongs to.
func workloadOf(pod *digest.Pod) (workload, bool) {
	namespace := pod.Metadata.Namespace
	if name := pod.Metadata.Labels[groupLabel]; name != "" {
		return workload{"leaderworkerset.x-k8s.io", "leaderworkersets", namespace, name}, true
	}
	if name := pod.Metadata.Labels[inferenceLabel]; name != "" {
		return workload{"serving.kserve.io", "inferenceservices", namespace, name}, true
	}
	for _, owner := range pod.Metadata.OwnerReferences {
		if !owner.Controller {
			continue
		}
		switch owner.Kind {
		case "ReplicaSet":
			// A ReplicaSet is named after its Deployment and its revision.
			name, of := strings.CutSuffix(owner.Name, "-"+pod.Metadata.Labels[revisionLabel])
			return workload{"apps", "deployments", namespace, name}, of
		case "StatefulSet":
			return workload{"apps", "statefulsets", namespace, owner.Name}, true
		case "Job":
			return workload{"batch", "jobs", namespace, owner.Name}, true
		}
	}
	return workload{}, false
}

// faults are the pods that cannot serve, by their workload. Others are not kept.
type faults struct {
	// changed is told of a workload when the faults of its pods have changed.
	changed func(workload)

	mu   sync.Mutex
	pods map[string]workload
	of   map[workload]map[string]string
}

func newFaults(changed func(workload)) *faults {
	return &faults{changed: changed, pods: map[string]workload{}, of: map[workload]map[string]string{}}
}

// summary returns the faults of a workload's pods: each once, without saying of which pod.
func (f *faults) summary(of workload) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return summarize(f.of[of])
}

func summarize(pods map[string]string) string {
	if len(pods) == 0 {
		return ""
	}
	all := make([]string, 0, len(pods))
	for _, fault := range pods {
		all = append(all, fault)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "\n")
}

// see takes notice of a pod; isGone if it was deleted.
func (f *faults) see(pod *digest.Pod, isGone bool) {
	fault := ""
	of, known := workloadOf(pod)
	if known && !isGone {
		fault = digest.Fault(pod)
	}
	f.set(pod.Metadata.Namespace+"/"+pod.Metadata.Name, of, fault)
}

// set replaces the fault of a pod; none removes it.
func (f *faults) set(pod string, of workload, fault string) {
	f.mu.Lock()
	if before, known := f.pods[pod]; known && (fault == "" || before != of) {
		of = before
		fault = ""
	}
	before := summarize(f.of[of])
	if fault == "" {
		delete(f.pods, pod)
		delete(f.of[of], pod)
		if len(f.of[of]) == 0 {
			delete(f.of, of)
		}
	} else {
		f.pods[pod] = of
		if f.of[of] == nil {
			f.of[of] = map[string]string{}
		}
		f.of[of][pod] = fault
	}
	changed := summarize(f.of[of]) != before
	f.mu.Unlock()
	if changed {
		f.changed(of)
	}
}

// keep forgets pods that a list did not have.
func (f *faults) keep(namespace string, listed map[string]bool) {
	f.mu.Lock()
	var gone []string
	for pod := range f.pods {
		if !listed[pod] && (namespace == "" || strings.HasPrefix(pod, namespace+"/")) {
			gone = append(gone, pod)
		}
	}
	f.mu.Unlock()
	for _, pod := range gone {
		f.set(pod, workload{}, "")
	}
}

// podWatch follows the pods of a namespace; of all, if that is empty.
type podWatch struct {
	upstream  *Upstream
	namespace string
	selector  string
	faults    *faults
	say       func(string)
	forbidden bool
}

func (w *podWatch) run(ctx context.Context) {
	backOff := firstBackOff
	for ctx.Err() == nil {
		started := time.Now()
		err := w.listAndWatch(ctx)
		if time.Since(started) > longestBackOff {
			backOff = firstBackOff
		}
		wait := backOff + rand.N(backOff)
		backOff = min(2*backOff, longestBackOff)
		var status statusError
		if errors.As(err, &status) && status == http.StatusForbidden {
			wait = forbiddenDelay
			if !w.forbidden {
				w.forbidden = true
				w.say(fmt.Sprintf("pods may not be watched in %s: their faults are only seen by the next look at their workload",
					w.where()))
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

func (w *podWatch) where() string {
	if w.namespace == "" {
		return "all namespaces"
	}
	return "namespace " + w.namespace
}

func (w *podWatch) path() string {
	if w.namespace == "" {
		return "/api/v1/pods"
	}
	return "/api/v1/namespaces/" + url.PathEscape(w.namespace) + "/pods"
}

// listAndWatch lists once, then watches until that is no longer possible.
func (w *podWatch) listAndWatch(ctx context.Context) error {
	version, err := w.list(ctx)
	for err == nil && ctx.Err() == nil {
		started := time.Now()
		version, err = w.watch(ctx, version)
		if err == nil && time.Since(started) < firstBackOff {
			err = errors.New("the watch ended at once")
		}
	}
	return err
}

func (w *podWatch) list(ctx context.Context) (string, error) {
	body, err := w.upstream.open(ctx, w.path(), url.Values{
		"labelSelector": {w.selector}, "resourceVersion": {"0"},
	}.Encode())
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	listed := map[string]bool{}
	metadata, whole, err := rawjson.EditList(io.Discard, body, rawjson.ListEditor{
		Item: func(item []byte) []byte {
			var pod digest.Pod
			if json.Unmarshal(item, &pod) == nil {
				listed[pod.Metadata.Namespace+"/"+pod.Metadata.Name] = true
				w.faults.see(&pod, false)
			}
			return nil
		},
	})
	if err != nil || !whole {
		return "", errors.Join(err, errors.New("no list of pods"))
	}
	w.faults.keep(w.namespace, listed)
	return rawjson.Text(rawjson.Find(metadata, "resourceVersion")), nil
}

// watch returns where to go on when the API server ends the watch; an error if that is not possible.
func (w *podWatch) watch(ctx context.Context, version string) (string, error) {
	body, err := w.upstream.open(ctx, w.path(), url.Values{
		"labelSelector":       {w.selector},
		"resourceVersion":     {version},
		"watch":               {"true"},
		"allowWatchBookmarks": {"true"},
		"timeoutSeconds":      {fmt.Sprint(300 + rand.IntN(300))},
	}.Encode())
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	in := bufio.NewReaderSize(body, 16<<10)
	var line []byte
	for {
		line, err = readLine(in, line[:0])
		if errors.Is(err, io.EOF) {
			return version, nil
		}
		if err != nil {
			return "", err
		}
		found, ok := readEvent(line)
		if !ok {
			continue
		}
		if found.kind == "ERROR" {
			return "", errors.New("the watch cannot go on") // Most often, its version is too old.
		}
		if found.meta.resourceVersion != "" {
			version = found.meta.resourceVersion
		}
		var pod digest.Pod
		if found.kind != "BOOKMARK" && json.Unmarshal(found.object, &pod) == nil {
			w.faults.see(&pod, found.kind == "DELETED")
		}
	}
}
