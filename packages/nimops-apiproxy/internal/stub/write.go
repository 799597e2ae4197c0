// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package stub

import (
	"bytes"

	"nimops.nim/apiproxy/internal/rawjson"
)

// Is reports whether an object is a stub, which would remove the spec if it were written. The runtime adds an
// empty spec to a resource without one.
func Is(object []byte) bool {
	if rawjson.Find(object, "metadata", "annotations", Annotation) == nil {
		return false
	}
	spec := rawjson.Find(object, "spec")
	return spec == nil || string(spec) == "null" || string(spec) == "{}"
}

// Patch returns the merge patch for a stub that the runtime writes. The runtime only changes finalizers, or the
// status through the subresource.
func Patch(object []byte, isStatus bool) []byte {
	metadata := rawjson.Find(object, "metadata")
	var about, text bytes.Buffer
	open(&about)
	for _, name := range []string{"uid", "resourceVersion"} {
		if value := rawjson.Find(metadata, name); value != nil {
			writeMember(&about, []byte(name), value)
		}
	}
	if !isStatus {
		writeMember(&about, []byte("finalizers"), orDefault(rawjson.Find(metadata, "finalizers"), "null"))
	}
	about.WriteByte('}')
	open(&text)
	writeMember(&text, []byte("metadata"), about.Bytes())
	if isStatus {
		writeMember(&text, []byte("status"), orDefault(rawjson.Find(object, "status"), "{}"))
	}
	text.WriteByte('}')
	return text.Bytes()
}

func orDefault(value []byte, absent string) []byte {
	if value == nil {
		return []byte(absent)
	}
	return value
}
