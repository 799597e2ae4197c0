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
	fields, from, to := managedFields(object)
	ofStatus, others, whole := splitManagedFields(fields)
	if !whole || len(ofStatus) == 0 {
		return object
	}
	return Replace(object, from, to, append(append([]byte("["), others...), ']'))
}

// WithStatusFields returns a patch of managedFields with the object's entries for the status; the same text if the
// patch has such entries, or the object has none.
func WithStatusFields(patch, object []byte) []byte {
	fields, _, _ := managedFields(object)
	missing, _, isKnown := splitManagedFields(fields)
	given, from, _ := managedFields(patch)
	present, _, isList := splitManagedFields(given)
	if !isKnown || !isList || len(missing) == 0 || len(present) > 0 {
		return patch
	}
	return insert(patch, from, string(missing))
}

func managedFields(object []byte) (value []byte, from, to int) {
	_, at, end := find(object, 0, len(object), "metadata")
	return find(object, at, end, "managedFields")
}

// splitManagedFields returns the entries for the status and the others, each separated by commas, and whether fields is
// a list.
func splitManagedFields(fields []byte) (ofStatus, others []byte, whole bool) {
	whole = Items(fields, func(start, stop int) bool {
		to := &others
		if Text(Find(fields[start:stop], "subresource")) == "status" {
			to = &ofStatus
		}
		if len(*to) > 0 {
			*to = append(*to, ',')
		}
		*to = append(*to, fields[start:stop]...)
		return true
	})
	return ofStatus, others, whole
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

// insert adds a first member to the object, or a first item to the list, that starts at an index.
func insert(text []byte, at int, member string) []byte {
	inside := skipSpace(text, at+1)
	if inside < len(text) && text[inside] != '}' && text[inside] != ']' {
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
