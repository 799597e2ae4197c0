// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Package digest summarizes the parts of a status that a reconcile depends on, so that a relevant change
// changes the digest. A digest contains no times and no measurements, which change on their own.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"nimops.nim/apiproxy/internal/rawjson"
)

// Annotation reports a change of status to the runtime, which ignores status changes. It exists only in
// the objects that the runtime receives, not in the cluster.
const Annotation = "nimops.nim/status-digest"

// hexDigits is the length of a digest.
const hexDigits = 16

// counts are the status fields with numbers of pods or nodes.
var counts = []string{
	"replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "unavailableReplicas",
	"active", "succeeded", "failed",
	"desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberUnavailable",
}

// Sum returns a short digest of summaries; empty if all of them are empty.
func Sum(summaries ...string) string {
	text := strings.Join(summaries, "\n")
	if strings.Trim(text, "\n") == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:hexDigits]
}

// Status summarizes the status of an object; the summaries of an irrelevant status are empty.
//
// A rollout passes through many states that its owner cannot act on. These are in progress; now contains
// only whether the rollout is complete or cannot complete. For other resources, everything is in now.
// A HorizontalPodAutoscaler updates its counts and metrics all the time, so only its conditions are used.
func Status(object []byte, group, resource string) (now, progress string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(rawjson.Find(object, "status"), &fields) != nil {
		return "", ""
	}
	lines := conditions(fields["conditions"])
	if group == "autoscaling" && resource == "horizontalpodautoscalers" {
		return strings.Join(lines, "\n"), ""
	}
	for _, name := range counts {
		if found := count(fields[name]); found != 0 {
			lines = append(lines, fmt.Sprintf("%s=%d", name, found))
		}
	}
	// An InferenceService counts its ready pods here.
	if found := count(rawjson.Find(object, "status", "modelStatus", "copies", "totalCopies")); found != 0 {
		lines = append(lines, fmt.Sprintf("copies=%d", found))
	}
	for _, name := range []string{"phase", "url", "status"} {
		if text := text(fields[name]); text != "" {
			lines = append(lines, name+"="+text)
		}
	}
	lines = append(lines, addresses(fields["loadBalancer"])...)
	lines = append(lines, parents(fields["parents"])...)
	switch {
	case group == "apps" && resource == "daemonsets":
		return spread(object, fields), strings.Join(lines, "\n")
	case HasProgress(group, resource):
		return rollout(object, fields), strings.Join(lines, "\n")
	}
	return strings.Join(lines, "\n"), ""
}

// HasProgress reports whether Status returns the progress of a resource.
func HasProgress(group, resource string) bool {
	return group == "apps" && (resource == "deployments" || resource == "daemonsets")
}

// rollout returns that a Deployment's rollout is complete, or why it cannot complete.
func rollout(object []byte, status map[string]json.RawMessage) string {
	var lines []string
	for _, line := range conditions(status["conditions"]) {
		if strings.HasPrefix(line, "ReplicaFailure ") || strings.HasPrefix(line, "Progressing False ") {
			lines = append(lines, line)
		}
	}
	wanted := int64(1)
	if given := rawjson.Find(object, "spec", "replicas"); given != nil {
		wanted = count(given)
	}
	if isObserved(object, status) && count(status["replicas"]) == wanted && count(status["updatedReplicas"]) == wanted &&
		count(status["availableReplicas"]) == wanted {
		lines = append(lines, fmt.Sprintf("complete=%d", wanted))
	}
	return strings.Join(lines, "\n")
}

// spread returns that a DaemonSet runs on all of its nodes, and on how many.
func spread(object []byte, status map[string]json.RawMessage) string {
	wanted := count(status["desiredNumberScheduled"])
	if isObserved(object, status) && count(status["updatedNumberScheduled"]) == wanted &&
		count(status["numberAvailable"]) == wanted && count(status["numberUnavailable"]) == 0 {
		return fmt.Sprintf("complete=%d", wanted)
	}
	return ""
}

// isObserved reports whether a status is that of the current spec.
func isObserved(object []byte, status map[string]json.RawMessage) bool {
	return count(status["observedGeneration"]) >= max(1, count(rawjson.Find(object, "metadata", "generation")))
}

func count(value json.RawMessage) int64 {
	var count int64
	if json.Unmarshal(value, &count) != nil {
		return 0
	}
	return count
}

// conditions returns the conditions, sorted because some controllers write them in another order each time.
func conditions(value json.RawMessage) []string {
	var items []map[string]json.RawMessage
	if json.Unmarshal(value, &items) != nil {
		return nil
	}
	lines := make([]string, 0, len(items))
	for _, item := range items {
		lines = append(lines, strings.Join([]string{text(item["type"]), text(item["status"]), text(item["reason"])}, " "))
	}
	sort.Strings(lines)
	return lines
}

// parents returns the conditions that each Gateway reports for a route or a pool.
func parents(value json.RawMessage) []string {
	var items []struct {
		ParentRef  struct{ Namespace, Name, SectionName string }
		Conditions json.RawMessage
	}
	if json.Unmarshal(value, &items) != nil {
		return nil
	}
	var lines []string
	for _, item := range items {
		of := item.ParentRef
		for _, line := range conditions(item.Conditions) {
			lines = append(lines, fmt.Sprintf("parent=%s/%s/%s %s", of.Namespace, of.Name, of.SectionName, line))
		}
	}
	sort.Strings(lines)
	return lines
}

func addresses(value json.RawMessage) []string {
	var balancer struct {
		Ingress []struct{ IP, Hostname string }
	}
	if json.Unmarshal(value, &balancer) != nil {
		return nil
	}
	lines := make([]string, 0, len(balancer.Ingress))
	for _, address := range balancer.Ingress {
		lines = append(lines, "address="+address.IP+" "+address.Hostname)
	}
	sort.Strings(lines)
	return lines
}

func text(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return ""
	}
	return text
}
