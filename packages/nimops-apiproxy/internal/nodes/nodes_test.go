// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
)

const device = "feature.node.kubernetes.io/pci-10de.present"

func object(labels map[string]string, rest string) []byte {
	text, _ := json.Marshal(labels)
	return fmt.Appendf(nil, `{"name":"n","resourceVersion":"7","labels":%s%s}`, text, rest)
}

func with(labels map[string]string, more ...string) map[string]string {
	all := maps.Clone(labels)
	for at := 0; at < len(more); at += 2 {
		all[more[at]] = more[at+1]
	}
	return all
}

var (
	plain = map[string]string{"kubernetes.io/hostname": "n"}
	gpu   = with(plain, device, "true", present, "true")
)

func TestFleetObserveLabels(t *testing.T) {
	for name, c := range map[string]struct {
		before, after map[string]string
		isRelevant    bool
	}{
		"a GPU":                         {plain, with(plain, device, "true"), true},
		"a GPU of a display":            {plain, with(plain, "feature.node.kubernetes.io/pci-0300_10de.present", "true"), true},
		"a GPU without display":         {plain, with(plain, "feature.node.kubernetes.io/pci-0302_10de.present", "true"), true},
		"a GPU by vendor and device":    {plain, with(plain, "feature.node.kubernetes.io/pci-0302_10de_2330.present", "true"), true},
		"the device of the GPU":         {gpu, with(gpu, "feature.node.kubernetes.io/pci-10de_2330_10de_1626.present", "true"), false},
		"another class":                 {gpu, with(gpu, "feature.node.kubernetes.io/pci-0302_10de.present", "true"), false},
		"no GPU":                        {gpu, with(gpu, device, "false"), true},
		"present":                       {with(plain, device, "true"), gpu, true},
		"not present":                   {gpu, with(gpu, present, "false"), true},
		"not present, and no GPU":       {with(plain, "a", "b"), with(plain, present, "false"), false},
		"features":                      {plain, with(plain, "feature.node.kubernetes.io/cpu-model.id", "1"), true},
		"other features":                {gpu, with(gpu, "feature.node.kubernetes.io/cpu-model.id", "1"), false},
		"operands":                      {gpu, with(gpu, "nvidia.com/gpu.deploy.operands", "false"), true},
		"workload":                      {gpu, with(gpu, "nvidia.com/gpu.workload.config", "container"), true},
		"empty workload":                {gpu, with(gpu, "nvidia.com/gpu.workload.config", ""), true},
		"MIG":                           {gpu, with(gpu, "nvidia.com/mig.capable", "true"), true},
		"product":                       {gpu, with(gpu, "nvidia.com/gpu.product", "NVIDIA-H100"), true},
		"vGPU":                          {gpu, with(gpu, "nvidia.com/vgpu.host-driver-version", "1"), true},
		"owner of the driver":           {gpu, with(gpu, "nvidia.com/gpu-operator.driver.owner", "a"), true},
		"owner without GPU":             {plain, with(plain, "nvidia.com/gpu-operator.driver.owner", "a"), true},
		"step of an upgrade":            {gpu, with(gpu, "nvidia.com/gpu-driver-upgrade-state", "upgrade-done"), true},
		"no upgrade":                    {gpu, with(gpu, "nvidia.com/gpu-driver-upgrade.skip", "true"), true},
		"kernel":                        {gpu, with(gpu, "feature.node.kubernetes.io/kernel-version.full", "6.8"), true},
		"system":                        {gpu, with(gpu, "feature.node.kubernetes.io/system-os_release.ID", "rhel"), true},
		"version of it":                 {gpu, with(gpu, "feature.node.kubernetes.io/system-os_release.VERSION_ID", "9"), true},
		"image of it":                   {gpu, with(gpu, "feature.node.kubernetes.io/system-os_release.OSTREE_VERSION", "4"), true},
		"kernel without GPU":            {with(plain, "feature.node.kubernetes.io/a", ""), with(plain, "feature.node.kubernetes.io/a", "", "feature.node.kubernetes.io/kernel-version.full", "6.8"), false},
		"our own labels":                {gpu, with(gpu, "nvidia.com/gpu.deploy.driver", "true"), false},
		"timestamp of GPU features":     {gpu, with(gpu, "nvidia.com/gfd.timestamp", "1"), false},
		"other labels":                  {gpu, with(gpu, "a", "b"), false},
		"other labels, of another node": {plain, with(plain, "a", "b"), false},
	} {
		fleet := NewFleet()
		fleet.Observe("n", object(c.before, ""))
		before := fleet.Digest()
		if got := fleet.Observe("n", object(c.after, "")); got != c.isRelevant || (fleet.Digest() != before) != c.isRelevant {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestFleetObserveUpgradeRequest(t *testing.T) {
	fleet := NewFleet()
	fleet.Observe("n", object(gpu, ""))
	for _, c := range []struct {
		annotations string
		isRelevant  bool
	}{
		{`,"annotations":{"other":"x"}`, false},
		{`,"annotations":{"other":"x","` + requested + `":"true"}`, true},
		{`,"annotations":{"other":"y","` + requested + `":"true"}`, false},
		{``, true},
	} {
		if got := fleet.Observe("n", object(gpu, c.annotations)); got != c.isRelevant {
			t.Errorf("%s: %v", c.annotations, got)
		}
	}
}

func TestFleetForgetRetain(t *testing.T) {
	fleet, empty := NewFleet(), NewFleet().Digest()
	if fleet.Observe("a", object(plain, "")) || fleet.Digest() != empty {
		t.Error("a node without GPU is relevant")
	}
	if !fleet.Observe("b", object(gpu, "")) || !fleet.Observe("c", object(gpu, "")) {
		t.Error("GPU nodes are irrelevant")
	}
	both := fleet.Digest()
	if fleet.Forget("a") || fleet.Forget("never seen") {
		t.Error("the deletion of a node without GPU is relevant")
	}
	if !fleet.Forget("c") || fleet.Digest() == both {
		t.Error("the deletion of a GPU node is irrelevant")
	}
	if fleet.Retain(map[string]bool{"b": true}) {
		t.Error("a list of known nodes is relevant")
	}
	if !fleet.Retain(map[string]bool{"a": true}) || fleet.Digest() != empty {
		t.Error("a node that is missing from a list remains")
	}
}

func TestFleetDigestDeterministic(t *testing.T) {
	one, other := NewFleet(), NewFleet()
	for _, name := range []string{"a", "b", "c"} {
		one.Observe(name, object(gpu, ""))
	}
	for _, name := range []string{"c", "a", "d", "b"} {
		other.Observe(name, object(with(gpu, "x", "y"), ""))
	}
	other.Forget("d")
	if one.Digest() != other.Digest() || one.Digest() == "" {
		t.Error(one.Digest(), other.Digest())
	}
	other.Observe("b", object(with(gpu, "nvidia.com/mig.capable", "true"), ""))
	if one.Digest() == other.Digest() {
		t.Error("other nodes, same digest")
	}
}

func TestFleetObserveInvalidMetadata(t *testing.T) {
	for _, text := range []string{``, `{}`, `[]`, `{"labels":[]}`, `{"labels":{"a":1}}`, `{"labels"`} {
		if NewFleet().Observe("n", []byte(text)) {
			t.Error(text)
		}
	}
}

func BenchmarkFleetObserveHeartbeat(b *testing.B) {
	labels := with(gpu)
	for at := range 100 {
		labels[fmt.Sprintf("feature.node.kubernetes.io/cpu-cpuid.%d", at)] = "true"
	}
	heartbeat := object(labels, `,"managedFields":[{"manager":"`+strings.Repeat("x", 4000)+`"}]`)
	fleet := NewFleet()
	fleet.Observe("n", heartbeat)
	b.SetBytes(int64(len(heartbeat)))
	for b.Loop() {
		if fleet.Observe("n", heartbeat) {
			b.Fatal("a heartbeat is relevant")
		}
	}
}

func TestFleetCount(t *testing.T) {
	f := NewFleet()
	for name, labels := range map[string]map[string]string{
		"a": with(gpu, upgradeState, "upgrade-done"), "b": with(gpu, upgradeState, "upgrade-failed"), "c": gpu,
		"d": plain, "e": with(plain, upgradeState, "upgrade-done"),
	} {
		f.Observe(name, object(labels, ""))
	}
	found := f.Count()
	if found.GPUs != 3 || found.Upgrades["upgrade-done"] != 2 || found.Upgrades["upgrade-failed"] != 1 || !found.IsLabelled {
		t.Error(found)
	}
	f.Forget("a")
	if found = f.Count(); found.GPUs != 2 || found.Upgrades["upgrade-done"] != 1 {
		t.Error(found)
	}
}
