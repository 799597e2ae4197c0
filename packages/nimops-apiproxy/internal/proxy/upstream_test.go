// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kubeconfig writes one for a server, with a user's fields.
func kubeconfig(t *testing.T, server *httptest.Server, user string) string {
	t.Helper()
	folder := t.TempDir()
	authority := filepath.Join(folder, "ca.crt")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "kubeconfig")
	text := fmt.Sprintf(`
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u, namespace: mine}}]
clusters: [{name: c, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: u, user: {%s}}]
`, server.URL, authority, user)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLoadConfigCredentials(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte("from-a-file"), 0o600); err != nil {
		t.Fatal(err)
	}
	certificate, authority, err := NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, content := range map[string][]byte{"tls.crt": authority, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const execute = `exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh, args: [-c, ` +
		`'echo "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"from-a-program\"}}"']}`
	for name, c := range map[string]struct{ user, want string }{
		"none":        {"", " "},
		"token":       {"token: given", "Bearer given "},
		"token file":  {fmt.Sprintf("tokenFile: %q", secret), "Bearer from-a-file "},
		"program":     {execute, "Bearer from-a-program "},
		"certificate": {fmt.Sprintf("client-certificate: %q, client-key: %q", filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")), " " + entry},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(noPods(func(w http.ResponseWriter, r *http.Request) {
				subject := ""
				if len(r.TLS.PeerCertificates) > 0 {
					subject = r.TLS.PeerCertificates[0].Subject.CommonName
				}
				_, _ = fmt.Fprint(w, r.Header.Get("Authorization"), " ", subject)
			}))
			server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
			server.EnableHTTP2 = true
			server.StartTLS()
			t.Cleanup(server.Close)
			t.Setenv("KUBECONFIG", kubeconfig(t, server, c.user))
			config, namespace, err := LoadConfig()
			if err != nil || namespace != "mine" {
				t.Fatal(namespace, err)
			}
			equal(t, startAt(t, 0, watchesYML, config).get("/version"), c.want)
		})
	}
}

func TestLoadConfigMissing(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("HOME", t.TempDir())
	if _, _, err := LoadConfig(); err == nil || !strings.Contains(err.Error(), "no configuration") {
		t.Error(err)
	}
}

func TestLoadConfigProxyURL(t *testing.T) {
	through := make(chan string, 100)
	middle := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through <- r.Method + " " + r.Host
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(middle.Close)
	server := httptest.NewTLSServer(http.HandlerFunc(echo))
	t.Cleanup(server.Close)
	file := kubeconfig(t, server, "token: x")
	text, _ := os.ReadFile(file)
	text = []byte(strings.Replace(string(text), "cluster: {server:", fmt.Sprintf("cluster: {proxy-url: %q, server:", middle.URL), 1))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	config, _, err := LoadConfig()
	if err != nil {
		t.Fatal(err)
	}
	startAt(t, 0, watchesYML, config).get("/version")
	equal(t, <-through, "CONNECT "+strings.TrimPrefix(server.URL, "https://"))
}
