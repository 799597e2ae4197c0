// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"encoding/json"
	"net/http"
)

// Reasons of a Status.
const (
	badRequest         = "BadRequest"
	unauthorized       = "Unauthorized"
	forbidden          = "Forbidden"
	invalid            = "Invalid"
	serviceUnavailable = "ServiceUnavailable"
	unknown            = ""
)

// answerError writes a Status as the API server does, so that clients show the message.
func answerError(w http.ResponseWriter, code int, reason, message string) {
	body, _ := json.Marshal(map[string]any{
		"kind":       "Status",
		"apiVersion": "v1",
		"metadata":   map[string]any{},
		"status":     "Failure",
		"message":    message,
		"reason":     reason,
		"code":       code,
	})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache, private")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n'))
}
