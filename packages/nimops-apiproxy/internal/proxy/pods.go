// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"

	"nimops.nim/apiproxy/internal/digest"
)

// workload identifies the object that a pod belongs to.
type workload struct{ group, resource, namespace, name string }

// Labels of a pod that name its workload if that does not own the pod itself.
const (
	groupLabel     = "leaderworkerset.sigs.k8s.io/name"
	inferenceLabel = "serving.kserve.io/inferenceservice"
	revisionLabel  = "pod-template-hash"
)

// revisionLabels have the revision of a pod, as in pod_problems.py.
var revisionLabels = []string{
	revisionLabel, "leaderworkerset.sigs.k8s.io/template-revision-hash", "controller-revision-hash",
}

// revisionOf returns the revision of a pod; empty if it has none.
func revisionOf(pod *digest.Pod) string {
	for _, label := range revisionLabels {
		if revision := pod.Metadata.Labels[label]; revision != "" {
			return revision
		}
	}
	return ""
}

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

// revisionEnd separates the revision of a pod from its fault.
const revisionEnd = "\x00"

// faults holds the pods that cannot serve, by their workload.
type faults struct {
	// changed is called with a workload when the faults of its pods changed.
	changed func(workload)

	mu   sync.Mutex
	pods map[string]workload
	of   map[workload]map[string]string
}

func newFaults(changed func(workload)) *faults {
	return &faults{changed: changed, pods: map[string]workload{}, of: map[workload]map[string]string{}}
}

// summary returns the distinct faults of each revision of a workload's pods, without names and revisions.
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
	all = slices.Compact(all)
	for i, fault := range all {
		if _, text, has := strings.Cut(fault, revisionEnd); has {
			all[i] = text
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// observe records a pod; isGone if it was deleted.
func (f *faults) observe(pod *digest.Pod, isGone bool) {
	fault := ""
	of, known := workloadOf(pod)
	if known && !isGone {
		fault = digest.Fault(pod)
	}
	if fault != "" {
		// A message names the revision that a fault blocks, so the same fault of another revision counts.
		fault = revisionOf(pod) + revisionEnd + fault
	}
	f.set(pod.Metadata.Namespace+"/"+pod.Metadata.Name, of, fault)
}

// set replaces the fault of a pod; an empty one removes it.
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

// retain removes the pods that are missing from a list.
func (f *faults) retain(namespace string, listed map[string]bool) {
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

// followPods returns a follower of the pods of a namespace, or of all namespaces if it is empty.
func followPods(upstream *Upstream, namespace, selector string, faults *faults, log func(string)) *follower {
	path, where := "/api/v1/pods", "all namespaces"
	if namespace != "" {
		path, where = "/api/v1/namespaces/"+url.PathEscape(namespace)+"/pods", "namespace "+namespace
	}
	return &follower{
		upstream: upstream,
		path:     path,
		query:    url.Values{"labelSelector": {selector}},
		onObject: func(_ meta, object []byte, isGone bool) {
			var pod digest.Pod
			if json.Unmarshal(object, &pod) == nil {
				faults.observe(&pod, isGone)
			}
		},
		onList: func(listed map[string]bool) { faults.retain(namespace, listed) },
		onDenied: func() {
			log("pods may not be watched in " + where + ": their faults are noticed only at the next reconcile")
		},
	}
}
