// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Command nimops-apiproxy is a proxy between ansible-operator and the API server: see the README.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"nimops.nim/apiproxy/internal/proxy"
	"nimops.nim/apiproxy/internal/request"
	"nimops.nim/apiproxy/internal/stub"
	"nimops.nim/apiproxy/internal/watches"
)

const (
	// failed and unusable are exit codes: see usage.
	failed   = 1
	unusable = 2

	// headerTimeout limits the time to read a request's header. Responses have no limit: watches have no end.
	headerTimeout = 10 * time.Second
	// scrapeTimeout limits the time of a scrape.
	scrapeTimeout = time.Minute
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
		logLine(err.Error() + " (see --help)")
		return unusable
	case options.version:
		fmt.Println("nimops-apiproxy " + version)
		return 0
	}
	handler, access, err := configure(options)
	if err != nil {
		logLine(err.Error())
		return unusable
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go func() {
		// The parent process holds the other end of this pipe, which closes when the parent ends.
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	err = serveMetrics(ctx, handler, options)
	if err == nil {
		err = serve(ctx, handler, options.kubeconfigOut, access)
	}
	if err != nil {
		logLine(err.Error())
		return failed
	}
	return 0
}

func configure(options options) (*proxy.Proxy, proxy.Access, error) {
	primaries, err := watches.Load(options.watchesFile)
	if err != nil {
		return nil, proxy.Access{}, err
	}
	config, namespace, err := proxy.LoadConfig()
	if err != nil {
		return nil, proxy.Access{}, fmt.Errorf("no API server: %w", err)
	}
	upstream, err := proxy.NewUpstream(config, "nimops-apiproxy/"+version)
	if err != nil {
		return nil, proxy.Access{}, fmt.Errorf("unusable kubeconfig: %w", err)
	}
	access := proxy.Access{Token: proxy.NewToken(), Namespace: namespace}
	handler, err := proxy.New(proxy.Options{
		Upstream:   upstream,
		Token:      access.Token,
		Primaries:  primaries,
		Selector:   options.selector,
		Spread:     options.spread,
		Interval:   options.interval,
		Metrics:    options.metrics,
		Limits:     stub.Limits{Bytes: options.maxResourceBytes, Depth: stub.MaxDepth},
		Runtime:    request.Runtime{UserAgent: options.userAgent},
		Namespaces: splitNamespaces(os.Getenv("WATCH_NAMESPACE")),
		Log:        logLine,
	})
	return handler, access, err
}

// serve handles requests until the context ends.
func serve(ctx context.Context, handler *proxy.Proxy, kubeconfig string, access proxy.Access) error {
	certificate, authority, err := proxy.NewCertificate()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13},
		// HTTP/1.1 costs less than HTTP/2 between two processes that keep their connections open.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		ErrorLog:     log.New(io.Discard, "", 0),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(listener, "", "") }()
	go handler.Run(ctx)
	// The kernel accepts connections from now on.
	access.Server, access.Authority = "https://"+listener.Addr().String(), authority
	if err := proxy.WriteKubeconfig(kubeconfig, access); err != nil {
		_ = server.Close()
		return fmt.Errorf("cannot write the kubeconfig: %w", err)
	}
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = nil
	}
	_ = os.Remove(kubeconfig) // Its token is no longer valid.
	_ = server.Close()
	return err
}

// serveMetrics starts to serve metrics until the context ends, if an address is given.
func serveMetrics(ctx context.Context, handler *proxy.Proxy, options options) error {
	if options.metricsAddress == "" {
		return nil
	}
	listener, err := net.Listen("tcp", options.metricsAddress)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	if options.isSecure {
		certificate, _, err := proxy.NewCertificate()
		if err != nil {
			return err
		}
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	}
	server := &http.Server{
		Handler:           handler.Metrics(options.counters, options.isRestricted),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       headerTimeout,
		WriteTimeout:      scrapeTimeout,
		IdleTimeout:       2 * scrapeTimeout,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	go func() { _ = server.Serve(listener) }()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return nil
}

func logLine(text string) {
	fmt.Fprintln(os.Stderr, "nimops-apiproxy: "+text)
}
