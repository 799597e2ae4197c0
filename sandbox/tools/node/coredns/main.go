// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Command coredns is the cluster's DNS, with only the plugins that a cluster without a way out can use.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() {
	// In the order in which they are asked: what is not in the cluster does not exist.
	dnsserver.Directives = []string{"bind", "errors", "kubernetes", "template"}
	coremain.Run()
}
