// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"strings"
	"time"

	"nimops.nim/apiproxy/internal/request"
)

// facts are the metrics' facts about a resource.
type facts struct {
	kind, namespace, name                   string
	model, image, platform, operatorVersion string
	state                                   string
	conditions                              []condition
	created, since                          time.Time
	isReady                                 bool
	// isNew reports whether the resource has no status yet.
	isNew bool
	// replicas has the numbers of a status without a workload; nil if there are none.
	replicas map[string]int64
	profiles map[string]int
	// bytes has the bytes of a download, downloaded and in total, as far as they are known.
	bytes map[string]int64
	// devices has the number of devices of a device class for each pod.
	devices        map[string]int64
	upgradesDriver bool
	// requestsToolkit reports whether the spec of the GPU stack requests the Driver Toolkit of OpenShift.
	requestsToolkit bool
}

type condition struct{ kind, status, reason string }

const (
	unknown  = "Unknown"
	standard = "standalone"
)

type object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
		UID       string `json:"uid"`
		Created   string `json:"creationTimestamp"`
	} `json:"metadata"`
	Spec   spec   `json:"spec"`
	Status status `json:"status"`
}

type spec struct {
	Image struct {
		Repository string `json:"repository"`
		Tag        any    `json:"tag"`
	} `json:"image"`
	InferencePlatform string `json:"inferencePlatform"`
	Source            struct {
		NGC struct {
			ModelPuller string `json:"modelPuller"`
		} `json:"ngc"`
		HF struct {
			ModelPuller string `json:"modelPuller"`
			ModelName   string `json:"modelName"`
			DatasetName string `json:"datasetName"`
		} `json:"hf"`
		DataStore struct {
			ModelPuller string `json:"modelPuller"`
			ModelName   string `json:"modelName"`
			DatasetName string `json:"datasetName"`
		} `json:"dataStore"`
	} `json:"source"`
	DRAResources []struct {
		ClaimCreationSpec struct {
			Devices []struct {
				Count           *int64 `json:"count"`
				DeviceClassName string `json:"deviceClassName"`
			} `json:"devices"`
		} `json:"claimCreationSpec"`
	} `json:"draResources"`
	Driver struct {
		UpgradePolicy struct {
			AutoUpgrade bool `json:"autoUpgrade"`
		} `json:"upgradePolicy"`
	} `json:"driver"`
	Operator struct {
		UsesDriverToolkit bool `json:"use_ocp_driver_toolkit"`
	} `json:"operator"`
}

type status struct {
	State      string `json:"state"`
	Conditions []struct {
		Type    string `json:"type"`
		Status  string `json:"status"`
		Reason  string `json:"reason"`
		Changed string `json:"lastTransitionTime"`
	} `json:"conditions"`
	Model struct {
		Name string `json:"name"`
	} `json:"model"`
	OperatorVersion   string `json:"operatorVersion"`
	Replicas          *int64 `json:"replicas"`
	AvailableReplicas *int64 `json:"availableReplicas"`
	Profiles          []struct {
		Model string `json:"model"`
	} `json:"profiles"`
	Download download `json:"download"`
	Renewal  struct {
		Download *download `json:"download"`
	} `json:"renewal"`
	Selection *struct {
		Considered int   `json:"considered"`
		Selected   []any `json:"selected"`
		Dropped    []any `json:"dropped"`
	} `json:"selection"`
}

// download is the progress of a NIMCache's download, as far as it is known.
type download struct {
	Bytes *int64 `json:"bytes"`
	Total *int64 `json:"totalBytes"`
}

// readFacts returns the facts about a resource, and its UID.
func readFacts(text []byte) (facts, string) {
	var from object
	decode(text, &from)
	found := facts{
		kind: from.Kind, namespace: from.Metadata.Namespace, name: from.Metadata.Name, created: instant(from.Metadata.Created),
		state: from.Status.State, operatorVersion: from.Status.OperatorVersion,
		model: modelOf(from), image: imageOf(from.Spec), platform: platformOf(from),
		profiles: profilesOf(from), bytes: bytesOf(from), devices: devicesOf(from.Spec), replicas: replicasOf(from.Status),
		upgradesDriver: from.Spec.Driver.UpgradePolicy.AutoUpgrade, requestsToolkit: from.Spec.Operator.UsesDriverToolkit,
	}
	found.since, found.isNew = found.created, found.state == ""
	for _, item := range from.Status.Conditions {
		found.conditions = append(found.conditions, condition{item.Type, item.Status, item.Reason})
		if changed := instant(item.Changed); changed.After(found.since) {
			found.since = changed
		}
		if item.Type == "Ready" && item.Status == "True" {
			found.isReady = true
		}
	}
	found.isReady = found.isReady || strings.EqualFold(found.state, "Ready")
	if found.state == "" {
		found.state = unknown
	}
	return found, from.Metadata.UID
}

func modelOf(from object) string {
	source := from.Spec.Source
	names := []string{from.Status.Model.Name, source.HF.ModelName, source.HF.DatasetName, source.DataStore.ModelName, source.DataStore.DatasetName}
	for _, profile := range from.Status.Profiles {
		names = append(names, profile.Model)
	}
	return cmp.Or(names...)
}

func imageOf(from spec) string {
	if from.Image.Repository == "" {
		return cmp.Or(from.Source.NGC.ModelPuller, from.Source.HF.ModelPuller, from.Source.DataStore.ModelPuller)
	}
	tag, _ := from.Image.Tag.(string)
	if tag == "" {
		return from.Image.Repository
	}
	return from.Image.Repository + ":" + tag
}

func platformOf(from object) string {
	if from.Kind == "NIMService" && from.Spec.InferencePlatform == "" {
		return standard
	}
	return from.Spec.InferencePlatform
}

func profilesOf(from object) map[string]int {
	if from.Kind != "NIMCache" {
		return nil
	}
	found := map[string]int{"cached": len(from.Status.Profiles)}
	if selection := from.Status.Selection; selection != nil {
		found["considered"], found["selected"] = selection.Considered, len(selection.Selected)
		found["dropped"] = len(selection.Dropped)
	}
	return found
}

// bytesOf returns the bytes of the download in progress. That of a renewal runs beside a model that is served.
func bytesOf(from object) map[string]int64 {
	current := from.Status.Download
	if renewed := from.Status.Renewal.Download; renewed != nil {
		current = *renewed
	}
	found := map[string]int64{}
	for of, count := range map[string]*int64{"downloaded": current.Bytes, "total": current.Total} {
		if from.Kind == "NIMCache" && count != nil {
			found[of] = *count
		}
	}
	return found
}

func devicesOf(from spec) map[string]int64 {
	found := map[string]int64{}
	for _, claim := range from.DRAResources {
		for _, device := range claim.ClaimCreationSpec.Devices {
			count := int64(1)
			if device.Count != nil {
				count = *device.Count
			}
			if device.DeviceClassName != "" {
				found[device.DeviceClassName] += count
			}
		}
	}
	return found
}

func replicasOf(from status) map[string]int64 {
	if from.Replicas == nil {
		return nil
	}
	found := map[string]int64{desired: *from.Replicas, current: *from.Replicas, ready: 0}
	if from.AvailableReplicas != nil {
		found[ready] = *from.AvailableReplicas
	}
	return found
}

// instant returns a time of the API, the zero value if it is not one.
func instant(text string) time.Time {
	found, _ := time.Parse(time.RFC3339, text)
	return found
}

// The types of nimops_replicas, and of nimops_gpus those that apply.
const (
	desired   = "desired"
	current   = "current"
	ready     = "ready"
	updated   = "updated"
	requested = "requested"
)

// counts are the replicas of a workload, and the devices of each replica by resource.
type counts struct {
	name string
	// areGroups reports whether each replica is a group of pods.
	areGroups bool
	replicas  map[string]int64
	gpus      map[string]int64
	// product is the GPU that the node selector of the pods names.
	product string
}

// isOf reports whether the pods are those of the resource: an endpoint picker's Deployment has another name.
func (c *counts) isOf(resource string) bool { return c.areGroups || c.name == resource }

type template struct {
	Spec struct {
		Containers []struct {
			Resources struct {
				Limits map[string]any `json:"limits"`
			} `json:"resources"`
		} `json:"containers"`
		NodeSelector struct {
			Product string `json:"nvidia.com/gpu.product"`
		} `json:"nodeSelector"`
	} `json:"spec"`
}

type child struct {
	Metadata struct {
		Name   string `json:"name"`
		UID    string `json:"uid"`
		Owners []struct {
			UID        string `json:"uid"`
			Controller bool   `json:"controller"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		Replicas *int64   `json:"replicas"`
		Template template `json:"template"`
		Groups   struct {
			Size   *int64    `json:"size"`
			Leader *template `json:"leaderTemplate"`
			Worker template  `json:"workerTemplate"`
		} `json:"leaderWorkerTemplate"`
	} `json:"spec"`
	Status struct {
		Replicas int64 `json:"replicas"`
		Ready    int64 `json:"readyReplicas"`
		Updated  int64 `json:"updatedReplicas"`
	} `json:"status"`
}

// hasPods reports whether the objects of a collection are workloads with replicas.
func hasPods(of request.Collection) bool {
	switch of.Group + "/" + of.Resource {
	case "apps/deployments", "apps/statefulsets", "leaderworkerset.x-k8s.io/leaderworkersets":
		return true
	}
	return false
}

// readCounts returns the counts of a workload, its UID and that of its owner.
func readCounts(of request.Collection, text []byte) (counts, string, string) {
	var from child
	decode(text, &from)
	wanted := int64(1)
	if from.Spec.Replicas != nil {
		wanted = *from.Spec.Replicas
	}
	found := counts{
		name: from.Metadata.Name, areGroups: of.Resource == "leaderworkersets",
		replicas: map[string]int64{
			desired: wanted, current: from.Status.Replicas, ready: from.Status.Ready, updated: from.Status.Updated,
		},
		gpus: map[string]int64{},
	}
	if found.areGroups {
		groups, leader := from.Spec.Groups, from.Spec.Groups.Worker
		if groups.Leader != nil {
			leader = *groups.Leader
		}
		found.addPods(leader, 1)
		if groups.Size != nil {
			found.addPods(groups.Worker, *groups.Size-1)
		}
	} else {
		found.addPods(from.Spec.Template, 1)
	}
	for _, owner := range from.Metadata.Owners {
		if owner.Controller {
			return found, from.Metadata.UID, owner.UID
		}
	}
	return found, from.Metadata.UID, ""
}

func (c *counts) addPods(of template, pods int64) {
	c.product = cmp.Or(c.product, of.Spec.NodeSelector.Product)
	for _, container := range of.Spec.Containers {
		for name, amount := range container.Resources.Limits {
			if isGPU(name) {
				c.gpus[name] += pods * integer(amount)
			}
		}
	}
}

// isGPU reports whether an extended resource is a GPU or a part of one, such as nvidia.com/mig-1g.10gb.
func isGPU(name string) bool {
	domain, device, _ := strings.Cut(name, "/")
	return device != "" && (domain == "nvidia.com" || strings.Contains(device, "gpu"))
}
