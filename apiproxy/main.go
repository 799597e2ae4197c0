// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// nimops-apiproxy stands between ansible-operator and the API server: see README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nimops/nim/apiproxy/internal/proxy"
	"github.com/nimops/nim/apiproxy/internal/request"
	"github.com/nimops/nim/apiproxy/internal/watches"
)

const (
	failed   = 1
	unusable = 2

	// A client that sends no request, on loopback. Nothing limits answers: watches have no end.
	headerTimeout = 10 * time.Second
)

// version is set by the linker.
var version = "0.0.0"

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(arguments []string) int {
	options, err := parseOptions(arguments)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
		return 0
	case err != nil:
		say(err.Error() + " (see --help)")
		return unusable
	case options.version:
		fmt.Println("nimops-apiproxy " + version)
		return 0
	}
	handler, namespace, err := configure(options)
	if err != nil {
		say(err.Error())
		return unusable
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go func() {
		// Whoever started this holds the other end of the pipe, and has ended when it closes.
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if err := serve(ctx, handler, options.kubeconfigOut, namespace); err != nil {
		say(err.Error())
		return failed
	}
	return 0
}

// proxied is a proxy and what its clients authenticate with.
type proxied struct {
	*proxy.Proxy
	token string
}

func configure(options options) (proxied, string, error) {
	primaries, err := watches.Load(options.watchesFile)
	if err != nil {
		return proxied{}, "", err
	}
	config, namespace, err := proxy.LoadConfig()
	if err != nil {
		return proxied{}, "", fmt.Errorf("no API server: %w", err)
	}
	upstream, err := proxy.NewUpstream(config, "nimops-apiproxy/"+version)
	if err != nil {
		return proxied{}, "", fmt.Errorf("unusable kubeconfig: %w", err)
	}
	token := proxy.NewToken()
	made, err := proxy.New(proxy.Options{
		Upstream:   upstream,
		Token:      token,
		Primaries:  primaries,
		Selector:   options.selector,
		Spread:     options.spread,
		Runtime:    request.Runtime{UserAgent: options.userAgent},
		Namespaces: splitNamespaces(os.Getenv("WATCH_NAMESPACE")),
		Say:        say,
	})
	return proxied{made, token}, namespace, err
}

// serve answers until the context ends.
func serve(ctx context.Context, handler proxied, kubeconfig, namespace string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	go handler.Run(ctx)
	// The kernel accepts connections from now on.
	if err := proxy.WriteKubeconfig(kubeconfig, "http://"+listener.Addr().String(), handler.token, namespace); err != nil {
		_ = server.Close()
		return fmt.Errorf("cannot write the kubeconfig: %w", err)
	}
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = nil
	}
	_ = os.Remove(kubeconfig) // Its token is of no use to anybody.
	_ = server.Close()
	return err
}

func say(text string) {
	fmt.Fprintln(os.Stderr, "nimops-apiproxy: "+text)
}
