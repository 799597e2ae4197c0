// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package stub

import (
	"fmt"
	"strings"

	"nimops.nim/apiproxy/internal/rawjson"
)

const (
	// mostSteps is the maximum number of steps of a path: spec.services[0].spec.expose.router.eppConfig.config
	// has 8. Each step reads the text below it again.
	mostSteps = 8
	// longestKey is the maximum length of a key in a path.
	longestKey = 63
)

// part is a member of a map or an item of a list.
type part struct {
	step string
	text []byte
}

// largest returns the path of the largest field of an object, and its size. It descends as long as one part is
// more than half of the whole.
func largest(object []byte) (string, int) {
	path, size := "", 0
	for range mostSteps {
		var found part
		each(object, path == "", func(next part) {
			if len(next.text) > len(found.text) {
				found = next
			}
		})
		if path != "" && 2*len(found.text) <= len(object) {
			break
		}
		path, object, size = path+found.step, found.text, len(found.text)
	}
	return strings.TrimPrefix(path, "."), size
}

// deepest returns the path of the field with the deepest nesting of lists and maps below it.
func deepest(object []byte) string {
	path := ""
	for range mostSteps {
		var found part
		depth := 0
		each(object, path == "", func(next part) {
			if below := rawjson.Depth(next.text); below > depth {
				found, depth = next, below
			}
		})
		if depth == 0 {
			break
		}
		path, object = path+found.step, found.text
	}
	return strings.TrimPrefix(path, ".")
}

// each visits the parts of a map or a list. It omits the status and managedFields of a resource.
func each(text []byte, isResource bool, visit func(part)) {
	if rawjson.Members(text, func(name []byte, start, end int) bool {
		switch {
		case isResource && string(name) == "status":
		case isResource && string(name) == "metadata":
			visit(part{".metadata", rawjson.WithoutMember(text[start:end], "managedFields")})
		default:
			visit(part{"." + sanitizeKey(name), text[start:end]})
		}
		return true
	}) {
		return
	}
	count := 0
	rawjson.Items(text, func(start, end int) bool {
		visit(part{fmt.Sprintf("[%d]", count), text[start:end]})
		count++
		return true
	})
}

// sanitizeKey shortens a key and replaces the characters that a status should not contain.
func sanitizeKey(key []byte) string {
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' || r == '\\' || r > '~' {
			return '?'
		}
		return r
	}, string(key))
	return text[:min(len(text), longestKey)]
}
