// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"encoding/json"
	"testing"
)

func TestStatus(t *testing.T) {
	const hpa = "horizontalpodautoscalers"
	for name, c := range map[string]struct{ group, resource, status, want string }{
		"nothing":          {"", "services", ``, ""},
		"empty":            {"", "services", `{}`, ""},
		"only routine":     {"apps", "statefulsets", `{"observedGeneration":3,"collisionCount":0}`, ""},
		"counts":           {"apps", "statefulsets", `{"replicas":2,"readyReplicas":1,"availableReplicas":0}`, "replicas=2\nreadyReplicas=1"},
		"an odd count":     {"apps", "statefulsets", `{"replicas":"2","readyReplicas":1}`, "readyReplicas=1"},
		"conditions":       {"x", "y", `{"conditions":[{"type":"B","status":"True","reason":"R","lastTransitionTime":"t","message":"m"},{"type":"A","status":"False"}]}`, "A False \nB True R"},
		"odd conditions":   {"x", "y", `{"conditions":{"a":1},"phase":"Bound"}`, "phase=Bound"},
		"a claim":          {"", "persistentvolumeclaims", `{"phase":"Bound","capacity":{"storage":"1Gi"}}`, "phase=Bound"},
		"an address":       {"", "services", `{"loadBalancer":{"ingress":[{"hostname":"b"},{"ip":"1.2.3.4"}]}}`, "address= b\naddress=1.2.3.4 "},
		"InferenceService": {"serving.kserve.io", "inferenceservices", `{"url":"http://a","modelStatus":{}}`, "url=http://a"},
		"copies":           {"serving.kserve.io", "inferenceservices", `{"modelStatus":{"copies":{"failedCopies":1,"totalCopies":2}}}`, "copies=2"},
		"ComputeDomain":    {"resource.nvidia.com", "computedomains", `{"status":"Ready","nodes":[]}`, "status=Ready"},
		"a Job":            {"batch", "jobs", `{"active":1,"ready":1,"startTime":"t","failed":1}`, "active=1\nfailed=1"},
		"an autoscaler":    {"autoscaling", hpa, `{"currentReplicas":3,"replicas":3,"conditions":[{"type":"A","status":"True","reason":"R"}]}`, "A True R"},
		"a route": {"gateway.networking.k8s.io", "httproutes", `{"parents":[{"parentRef":{"name":"g","namespace":"n"},"controllerName":"c",` +
			`"conditions":[{"type":"ResolvedRefs","status":"False","reason":"InvalidKind","message":"m"},{"type":"Accepted","status":"True","reason":"Accepted"}]}]}`,
			"parent=n/g/ Accepted True Accepted\nparent=n/g/ ResolvedRefs False InvalidKind"},
		"odd parents":       {"gateway.networking.k8s.io", "httproutes", `{"parents":{"a":1}}`, ""},
		"status as a word":  {"x", "y", `"Ready"`, ""},
		"status as a null":  {"x", "y", `null`, ""},
		"status in an odd.": {"x", "y", `{"status":{"a":1},"url":5}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			object := `{"metadata":{}}`
			if c.status != "" {
				object = `{"metadata":{},"status":` + c.status + `}`
			}
			if got, progress := Status([]byte(object), c.group, c.resource); got != c.want || progress != "" {
				t.Errorf("%q and %q, not %q", got, progress, c.want)
			}
		})
	}
}

func TestStatusRollout(t *testing.T) {
	const counts = `"replicas":2,"updatedReplicas":2,"availableReplicas":2`
	const counted = "replicas=2\navailableReplicas=2\nupdatedReplicas=2"
	for name, c := range map[string]struct{ metadata, spec, status, now, progress string }{
		"new":         {`{"generation":1}`, `{"replicas":2}`, `{}`, "", ""},
		"pods start":  {`{"generation":1}`, `{"replicas":2}`, `{"observedGeneration":1,"replicas":2,"conditions":[{"type":"Available","status":"False","reason":"Min"}]}`, "", "Available False Min\nreplicas=2"},
		"complete":    {`{"generation":1}`, `{"replicas":2}`, `{"observedGeneration":1,` + counts + `}`, "complete=2", counted},
		"outdated":    {`{"generation":2}`, `{"replicas":2}`, `{"observedGeneration":1,` + counts + `}`, "", counted},
		"old pods":    {`{"generation":2}`, `{"replicas":1}`, `{"observedGeneration":2,"replicas":2,"updatedReplicas":1,"availableReplicas":1}`, "", "replicas=2\navailableReplicas=1\nupdatedReplicas=1"},
		"default":     {`{}`, `{}`, `{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"availableReplicas":1}`, "complete=1", "replicas=1\navailableReplicas=1\nupdatedReplicas=1"},
		"scaled down": {`{"generation":3}`, `{"replicas":0}`, `{"observedGeneration":3}`, "complete=0", ""},
		"too late":    {`{"generation":1}`, `{"replicas":2}`, `{"observedGeneration":1,"conditions":[{"type":"Progressing","status":"False","reason":"Deadline"}]}`, "Progressing False Deadline", "Progressing False Deadline"},
		"no quota":    {`{"generation":1}`, `{"replicas":2}`, `{"conditions":[{"type":"ReplicaFailure","status":"True","reason":"F"}]}`, "ReplicaFailure True F", "ReplicaFailure True F"},
		"odd":         {`{"generation":"1"}`, `{"replicas":[]}`, `{"observedGeneration":{}}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			object := `{"metadata":` + c.metadata + `,"spec":` + c.spec + `,"status":` + c.status + `}`
			if now, progress := Status([]byte(object), "apps", "deployments"); now != c.now || progress != c.progress {
				t.Errorf("%q and %q", now, progress)
			}
		})
	}
}

func TestStatusDaemonSet(t *testing.T) {
	const counts = `"desiredNumberScheduled":3,"updatedNumberScheduled":3,"numberAvailable":3`
	const counted = "desiredNumberScheduled=3\nupdatedNumberScheduled=3\nnumberAvailable=3"
	for name, c := range map[string]struct{ generation, status, now, progress string }{
		"new":         {`1`, `{}`, "", ""},
		"no nodes":    {`1`, `{"observedGeneration":1}`, "complete=0", ""},
		"complete":    {`1`, `{"observedGeneration":1,` + counts + `,"numberReady":3}`, "complete=3", counted},
		"outdated":    {`2`, `{"observedGeneration":1,` + counts + `}`, "", counted},
		"pods start":  {`1`, `{"observedGeneration":1,"desiredNumberScheduled":3,"updatedNumberScheduled":3,"numberUnavailable":3}`, "", "desiredNumberScheduled=3\nupdatedNumberScheduled=3\nnumberUnavailable=3"},
		"old pods":    {`2`, `{"observedGeneration":2,"desiredNumberScheduled":3,"numberAvailable":3}`, "", "desiredNumberScheduled=3\nnumberAvailable=3"},
		"unavailable": {`1`, `{"observedGeneration":1,` + counts + `,"numberUnavailable":1}`, "", counted + "\nnumberUnavailable=1"},
	} {
		t.Run(name, func(t *testing.T) {
			object := `{"metadata":{"generation":` + c.generation + `},"status":` + c.status + `}`
			if now, progress := Status([]byte(object), "apps", "daemonsets"); now != c.now || progress != c.progress {
				t.Errorf("%q and %q", now, progress)
			}
		})
	}
}

func TestSum(t *testing.T) {
	if Sum() != "" || Sum("", "") != "" {
		t.Error("a digest of nothing")
	}
	if a, b := Sum("a", ""), Sum("", "a"); a == b || len(a) != hexDigits || a != Sum("a", "") {
		t.Error(a, b)
	}
}

func TestFault(t *testing.T) {
	for name, c := range map[string]struct{ status, want string }{
		"serves":           {`{"phase":"Running","containerStatuses":[{"name":"c","ready":true,"restartCount":3,"state":{"running":{}},"lastState":{"terminated":{"reason":"Error","exitCode":1}}}]}`, ""},
		"new":              {`{"phase":"Pending"}`, ""},
		"starting":         {`{"containerStatuses":[{"name":"c","state":{"waiting":{"reason":"ContainerCreating"}}}]}`, ""},
		"loading":          {`{"containerStatuses":[{"name":"c","state":{"running":{}}}]}`, ""},
		"no node":          {`{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3 nodes"}]}`, "Unschedulable"},
		"a node":           {`{"conditions":[{"type":"PodScheduled","status":"True"}]}`, ""},
		"evicted":          {`{"reason":"Evicted","phase":"Failed"}`, "Evicted"},
		"pulling":          {`{"containerStatuses":[{"name":"c","state":{"waiting":{"reason":"ImagePullBackOff"}}}]}`, "c: ErrImagePull"},
		"pulling again":    {`{"containerStatuses":[{"name":"c","state":{"waiting":{"reason":"ErrImagePull"}}}]}`, "c: ErrImagePull"},
		"configuration":    {`{"initContainerStatuses":[{"name":"i","state":{"waiting":{"reason":"CreateContainerConfigError"}}}]}`, "i: CreateContainerConfigError"},
		"crashed":          {`{"containerStatuses":[{"name":"c","restartCount":1,"state":{"terminated":{"reason":"Error","exitCode":2}}}]}`, "c: Error 2 2"},
		"waits to restart": {`{"containerStatuses":[{"name":"c","restartCount":1,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"reason":"Error","exitCode":2}}}]}`, "c: Error 2 2"},
		"runs again":       {`{"containerStatuses":[{"name":"c","restartCount":2,"state":{"running":{}},"lastState":{"terminated":{"reason":"Error","exitCode":2}}}]}`, "c: Error 2 2"},
		"crashed often":    {`{"containerStatuses":[{"name":"c","restartCount":70,"state":{"terminated":{"reason":"OOMKilled","exitCode":137}}}]}`, "c: OOMKilled 137 6"},
		"no last state":    {`{"containerStatuses":[{"name":"c","restartCount":1,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}`, "c: CrashLoopBackOff"},
		"done":             {`{"phase":"Succeeded","containerStatuses":[{"name":"c","state":{"terminated":{"reason":"Completed","exitCode":0}}}]}`, ""},
		"two containers":   {`{"containerStatuses":[{"name":"a","state":{"waiting":{"reason":"X"}}},{"name":"b","state":{"waiting":{"reason":"Y"}}}]}`, "a: X, b: Y"},
		"a finished init":  {`{"initContainerStatuses":[{"name":"i","ready":true,"state":{"terminated":{"reason":"Completed","exitCode":0}}}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var pod Pod
			if err := json.Unmarshal([]byte(`{"metadata":{"name":"x"},"status":`+c.status+`}`), &pod); err != nil {
				t.Fatal(err)
			}
			if got := Fault(&pod); got != c.want {
				t.Errorf("%q, not %q", got, c.want)
			}
			pod.Metadata.DeletionTimestamp = "t"
			if got := Fault(&pod); got != "" {
				t.Errorf("being deleted: %q", got)
			}
		})
	}
}
