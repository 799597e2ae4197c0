// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// largestObject limits how much of an object is read. Objects are much smaller: etcd rejects larger ones.
const largestObject = 32 << 20

// LoadConfig finds the API server as controller-runtime does: from KUBECONFIG, the pod's service account, or the
// kubeconfig in the home directory. It also returns the namespace of the context.
func LoadConfig() (*rest.Config, string, error) {
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		config, err := rest.InClusterConfig()
		if err == nil {
			namespace, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
			if err != nil {
				return config, "default", nil
			}
			return config, string(namespace), nil
		}
		if !errors.Is(err, rest.ErrNotInCluster) {
			return nil, "", err
		}
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", err
	}
	namespace, _, err := loader.Namespace()
	return config, namespace, err
}

// Upstream is a client of the API server.
type Upstream struct {
	url       *url.URL
	transport http.RoundTripper
	// following is for the proxy's own watches.
	following http.RoundTripper
	userAgent string
}

// NewUpstream returns a client that authenticates as the configuration says, with all methods of client-go.
func NewUpstream(config *rest.Config, userAgent string) (*Upstream, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = userAgent
	// Compressed responses pass compressed; the proxy does not request compression itself.
	config.DisableCompression = true
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	plain, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	config.NextProtos = []string{"http/1.1"}
	upgrading, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	following, err := rest.TransportFor(withReadAhead(config))
	if err != nil {
		return nil, err
	}
	return &Upstream{url: server, transport: byUpgrade{plain, upgrading}, following: following, userAgent: userAgent}, nil
}

// withReadAhead reads all data that a connection has: TLS alone would make two system calls per event.
func withReadAhead(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return readAhead{connection, bufio.NewReaderSize(connection, 64<<10)}, nil
	}
	return config
}

// readAhead is a connection with a read buffer.
type readAhead struct {
	net.Conn
	in *bufio.Reader
}

func (r readAhead) Read(into []byte) (int, error) { return r.in.Read(into) }

// byUpgrade sends requests that upgrade the protocol (exec, port-forward) over HTTP/1.1, because HTTP/2 has no
// upgrade.
type byUpgrade struct{ plain, upgrading http.RoundTripper }

func (b byUpgrade) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Upgrade") != "" {
		return b.upgrading.RoundTrip(r)
	}
	return b.plain.RoundTrip(r)
}

// statusError is the status code of a response other than 200.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("HTTP status %d", int(s)) }

// open sends a GET on the proxy's own behalf.
func (u *Upstream) open(ctx context.Context, path, query, accept string) (io.ReadCloser, error) {
	return u.ask(ctx, u.transport, http.MethodGet, path, query, nil, "Accept", accept)
}

// follow opens a watch over its own HTTP/1.1 connection: HTTP/2 costs several times as much per event.
func (u *Upstream) follow(ctx context.Context, path, query, accept string) (io.ReadCloser, error) {
	return u.ask(ctx, u.following, http.MethodGet, path, query, nil, "Accept", accept)
}

// ask returns the body of a response with status 200.
func (u *Upstream) ask(
	ctx context.Context, by http.RoundTripper, method, path, query string, body io.Reader, headers ...string,
) (io.ReadCloser, error) {
	target := *u.url.JoinPath(path)
	target.RawQuery = query
	request, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", u.userAgent)
	for at := 0; at < len(headers); at += 2 {
		request.Header.Set(headers[at], headers[at+1])
	}
	response, err := by.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusCreated {
		_ = response.Body.Close()
		return nil, statusError(response.StatusCode)
	}
	return response.Body, nil
}

// get returns an object.
func (u *Upstream) get(ctx context.Context, path string) ([]byte, error) {
	body, err := u.open(ctx, path, "", wholeObjects)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	return io.ReadAll(io.LimitReader(body, largestObject))
}

// mergePatch patches an object.
func (u *Upstream) mergePatch(ctx context.Context, path, manager string, change []byte) error {
	body, err := u.ask(ctx, u.transport, http.MethodPatch, path, url.Values{"fieldManager": {manager}}.Encode(), bytes.NewReader(change),
		"Accept", metadataOnly, "Content-Type", mergePatchType)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	_, err = io.Copy(io.Discard, body)
	return err
}

// isGone reports whether an error means that the object does not exist.
func isGone(err error) bool {
	var status statusError
	return errors.As(err, &status) && status == http.StatusNotFound
}
