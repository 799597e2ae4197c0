// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strings"
)

// NewToken returns a bearer token of 256 random bits.
func NewToken() string {
	token := make([]byte, 32)
	_, _ = rand.Read(token) // It never fails: see its documentation.
	return hex.EncodeToString(token)
}

// authenticate rejects requests without the token, because other processes on this machine reach the port as well.
//
// The token is not forwarded; the upstream credential replaces it. Impersonation with that credential is
// rejected: the runtime never impersonates, so such a request comes from another client.
func authenticate(token string, next http.Handler) http.Handler {
	expected := []byte("Bearer " + token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := []byte(r.Header.Get("Authorization"))
		if subtle.ConstantTimeCompare(given, expected) != 1 {
			answerError(w, http.StatusUnauthorized, unauthorized, "Unauthorized")
			return
		}
		for name := range r.Header {
			if strings.HasPrefix(name, "Impersonate-") {
				answerError(w, http.StatusForbidden, forbidden, "nimops-apiproxy: impersonation is not allowed")
				return
			}
		}
		r.Header.Del("Authorization")
		next.ServeHTTP(w, r)
	})
}
