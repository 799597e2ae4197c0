// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Package rawjson finds and replaces parts of JSON text without decoding the rest of it.
//
// All other bytes stay the same: numbers are not rounded, unknown fields are not lost, and an object of 25 KB costs
// one pass over its text. The scanner does not validate. It never reads beyond the text, and it reports unexpected
// text; callers then pass the text unchanged.
package rawjson

import "bytes"

// Members calls visit with each member of an object, as a key and the bounds of its value in text,
// until visit returns false. Keys are not unescaped: one with escapes equals no plain key. Members reports whether
// text is an object as far as it was read.
func Members(text []byte, visit func(key []byte, start, end int) bool) bool {
	at := skipSpace(text, 0)
	if at >= len(text) || text[at] != '{' {
		return false
	}
	at = skipSpace(text, at+1)
	if at < len(text) && text[at] == '}' {
		return true
	}
	for at < len(text) && text[at] == '"' {
		end, ok := skipString(text, at)
		if !ok {
			return false
		}
		key := text[at+1 : end-1]
		at = skipSpace(text, end)
		if at >= len(text) || text[at] != ':' {
			return false
		}
		start := skipSpace(text, at+1)
		end, ok = skipValue(text, start)
		if !ok {
			return false
		}
		if !visit(key, start, end) {
			return true
		}
		at = skipSpace(text, end)
		switch {
		case at >= len(text):
			return false
		case text[at] == '}':
			return true
		case text[at] != ',':
			return false
		}
		at = skipSpace(text, at+1)
	}
	return false
}

// Items calls visit with the bounds of each item of an array, until visit returns false. It reports whether text
// is an array as far as it was read.
func Items(text []byte, visit func(start, end int) bool) bool {
	at := skipSpace(text, 0)
	if at >= len(text) || text[at] != '[' {
		return false
	}
	at = skipSpace(text, at+1)
	if at < len(text) && text[at] == ']' {
		return true
	}
	for at < len(text) {
		end, ok := skipValue(text, at)
		if !ok {
			return false
		}
		if !visit(at, end) {
			return true
		}
		at = skipSpace(text, end)
		switch {
		case at >= len(text):
			return false
		case text[at] == ']':
			return true
		case text[at] != ',':
			return false
		}
		at = skipSpace(text, at+1)
	}
	return false
}

// Find returns the value at a path of keys; nil if there is none.
func Find(text []byte, path ...string) []byte {
	for _, key := range path {
		var found []byte
		ok := Members(text, func(name []byte, start, end int) bool {
			if string(name) == key {
				found = text[start:end]
				return false
			}
			return true
		})
		if !ok || found == nil {
			return nil
		}
		text = found
	}
	return text
}

// Text returns the content of a JSON string; empty if it is not a string or has escapes. The strings that it is
// used for (names, uids, versions, types of events) never have escapes.
func Text(value []byte) string {
	if len(value) < 2 || value[0] != '"' || bytes.IndexByte(value, '\\') >= 0 {
		return ""
	}
	return string(value[1 : len(value)-1])
}

// Replace returns text with the part between two bounds replaced.
func Replace(text []byte, start, end int, by []byte) []byte {
	result := make([]byte, 0, len(text)+len(by)-(end-start))
	result = append(result, text[:start]...)
	result = append(result, by...)
	return append(result, text[end:]...)
}

func skipSpace(text []byte, at int) int {
	for at < len(text) && isSpace(text[at]) {
		at++
	}
	return at
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t'
}

// skipString returns the index after the string that starts at a quote.
func skipString(text []byte, at int) (int, bool) {
	at++
	// Few strings have escapes.
	if end := bytes.IndexByte(text[at:], '"'); end >= 0 && bytes.IndexByte(text[at:at+end], '\\') < 0 {
		return at + end + 1, true
	}
	for ; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1, true
		}
	}
	return at, false
}

// skipValue returns the index after the value that starts at an index.
func skipValue(text []byte, at int) (int, bool) {
	if at >= len(text) {
		return at, false
	}
	switch text[at] {
	case '"':
		return skipString(text, at)
	case '{', '[':
		return skipNested(text, at)
	}
	start := at
	for at < len(text) && !isSpace(text[at]) && text[at] != ',' && text[at] != '}' && text[at] != ']' {
		at++
	}
	return at, at > start
}

func skipNested(text []byte, at int) (int, bool) {
	for depth := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			end, ok := skipString(text, at)
			if !ok {
				return end, false
			}
			at = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1, true
			}
		}
	}
	return at, false
}

// Depth returns the nesting depth of lists and maps in a text.
func Depth(text []byte) int {
	_, deepest := descend(text, len(text))
	return deepest
}

// DeeperThan reports whether the nesting depth of a text exceeds a limit.
func DeeperThan(text []byte, limit int) bool {
	is, _ := descend(text, limit)
	return is
}

// descend reports whether a text is deeper than a limit, and otherwise returns its depth. Most strings are short,
// so scanning them costs half as much as searching for their ends.
func descend(text []byte, limit int) (exceeds bool, deepest int) {
	depth := 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			for at++; at < len(text) && text[at] != '"'; at++ {
				if text[at] == '\\' {
					at++
				}
			}
		case '{', '[':
			if depth++; depth > deepest {
				if deepest = depth; depth > limit {
					return true, deepest
				}
			}
		case '}', ']':
			depth--
		}
	}
	return false, deepest
}
