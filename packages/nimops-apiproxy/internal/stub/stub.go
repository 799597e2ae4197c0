// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Package stub stands in for resources that are too large: decoded, one takes 20 to 30 times the memory
// of its JSON, in every process that sees it. A stub says which resource it is, how it is and why it is
// no more than that. It has no spec.
//
// Everything here works on JSON text: at no time is more of a resource in memory than that.
package stub

import (
	"bytes"
	"encoding/json"
	"strings"

	"nimops.nim/apiproxy/internal/rawjson"
)

const (
	// Annotation describes an excess, as JSON. Only the proxy sets it: what a resource has is removed.
	Annotation = "nimops.nim/oversized"
	// MaxBytes is the default of Limits.Bytes, and MAX_BYTES of the collection.
	MaxBytes = 256 << 10
	// MaxDepth is how deep lists and maps may be in one another, as in the collection.
	MaxDepth = 64

	kibibyte = 1024
	// Of what else a stub keeps: labels, the annotations that the operator reads, owners, status.
	mostLabels, mostAnnotations, mostOwners, mostStatus = 4 << 10, 8 << 10, 16 << 10, 64 << 10
	longestAnnotation                                   = 256
)

// Annotations with these prefixes are the runtime's and ours.
var ours = []string{"ansible.sdk.operatorframework.io/", "nimops.nim/"}

// The metadata that a stub keeps as it is. Without all finalizers, a write would remove those of others.
var kept = map[string]bool{
	"name": true, "generateName": true, "namespace": true, "uid": true, "resourceVersion": true, "generation": true,
	"creationTimestamp": true, "deletionTimestamp": true, "deletionGracePeriodSeconds": true, "finalizers": true,
}

// Limits are those of a resource.
type Limits struct {
	// Bytes is how large its JSON may be, without status and managedFields, which users do not write.
	Bytes int
	// Depth is how deep lists and maps may be in one another.
	Depth int
}

// excess is the value of the annotation: what is too large, and the field that makes it so. Bytes are
// whole KiB, so that a longer resourceVersion changes nothing.
type excess struct {
	Bytes      int    `json:"bytes,omitempty"`
	Limit      int    `json:"limit,omitempty"`
	Depth      int    `json:"depth,omitempty"`
	Field      string `json:"field,omitempty"`
	FieldBytes int    `json:"fieldBytes,omitempty"`
}

// Reduce returns what is to be seen of a resource: the same text if it is within the limits. If it exceeds
// them only by what users do not write, managedFields are left out, which the API server then keeps as
// they are. The status is ours: the profiles of a NIMCache may be that many.
func (l Limits) Reduce(object []byte) []byte {
	isDeep := rawjson.DeeperThan(object, l.Depth)
	if len(object) <= l.Bytes && !isDeep {
		return genuine(object)
	}
	metadata := rawjson.Find(object, "metadata")
	if len(metadata) == 0 || metadata[0] != '{' {
		return object // No resource.
	}
	status := rawjson.Find(object, "status")
	size := len(object) - len(rawjson.Find(metadata, "managedFields")) - len(status)
	if size <= l.Bytes && !isDeep {
		return rawjson.WithoutMetadata(genuine(object), "managedFields")
	}
	found := excess{Bytes: whole(size), Limit: l.Bytes}
	if size <= l.Bytes {
		found = excess{Depth: rawjson.Depth(object), Limit: l.Depth}
		found.Field = deepest(object)
	} else {
		var bytes int
		found.Field, bytes = largest(object)
		found.FieldBytes = whole(bytes)
	}
	return build(object, metadata, status, found)
}

// genuine returns an object without our annotation, which only a user can have set: no user may pass a
// resource off as a stub.
func genuine(object []byte) []byte {
	if !bytes.Contains(object, []byte(Annotation)) {
		return object
	}
	return rawjson.WithoutAnnotation(object, Annotation)
}

// build returns the stub.
func build(object, metadata, status []byte, found excess) []byte {
	var text bytes.Buffer
	open(&text)
	for _, name := range []string{"apiVersion", "kind"} {
		if value := rawjson.Find(object, name); value != nil {
			put(&text, []byte(name), value)
		}
	}
	put(&text, []byte("metadata"), about(metadata, found))
	if status != nil {
		put(&text, []byte("status"), small(status, mostStatus))
	}
	text.WriteByte('}')
	return text.Bytes()
}

// about returns the metadata of the stub.
func about(metadata []byte, found excess) []byte {
	var text bytes.Buffer
	open(&text)
	annotations := []byte("{}")
	rawjson.Members(metadata, func(name []byte, start, end int) bool {
		value := metadata[start:end]
		switch {
		case kept[string(name)]:
			put(&text, name, value)
		case string(name) == "labels" && len(value) <= mostLabels:
			put(&text, name, value)
		case string(name) == "ownerReferences":
			put(&text, name, owners(value))
		case string(name) == "annotations":
			annotations = value
		}
		return true
	})
	put(&text, []byte("annotations"), annotate(annotations, found))
	text.WriteByte('}')
	return text.Bytes()
}

func annotate(annotations []byte, found excess) []byte {
	var text bytes.Buffer
	open(&text)
	rawjson.Members(annotations, func(name []byte, start, end int) bool {
		isOurs := strings.HasPrefix(string(name), ours[0]) || strings.HasPrefix(string(name), ours[1])
		size := len(name) + end - start
		if isOurs && string(name) != Annotation && size <= longestAnnotation && text.Len()+size < mostAnnotations {
			put(&text, name, annotations[start:end])
		}
		return true
	})
	value, _ := json.Marshal(found)
	quoted, _ := json.Marshal(string(value))
	put(&text, []byte(Annotation), quoted)
	text.WriteByte('}')
	return text.Bytes()
}

// owners returns the controller, and as many others as there is room for.
func owners(references []byte) []byte {
	var text bytes.Buffer
	text.WriteByte('[')
	rawjson.Items(references, func(start, end int) bool {
		item := references[start:end]
		controls := string(rawjson.Find(item, "controller")) == "true"
		if len(item) <= mostOwners && (controls || text.Len()+len(item) <= mostOwners) {
			if text.Len() > 1 {
				text.WriteByte(',')
			}
			text.Write(item)
		}
		return true
	})
	text.WriteByte(']')
	return text.Bytes()
}

// small returns a map with the smaller half of its members if there is no room for all: a status keeps
// its state and conditions.
func small(object []byte, most int) []byte {
	if len(object) <= most {
		return object
	}
	var text bytes.Buffer
	open(&text)
	rawjson.Members(object, func(name []byte, start, end int) bool {
		if size := len(name) + end - start; size <= most/2 && text.Len()+size < most {
			put(&text, name, object[start:end])
		}
		return true
	})
	text.WriteByte('}')
	return text.Bytes()
}

func open(text *bytes.Buffer) { text.WriteByte('{') }

// put adds a member; name is as in JSON text.
func put(text *bytes.Buffer, name, value []byte) {
	if text.Len() > 1 {
		text.WriteByte(',')
	}
	text.WriteByte('"')
	text.Write(name)
	text.WriteString(`":`)
	text.Write(value)
}

func whole(bytes int) int { return (bytes + kibibyte - 1) / kibibyte * kibibyte }
