// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"nimops.nim/apiproxy/internal/stub"
)

const usage = `Usage: nimops-apiproxy --watches-file FILE --kubeconfig-out FILE [options]

A proxy between ansible-operator and the API server that KUBECONFIG names, by default the pod's. It listens on
loopback and writes a kubeconfig for ansible-operator when it is ready. It stops when its standard input closes,
or at SIGTERM or SIGINT.

  --watches-file FILE      the runtime's watches.yaml; its kinds are never filtered
  --kubeconfig-out FILE    the kubeconfig to write
  --label-selector TEXT    the objects of all other kinds that the runtime sees (app.kubernetes.io/managed-by=k8s-nim-operator)
  --spread DURATION        after a start, the period over which resources at rest reach the runtime (5m); 0: no deferral
  --interval DURATION      the time between two of them, if the period allows it (200ms)
  --metrics URL            the runtime's metrics, such as http://127.0.0.1:8080/metrics; a resource at rest then also waits
                           while the runtime is busy
  --metrics-bind-address ADDRESS
                           where to serve the runtime's metrics together with those of its resources, such as :8080
  --metrics-secure         serve them with TLS and a self-signed certificate
  --metrics-require-rbac   serve them only to clients that may get /metrics; needs --metrics-secure
  --counters FILE          counters of the passes, which these metrics include
  --max-resource-bytes N   the size above which the runtime sees a resource of watches.yaml as a stub (262144)
  --user-agent NAME        the runtime's User-Agent, up to the slash (ansible-operator)
  --version                show the version
  --help                   show this text

Environment: WATCH_NAMESPACE, as for the runtime, limits the namespaces whose pods are watched.
Exit codes: 0 stopped as requested, 1 failure, 2 wrong usage or unusable configuration.
`

type options struct {
	watchesFile, kubeconfigOut, selector, metrics, userAgent string
	metricsAddress, counters                                 string
	spread, interval                                         time.Duration
	maxResourceBytes                                         int
	isSecure, isRestricted, version                          bool
}

// parseOptions parses the command line; the error is flag.ErrHelp for --help.
func parseOptions(arguments []string) (options, error) {
	var found options
	flags := flag.NewFlagSet("nimops-apiproxy", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&found.watchesFile, "watches-file", "", "")
	flags.StringVar(&found.kubeconfigOut, "kubeconfig-out", "", "")
	flags.StringVar(&found.selector, "label-selector", "app.kubernetes.io/managed-by=k8s-nim-operator", "")
	flags.DurationVar(&found.spread, "spread", 5*time.Minute, "")
	flags.DurationVar(&found.interval, "interval", 200*time.Millisecond, "")
	flags.StringVar(&found.metrics, "metrics", "", "")
	flags.StringVar(&found.metricsAddress, "metrics-bind-address", "", "")
	flags.BoolVar(&found.isSecure, "metrics-secure", false, "")
	flags.BoolVar(&found.isRestricted, "metrics-require-rbac", false, "")
	flags.StringVar(&found.counters, "counters", "", "")
	flags.IntVar(&found.maxResourceBytes, "max-resource-bytes", stub.MaxBytes, "")
	flags.StringVar(&found.userAgent, "user-agent", "ansible-operator", "")
	flags.BoolVar(&found.version, "version", false, "")
	if err := flags.Parse(arguments); err != nil || found.version {
		return found, err
	}
	switch {
	case flags.NArg() > 0:
		return found, fmt.Errorf("unknown argument %s", flags.Arg(0))
	case found.watchesFile == "":
		return found, errors.New("--watches-file is missing")
	case found.kubeconfigOut == "":
		return found, errors.New("--kubeconfig-out is missing")
	case found.selector == "":
		return found, errors.New("--label-selector is empty")
	case found.userAgent == "":
		return found, errors.New("--user-agent is empty")
	case found.spread < 0:
		return found, errors.New("--spread is negative")
	case found.interval < 0:
		return found, errors.New("--interval is negative")
	case found.metricsAddress != "" && found.metrics == "":
		return found, errors.New("--metrics-bind-address needs --metrics")
	case found.isRestricted && !found.isSecure:
		return found, errors.New("--metrics-require-rbac needs --metrics-secure")
	case found.maxResourceBytes <= 0:
		return found, errors.New("--max-resource-bytes is not positive")
	}
	return found, nil
}

// splitNamespaces parses WATCH_NAMESPACE as the runtime does. An empty result stands for all namespaces.
func splitNamespaces(text string) []string {
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}
