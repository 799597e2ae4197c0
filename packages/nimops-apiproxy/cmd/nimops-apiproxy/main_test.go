// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// TestMain runs the proxy if a test starts this binary as the program.
func TestMain(m *testing.M) {
	if os.Getenv("AS_PROXY") != "" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func TestParseOptions(t *testing.T) {
	for name, c := range map[string]struct {
		arguments string
		fails     bool
	}{
		"usual":          {"--watches-file w --kubeconfig-out k", false},
		"all":            {"--watches-file=w --kubeconfig-out=k --label-selector a=b --spread 0 --user-agent x", false},
		"no watches":     {"--kubeconfig-out k", true},
		"no kubeconfig":  {"--watches-file w", true},
		"a word":         {"--watches-file w --kubeconfig-out k x", true},
		"unknown":        {"--other", true},
		"no bytes":       {"--watches-file w --kubeconfig-out k --max-resource-bytes 0", true},
		"negative":       {"--watches-file w --kubeconfig-out k --spread -1s", true},
		"no interval":    {"--watches-file w --kubeconfig-out k --interval=-1s", true},
		"no duration":    {"--watches-file w --kubeconfig-out k --spread 5", true},
		"empty selector": {"--watches-file w --kubeconfig-out k --label-selector=", true},
		"no metrics":     {"--watches-file w --kubeconfig-out k --metrics-bind-address :1", true},
		"not secure":     {"--watches-file w --kubeconfig-out k --metrics-require-rbac", true},
		"restricted":     {"--watches-file w --kubeconfig-out k --metrics-require-rbac --metrics-secure", false},
		"no user agent":  {"--watches-file w --kubeconfig-out k --user-agent=", true},
		"version":        {"--version", false},
	} {
		if _, err := parseOptions(strings.Fields(c.arguments)); (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := parseOptions([]string{"--help"}); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
	if got := splitNamespaces(" a, b,,"); !slices.Equal(got, []string{"a", "b"}) {
		t.Error(got)
	}
}

// program is the proxy as its users start it.
type program struct {
	*exec.Cmd
	hold   io.Closer
	errors strings.Builder
	file   string
}

func start(t *testing.T, kubeconfig string, arguments ...string) *program {
	t.Helper()
	folder := t.TempDir()
	watches := filepath.Join(folder, "watches.yaml")
	if err := os.WriteFile(watches, []byte("- {group: a, version: v1, kind: B}"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &program{file: filepath.Join(folder, "out")}
	p.Cmd = exec.Command(os.Args[0], append([]string{"--watches-file", watches, "--kubeconfig-out", p.file}, arguments...)...)
	p.Env = append(os.Environ(), "AS_PROXY=1", "KUBECONFIG="+kubeconfig)
	p.Stderr = &p.errors
	var err error
	if p.hold, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

func (p *program) becomesReady(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(p.file); err == nil {
			return
		}
	}
	t.Fatal("no kubeconfig:", p.errors.String())
}

func (p *program) ends(t *testing.T, code int) {
	t.Helper()
	_ = p.Wait()
	if got := p.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, not %d: %s", got, code, p.errors.String())
	}
	if _, err := os.Stat(p.file); err == nil {
		t.Error("the kubeconfig remains")
	}
}

func upstream(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "hello")
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, namespace: mine}}], clusters: [{name: c, cluster: {server: \"" + server.URL + "\"}}]}"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRun(t *testing.T) {
	p := start(t, upstream(t))
	p.becomesReady(t)
	if info, _ := os.Stat(p.file); info.Mode() != 0o600 {
		t.Error(info.Mode())
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: p.file}, &clientcmd.ConfigOverrides{})
	config, err := loader.ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	if namespace, _, _ := loader.Namespace(); namespace != "mine" || len(config.BearerToken) != 64 || !strings.HasPrefix(config.Host, "https://127.0.0.1:") {
		t.Error(namespace, config.Host)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	if text, status := get(t, client, config.Host); text != "hello" || status != http.StatusOK {
		t.Error(text, status)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.CAData)
	anonymous := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	if _, status := get(t, anonymous, config.Host); status != http.StatusUnauthorized {
		t.Error(status)
	}
	_ = p.hold.Close()
	p.ends(t, 0)
	if p.errors.Len() > 0 && !strings.Contains(p.errors.String(), "pods") {
		t.Error(p.errors.String())
	}
}

func get(t *testing.T, client *http.Client, url string) (string, int) {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return string(text), response.StatusCode
}

func TestRunSignal(t *testing.T) {
	p := start(t, upstream(t))
	p.becomesReady(t)
	_ = p.Process.Signal(os.Interrupt)
	p.ends(t, 0)
}

func TestRunUnusableOptions(t *testing.T) {
	start(t, "/does/not/exist").ends(t, unusable)
	for _, arguments := range [][]string{{"--watches-file", "/does/not/exist"}, {"--label-selector", "a in"}, {"--unknown"}} {
		start(t, upstream(t), arguments...).ends(t, unusable)
	}
	p := start(t, upstream(t), "--kubeconfig-out", "/does/not/exist")
	p.ends(t, failed)
	if got := p.errors.String(); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "nimops-apiproxy: ") {
		t.Error(got)
	}
}

func TestRunMetrics(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	given := []string{"--metrics", "http://127.0.0.1:1/metrics", "--metrics-bind-address", address, "--metrics-secure"}
	p := start(t, upstream(t), given...)
	p.becomesReady(t)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	if text, status := get(t, client, "https://"+address+"/metrics"); status != http.StatusOK || !strings.Contains(text, "nimops_") {
		t.Error(status, text)
	}
	start(t, upstream(t), given...).ends(t, failed) // The address is taken.
	_ = p.hold.Close()
	p.ends(t, 0)
}
