// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Command keda-metrics-apiserver serves KEDA's external metrics. KEDA's own program also serves its own
// metrics, on all addresses of the machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/metricsservice"
	"github.com/kedacore/keda/v2/pkg/provider"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/cmd"
)

func main() {
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "keda-metrics-apiserver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	adapter := &cmd.AdapterBase{Name: "keda-metrics-apiserver"}
	address := adapter.Flags().String("metrics-service-address", "", "The address of keda-operator.")
	adapter.Flags().AddGoFlagSet(flag.CommandLine)
	if err := adapter.Flags().Parse(os.Args[1:]); err != nil {
		return err
	}
	if err := v1alpha1.SchemeBuilder.AddToScheme(scheme.Scheme); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme.Scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	certificates := adapter.SecureServing.ServerCert.CertDirectory
	client, err := metricsservice.NewGrpcClient(ctx, *address, certificates, "", "", grpcprom.NewClientMetrics(), false)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	adapter.WithExternalMetrics(provider.NewProvider(ctx, ctrl.Log, manager.GetClient(), *client))
	go func() { ended <- adapter.Run(ctx) }()
	return <-ended
}
