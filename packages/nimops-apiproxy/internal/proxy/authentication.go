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

// authenticate lets nobody pass who does not know the token: others on this machine reach the port, too.
//
// The token goes no further; the upstream credential takes its place. Nobody may act as somebody else
// with that credential: the runtime never asks for it, so who does is not the runtime.
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
