// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Package digest sums up what a reconcile would want to know of a status, so that a change of it can
// be seen without looking at the whole. Nothing in it changes on its own: no times, no measurements.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sort"
	"strings"
)

// Annotation tells the runtime of a change of status, which it would ignore otherwise. It exists only
// in what the runtime sees, not in the cluster.
const Annotation = "nimops.nim/status-digest"

const hexDigits = 16

var counts = []string{
	"replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "unavailableReplicas",
	"active", "succeeded", "failed",
}

// Of returns a short digest of summaries; empty if all of them are.
func Of(summaries ...string) string {
	text := strings.Join(summaries, "\n")
	if strings.Trim(text, "\n") == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:hexDigits]
}

// Status sums up the status of an object of a resource; empty if it says nothing.
//
// A HorizontalPodAutoscaler counts replicas and metrics all the time: only its conditions are taken.
func Status(status []byte, group, resource string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(status, &fields) != nil {
		return ""
	}
	lines := conditions(fields["conditions"])
	if group == "autoscaling" && resource == "horizontalpodautoscalers" {
		return strings.Join(lines, "\n")
	}
	for _, name := range counts {
		var count int64
		if json.Unmarshal(fields[name], &count) == nil && count != 0 {
			lines = append(lines, name+"="+string(fields[name]))
		}
	}
	for _, name := range []string{"phase", "url", "status"} {
		if text := text(fields[name]); text != "" {
			lines = append(lines, name+"="+text)
		}
	}
	lines = append(lines, addresses(fields["loadBalancer"])...)
	return strings.Join(lines, "\n")
}

// conditions are sorted: some controllers write them in another order each time.
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
