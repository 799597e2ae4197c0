// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// family is a metric with its help text.
type family struct{ name, kind, help string }

// resourceFamilies are the metrics of a single resource. Their order is that of resource.text.
var resourceFamilies = []family{
	{"nimops_resource_info", "gauge", "A custom resource, with its model, image, platform and the operator's version."},
	{"nimops_resource_state", "gauge", "1 for the current state of a custom resource, 0 for the others."},
	{"nimops_resource_condition", "gauge", "1 for the current status and reason of each condition of a custom resource."},
	{"nimops_resource_state_since_seconds", "gauge", "Unix time of the last transition of a custom resource's conditions."},
	{"nimops_replicas", "gauge", "Replicas of a custom resource's workload."},
	{"nimops_gpus", "gauge", "GPUs of a custom resource's pods, by extended resource or device class, and by the product of their node selector."},
	{"nimops_cache_profiles", "gauge", "Model profiles of a NIMCache."},
	{"nimops_cache_bytes", "gauge", "Bytes of a NIMCache's download that is in progress."},
}

const timeToReady = "nimops_time_to_ready_seconds"

// states are the states of each kind; a resource in another state has that one as well.
var states = map[string][]string{
	"NIMService":  {"Failed", "NotReady", "Pending", "Ready", unknown},
	"NIMCache":    {"Failed", "InProgress", "NotReady", "PVC-Created", "Pending", "Ready", "Started", unknown},
	"NIMPipeline": {"Failed", "NotReady", "Ready", unknown},
	"NIMBuild":    {"Failed", "InProgress", "NotReady", "PVC-Created", "Pending", "Ready", "Started", unknown},
	// The states of ClusterPolicies and NVIDIADrivers begin with a small letter.
	"ClusterPolicy": {unknown, "ignored", "notReady", "ready"},
	"NVIDIADriver":  {unknown, "disabled", "ignored", "notReady", "ready"},
}

var otherStates = []string{"Failed", "NotReady", "Ready", unknown}

// reference has the gauges of NVIDIA's NIM Operator, by kind, with the states that always have a series.
var reference = []struct{ name, kind string }{
	{"nimCache_status_total", "NIMCache"}, {"nimPipeline_status_total", "NIMPipeline"}, {"nimService_status_total", "NIMService"},
}

// Write writes all metrics in Prometheus' text format. A reader that is slow delays no list or watch of the runtime.
func (f *Fleet) Write(to io.Writer) error {
	for _, text := range f.collect() {
		if _, err := io.WriteString(to, text); err != nil {
			return err
		}
	}
	return nil
}

// collect returns the texts of all metrics, in order.
func (f *Fleet) collect() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	devices := f.workloadsByOwner()
	for uid, held := range f.resources {
		if held.text == nil {
			held.text = render(held.facts, devices[uid])
		}
	}
	sorted := slices.SortedFunc(maps.Values(f.resources), func(a, b *resource) int {
		return cmp.Or(
			strings.Compare(a.facts.kind, b.facts.kind), strings.Compare(a.facts.namespace, b.facts.namespace),
			strings.Compare(a.facts.name, b.facts.name),
		)
	})
	out := &writer{}
	for at, of := range resourceFamilies {
		out.head(of)
		for _, held := range sorted {
			out.text(held.text[at])
		}
	}
	f.writeDurations(out)
	f.writeReference(out)
	f.writeDrivers(out)
	return out.parts
}

func (f *Fleet) workloadsByOwner() map[string][]counts {
	found := map[string][]counts{}
	for _, item := range f.workloads {
		found[item.owner] = append(found[item.owner], item.counts)
	}
	return found
}

func (f *Fleet) writeDurations(out *writer) {
	out.head(family{timeToReady, "histogram", "Time from the creation of a custom resource until it is Ready for the first time."})
	for _, kind := range slices.Sorted(maps.Keys(f.durations)) {
		out.text(f.durations[kind].render(timeToReady, label("kind", kind)))
	}
}

// writeReference writes the gauges of NVIDIA's NIM Operator. They have no type, because the names of gauges should not end
// with _total.
func (f *Fleet) writeReference(out *writer) {
	for _, of := range reference {
		if !f.serves(of.kind) {
			continue
		}
		found := map[string]int{"all": 0}
		for _, state := range states[of.kind] {
			found[state] = 0
		}
		for _, held := range f.resources {
			if held.facts.kind == of.kind {
				found["all"]++
				found[held.facts.state]++
			}
		}
		out.head(family{of.name, "untyped", "Number of " + of.kind + "s by state, as NVIDIA's NIM Operator reports it."})
		for _, state := range slices.Sorted(maps.Keys(found)) {
			out.text(of.name + "{" + label("status", state) + "} " + strconv.Itoa(found[state]) + "\n")
		}
	}
}

// writeDrivers writes the gauges of NVIDIA's GPU Operator that follow from ClusterPolicies.
func (f *Fleet) writeDrivers(out *writer) {
	if !f.serves("ClusterPolicy") {
		return
	}
	status, upgrades, toolkit := -1, 0, 0
	for _, held := range f.resources {
		if of := held.facts; of.kind == "ClusterPolicy" && of.state != "ignored" {
			status = number(of.state == "ready")
			upgrades, toolkit = number(of.upgradesDriver), -number(of.requestsToolkit)
		}
	}
	out.gauge("gpu_operator_reconciliation_status", "1 if the ClusterPolicy is ready, 0 if not, -1 if there is none.", status)
	out.gauge("gpu_operator_driver_auto_upgrade_enabled", "1 if the ClusterPolicy upgrades drivers automatically.", upgrades)
	out.gauge("gpu_operator_openshift_driver_toolkit_enabled", "-1 if the ClusterPolicy requests OpenShift's Driver Toolkit, which this operator does not use, 0 if not.", toolkit)
}

// Has reports whether the runtime listed a kind.
func (f *Fleet) Has(kind string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.serves(kind)
}

func (f *Fleet) serves(kind string) bool {
	for of := range f.lists {
		if resourceNames[kind] == of.Resource {
			return true
		}
	}
	return false
}

var resourceNames = map[string]string{
	"NIMCache": "nimcaches", "NIMPipeline": "nimpipelines", "NIMService": "nimservices", "ClusterPolicy": "clusterpolicies",
}

// render returns the metrics of a resource, by family.
func render(of facts, workloads []counts) []string {
	named := label("namespace", of.namespace) + "," + label("name", of.name)
	base := label("kind", of.kind) + "," + named
	replicas, gpus := sum(of, workloads)
	return []string{
		line("nimops_resource_info", 1, base, label("model", of.model), label("image", of.image), label("platform", of.platform),
			label("operator_version", of.operatorVersion)),
		stateLines(of, base),
		conditionLines(of, base),
		line("nimops_resource_state_since_seconds", of.since.Unix(), base),
		replicaLines(replicas, base),
		gpuLines(gpus, base),
		profileLines(of.profiles, named),
		byteLines(of.bytes, named),
	}
}

func stateLines(of facts, base string) string {
	known, is := states[of.kind]
	if !is {
		known = otherStates
	}
	if !slices.Contains(known, of.state) {
		known = append(slices.Clone(known), of.state)
	}
	var text strings.Builder
	for _, state := range known {
		text.WriteString(line("nimops_resource_state", int64(number(state == of.state)), base, label("state", state)))
	}
	return text.String()
}

func conditionLines(of facts, base string) string {
	var text strings.Builder
	seen := map[string]bool{}
	for _, item := range of.conditions {
		if !seen[item.kind] { // Two series with the same labels would make a scrape fail.
			seen[item.kind] = true
			text.WriteString(line("nimops_resource_condition", 1, base, label("type", item.kind), label("status", item.status),
				label("reason", item.reason)))
		}
	}
	return text.String()
}

func replicaLines(replicas map[string]int64, base string) string {
	var text strings.Builder
	for _, of := range slices.Sorted(maps.Keys(replicas)) {
		text.WriteString(line("nimops_replicas", replicas[of], base, label("type", of)))
	}
	return text.String()
}

func gpuLines(gpus map[gpu]map[string]int64, base string) string {
	var text strings.Builder
	for _, item := range slices.SortedFunc(maps.Keys(gpus), func(a, b gpu) int {
		return cmp.Or(strings.Compare(a.device, b.device), strings.Compare(a.product, b.product))
	}) {
		labels := []string{base, label("device", item.device)}
		if item.product != "" {
			labels = append(labels, label("product", item.product))
		}
		for _, of := range slices.Sorted(maps.Keys(gpus[item])) {
			text.WriteString(line("nimops_gpus", gpus[item][of], append(labels, label("type", of))...))
		}
	}
	return text.String()
}

func profileLines(profiles map[string]int, named string) string {
	var text strings.Builder
	for _, of := range slices.Sorted(maps.Keys(profiles)) {
		text.WriteString(line("nimops_cache_profiles", int64(profiles[of]), named, label("type", of)))
	}
	return text.String()
}

func byteLines(bytes map[string]int64, named string) string {
	var text strings.Builder
	for _, of := range slices.Sorted(maps.Keys(bytes)) {
		text.WriteString(line("nimops_cache_bytes", bytes[of], named, label("type", of)))
	}
	return text.String()
}

// gpu is a kind of GPU: an extended resource or device class, and the product, if known.
type gpu struct{ device, product string }

// sum adds up the replicas of a resource's workloads, and their GPUs by kind and type. A resource without a workload of
// its own, such as a NIMService on KServe, has the replicas of its status.
func sum(of facts, workloads []counts) (map[string]int64, map[gpu]map[string]int64) {
	replicas, gpus := map[string]int64{}, map[gpu]map[string]int64{}
	add := func(device string, perPod int64, from counts) {
		item := gpu{device, from.product}
		if gpus[item] == nil {
			gpus[item] = map[string]int64{}
		}
		gpus[item][requested] += perPod * from.replicas[desired]
		gpus[item][ready] += perPod * from.replicas[ready]
	}
	if len(workloads) == 0 && of.replicas != nil {
		workloads = []counts{{name: of.name, replicas: of.replicas}}
	}
	for _, item := range workloads {
		if !item.isOf(of.name) {
			continue
		}
		for name, count := range item.replicas {
			replicas[name] += count
		}
		for name, count := range item.gpus {
			add(name, count, item)
		}
		for name, count := range of.devices {
			add(name, count, item)
		}
	}
	return replicas, gpus
}
