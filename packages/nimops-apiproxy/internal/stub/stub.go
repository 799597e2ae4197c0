// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Package stub replaces resources that are too large: decoded, a resource takes 20 to 30 times the memory of its
// JSON, in every process that reads it. A stub identifies the resource, and contains its status and the reason why
// it was replaced. It has no spec.
//
// The package works on JSON text and never decodes a whole resource.
package stub

import (
	"bytes"
	"encoding/json"
	"strings"

	"nimops.nim/apiproxy/internal/rawjson"
)

const (
	// Annotation describes an excess as JSON. Only the proxy sets it: one that a user set is removed.
	Annotation = "nimops.nim/oversized"
	// MaxBytes is the default of Limits.Bytes, and MAX_BYTES of the collection.
	MaxBytes = 256 << 10
	// MaxDepth is the default of Limits.Depth, as in the collection.
	MaxDepth = 64

	kibibyte = 1024
	// Sizes up to which a stub keeps labels, the annotations that the operator reads, owners, and status.
	mostLabels, mostAnnotations, mostOwners, mostStatus = 4 << 10, 8 << 10, 16 << 10, 64 << 10
	longestAnnotation                                   = 256
)

// ours are the prefixes of the annotations of the runtime and of the operator.
var ours = []string{"ansible.sdk.operatorframework.io/", "nimops.nim/"}

// kept are the metadata fields that a stub keeps. It needs all finalizers, or a write would remove those of other
// controllers.
var kept = map[string]bool{
	"name": true, "generateName": true, "namespace": true, "uid": true, "resourceVersion": true, "generation": true,
	"creationTimestamp": true, "deletionTimestamp": true, "deletionGracePeriodSeconds": true, "finalizers": true,
}

// Limits are the limits of a resource that is not replaced by a stub.
type Limits struct {
	// Bytes is the maximum size of its JSON without status and managedFields, which users do not write.
	Bytes int
	// Depth is the maximum nesting depth of lists and maps.
	Depth int
}

// excess is the value of the annotation: the limit that is exceeded, and the field that contributes most. Bytes
// are rounded up to KiB, so that a longer resourceVersion changes nothing.
type excess struct {
	Bytes      int    `json:"bytes,omitempty"`
	Limit      int    `json:"limit,omitempty"`
	Depth      int    `json:"depth,omitempty"`
	Field      string `json:"field,omitempty"`
	FieldBytes int    `json:"fieldBytes,omitempty"`
}

// Reduce returns the visible form of a resource: the same text if it is within the limits. If only the fields that
// users do not write exceed them, it removes managedFields, which the API server keeps on a write without them. It
// keeps the status, which the operator writes: a NIMCache may have that many profiles.
func (l Limits) Reduce(object []byte) []byte {
	isDeep := rawjson.DeeperThan(object, l.Depth)
	if len(object) <= l.Bytes && !isDeep {
		return withoutForgery(object)
	}
	metadata := rawjson.Find(object, "metadata")
	if len(metadata) == 0 || metadata[0] != '{' {
		return object // Not a resource.
	}
	status := rawjson.Find(object, "status")
	size := len(object) - len(rawjson.Find(metadata, "managedFields")) - len(status)
	if size <= l.Bytes && !isDeep {
		return rawjson.WithoutMetadata(withoutForgery(object), "managedFields")
	}
	found := excess{Bytes: roundUp(size), Limit: l.Bytes}
	if size <= l.Bytes {
		found = excess{Depth: rawjson.Depth(object), Limit: l.Depth}
		found.Field = deepest(object)
	} else {
		var bytes int
		found.Field, bytes = largest(object)
		found.FieldBytes = roundUp(bytes)
	}
	return build(object, metadata, status, found)
}

// withoutForgery returns an object without our annotation, which only a user can have set. A user must not make a
// resource pass for a stub.
func withoutForgery(object []byte) []byte {
	if !bytes.Contains(object, []byte(Annotation)) {
		return object
	}
	return rawjson.WithoutAnnotation(object, Annotation)
}

// build returns a stub.
func build(object, metadata, status []byte, found excess) []byte {
	var text bytes.Buffer
	open(&text)
	for _, name := range []string{"apiVersion", "kind"} {
		if value := rawjson.Find(object, name); value != nil {
			writeMember(&text, []byte(name), value)
		}
	}
	writeMember(&text, []byte("metadata"), reduceMetadata(metadata, found))
	if status != nil {
		writeMember(&text, []byte("status"), reduceStatus(status, mostStatus))
	}
	text.WriteByte('}')
	return text.Bytes()
}

// reduceMetadata returns the metadata of a stub.
func reduceMetadata(metadata []byte, found excess) []byte {
	var text bytes.Buffer
	open(&text)
	annotations := []byte("{}")
	rawjson.Members(metadata, func(name []byte, start, end int) bool {
		value := metadata[start:end]
		switch {
		case kept[string(name)]:
			writeMember(&text, name, value)
		case string(name) == "labels" && len(value) <= mostLabels:
			writeMember(&text, name, value)
		case string(name) == "ownerReferences":
			writeMember(&text, name, reduceOwners(value))
		case string(name) == "annotations":
			annotations = value
		}
		return true
	})
	writeMember(&text, []byte("annotations"), reduceAnnotations(annotations, found))
	text.WriteByte('}')
	return text.Bytes()
}

// reduceAnnotations returns the annotations of a stub.
func reduceAnnotations(annotations []byte, found excess) []byte {
	var text bytes.Buffer
	open(&text)
	rawjson.Members(annotations, func(name []byte, start, end int) bool {
		isOurs := strings.HasPrefix(string(name), ours[0]) || strings.HasPrefix(string(name), ours[1])
		size := len(name) + end - start
		if isOurs && string(name) != Annotation && size <= longestAnnotation && text.Len()+size < mostAnnotations {
			writeMember(&text, name, annotations[start:end])
		}
		return true
	})
	value, _ := json.Marshal(found)
	quoted, _ := json.Marshal(string(value))
	writeMember(&text, []byte(Annotation), quoted)
	text.WriteByte('}')
	return text.Bytes()
}

// reduceOwners returns the controller, and as many other owners as fit.
func reduceOwners(references []byte) []byte {
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

// reduceStatus omits large members of a status that does not fit, so that state and conditions remain.
func reduceStatus(object []byte, most int) []byte {
	if len(object) <= most {
		return object
	}
	var text bytes.Buffer
	open(&text)
	rawjson.Members(object, func(name []byte, start, end int) bool {
		if size := len(name) + end - start; size <= most/2 && text.Len()+size < most {
			writeMember(&text, name, object[start:end])
		}
		return true
	})
	text.WriteByte('}')
	return text.Bytes()
}

func open(text *bytes.Buffer) { text.WriteByte('{') }

// writeMember adds a member; name is as in JSON text.
func writeMember(text *bytes.Buffer, name, value []byte) {
	if text.Len() > 1 {
		text.WriteByte(',')
	}
	text.WriteByte('"')
	text.Write(name)
	text.WriteString(`":`)
	text.Write(value)
}

// roundUp rounds up to whole KiB.
func roundUp(bytes int) int { return (bytes + kibibyte - 1) / kibibyte * kibibyte }
