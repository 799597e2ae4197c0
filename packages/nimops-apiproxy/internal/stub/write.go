// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package stub

import (
	"bytes"

	"nimops.nim/apiproxy/internal/rawjson"
)

// Is returns whether an object is a stub: written as it is, it would remove the spec. The runtime gives a
// resource that lacks one an empty one.
func Is(object []byte) bool {
	if rawjson.Find(object, "metadata", "annotations", Annotation) == nil {
		return false
	}
	spec := rawjson.Find(object, "spec")
	return spec == nil || string(spec) == "null" || string(spec) == "{}"
}

// Patch returns the merge patch that does what the runtime means by writing a stub: it only ever changes
// finalizers, and by the subresource the status.
func Patch(object []byte, isStatus bool) []byte {
	metadata := rawjson.Find(object, "metadata")
	var about, text bytes.Buffer
	open(&about)
	for _, name := range []string{"uid", "resourceVersion"} {
		if value := rawjson.Find(metadata, name); value != nil {
			put(&about, []byte(name), value)
		}
	}
	if !isStatus {
		put(&about, []byte("finalizers"), or(rawjson.Find(metadata, "finalizers"), "null"))
	}
	about.WriteByte('}')
	open(&text)
	put(&text, []byte("metadata"), about.Bytes())
	if isStatus {
		put(&text, []byte("status"), or(rawjson.Find(object, "status"), "{}"))
	}
	text.WriteByte('}')
	return text.Bytes()
}

func or(value []byte, absent string) []byte {
	if value == nil {
		return []byte(absent)
	}
	return value
}
