// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package rawjson

// Annotate returns a Kubernetes object with an annotation, and whether the object is well-formed enough. Key and
// value must need no escapes in JSON.
func Annotate(object []byte, key, value string) ([]byte, bool) {
	member := `"` + key + `":"` + value + `"`
	metadata, at, end := find(object, 0, len(object), "metadata")
	if metadata == nil || metadata[0] != '{' {
		return nil, false
	}
	annotations, from, to := find(object, at, end, "annotations")
	if annotations == nil {
		return insert(object, at, `"annotations":{`+member+`}`), true
	}
	if string(annotations) == "null" {
		return Replace(object, from, to, []byte("{"+member+"}")), true
	}
	if annotations[0] != '{' {
		return nil, false
	}
	if _, from, to := find(object, from, to, key); to > 0 {
		return Replace(object, from, to, []byte(`"`+value+`"`)), true
	}
	return insert(object, from, member), true
}

// WithoutAnnotation returns a Kubernetes object without an annotation; the same text if it has none.
func WithoutAnnotation(object []byte, key string) []byte {
	_, at, end := find(object, 0, len(object), "metadata")
	annotations, from, to := find(object, at, end, "annotations")
	if kept := WithoutMember(annotations, key); len(kept) != len(annotations) {
		return Replace(object, from, to, kept)
	}
	return object
}

// WithoutStatusFields returns a Kubernetes object without the entries of managedFields for its status; the same
// text if it has none.
func WithoutStatusFields(object []byte) []byte {
	_, at, end := find(object, 0, len(object), "metadata")
	fields, from, to := find(object, at, end, "managedFields")
	kept, found := []byte("["), false
	whole := Items(fields, func(start, stop int) bool {
		if Text(Find(fields[start:stop], "subresource")) == "status" {
			found = true
			return true
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(kept, fields[start:stop]...)
		return true
	})
	if !whole || !found {
		return object
	}
	return Replace(object, from, to, append(kept, ']'))
}

// find returns the value of a member of the object between two bounds, and its bounds.
func find(text []byte, at, end int, key string) (value []byte, from, to int) {
	object := text[at:end]
	Members(object, func(name []byte, start, stop int) bool {
		if string(name) != key {
			return true
		}
		value, from, to = object[start:stop], at+start, at+stop
		return false
	})
	return value, from, to
}

// insert adds a first member to the object that starts at an index.
func insert(text []byte, at int, member string) []byte {
	inside := skipSpace(text, at+1)
	if inside < len(text) && text[inside] != '}' {
		member += ","
	}
	return Replace(text, at+1, at+1, []byte(member))
}

// WithoutMetadata returns a Kubernetes object without a member of its metadata.
func WithoutMetadata(object []byte, name string) []byte {
	metadata, from, to := find(object, 0, len(object), "metadata")
	if metadata == nil {
		return object
	}
	return Replace(object, from, to, WithoutMember(metadata, name))
}

// WithoutMember returns an object without a member; the same text if it has none.
func WithoutMember(object []byte, name string) []byte {
	kept, found := []byte("{"), false
	whole := Members(object, func(key []byte, start, stop int) bool {
		if string(key) == name {
			found = true
			return true
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(append(append(kept, '"'), key...), `":`...)
		kept = append(kept, object[start:stop]...)
		return true
	})
	if !whole || !found {
		return object
	}
	return append(kept, '}')
}
