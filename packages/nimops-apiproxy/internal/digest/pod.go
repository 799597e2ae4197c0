// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Pod has the fields of a pod that a digest depends on.
type Pod struct {
	Metadata struct {
		Name              string            `json:"name"`
		Namespace         string            `json:"namespace"`
		ResourceVersion   string            `json:"resourceVersion"`
		DeletionTimestamp string            `json:"deletionTimestamp"`
		Labels            map[string]string `json:"labels"`
		OwnerReferences   []Owner           `json:"ownerReferences"`
	} `json:"metadata"`
	Status struct {
		Phase                 string      `json:"phase"`
		Reason                string      `json:"reason"`
		Conditions            []condition `json:"conditions"`
		InitContainerStatuses []container `json:"initContainerStatuses"`
		ContainerStatuses     []container `json:"containerStatuses"`
	} `json:"status"`
}

// Owner is an owner reference.
type Owner struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

type condition struct{ Type, Status, Reason string }

type container struct {
	Name         string `json:"name"`
	Ready        bool   `json:"ready"`
	RestartCount int    `json:"restartCount"`
	State        state  `json:"state"`
	LastState    state  `json:"lastState"`
}

type state struct {
	Waiting    *struct{ Reason string } `json:"waiting"`
	Terminated *ended                   `json:"terminated"`
	Running    *json.RawMessage         `json:"running"`
}

type ended struct {
	Reason   string `json:"reason"`
	ExitCode int    `json:"exitCode"`
}

// mostRestarts is the highest number of restarts that a fault distinguishes, as in pod_problems.py.
const mostRestarts = 5

var (
	starting   = []string{"", "ContainerCreating", "PodInitializing"}
	restarting = append([]string{"CrashLoopBackOff", "RunContainerError"}, starting...)
	pulling    = []string{"ErrImagePull", "ImagePullBackOff"}
)

// Fault returns why a pod does not serve; empty if it serves or is still starting. It stays the same before,
// during and after a restart or a pull, like the collection's status messages.
func Fault(pod *Pod) string {
	if pod.Metadata.DeletionTimestamp != "" || pod.Status.Phase == "Succeeded" {
		return ""
	}
	if pod.Status.Reason != "" {
		return pod.Status.Reason
	}
	var faults []string
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if why := why(container); why != "" {
			faults = append(faults, container.Name+": "+why)
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == "PodScheduled" && condition.Status == "False" {
			faults = append(faults, condition.Reason)
		}
	}
	return strings.Join(faults, ", ")
}

func why(container container) string {
	if container.Ready {
		return ""
	}
	reason := ""
	if container.State.Waiting != nil {
		reason = container.State.Waiting.Reason
	}
	last := container.State.Terminated
	if last == nil {
		last = container.LastState.Terminated
	}
	if last != nil && slices.Contains(restarting, reason) {
		count := container.RestartCount
		if container.State.Running == nil {
			count++
		}
		return last.Reason + " " + strconv.Itoa(last.ExitCode) + " " + strconv.Itoa(min(count, mostRestarts+1))
	}
	switch {
	case slices.Contains(starting, reason):
		return ""
	case slices.Contains(pulling, reason):
		return pulling[0]
	}
	return reason
}
