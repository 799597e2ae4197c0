// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Command knative-serving runs the controllers, webhooks and autoscaler of Knative Serving in one process.
// Knative's own programs serve webhooks, probes, profiles and statistics on all addresses of the machine, this
// one only the webhooks, on loopback. It omits domain mappings and certificates, and simulates what needs
// running pods: see simulated.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	filteredinformerfactory "knative.dev/pkg/client/injection/kube/informers/factory/filtered"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/injection"
	"knative.dev/pkg/injection/sharedmain"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/signals"
	"knative.dev/pkg/webhook"
	"knative.dev/pkg/webhook/certificates"
	"knative.dev/serving/pkg/apis/serving"
	"knative.dev/serving/pkg/reconciler/configuration"
	"knative.dev/serving/pkg/reconciler/gc"
	"knative.dev/serving/pkg/reconciler/labeler"
	"knative.dev/serving/pkg/reconciler/revision"
	"knative.dev/serving/pkg/reconciler/route"
	"knative.dev/serving/pkg/reconciler/serverlessservice"
	"knative.dev/serving/pkg/reconciler/service"
)

const component = "knative-serving"

func main() {
	port := flag.Int("webhook-port", 8443, "The loopback port of the webhooks.")
	config := injection.ParseAndGetRESTConfigOrDie()
	config.QPS, config.Burst = 100, 200
	if err := run(signals.NewContext(), config, *port); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", component, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, config *rest.Config, port int) error {
	ctx = filteredinformerfactory.WithSelectors(ctx, serving.RevisionUID)
	ctx = webhook.WithOptions(ctx, webhook.Options{ServiceName: webhookService, SecretName: webhookSecret, Port: port})
	ctx, startInformers := injection.EnableInjectionOrDie(ctx, config)
	logger, _ := sharedmain.SetupLoggerOrDie(ctx, component)
	ctx = logging.WithLogger(ctx, logger)
	settings := sharedmain.SetupConfigMapWatchOrDie(ctx, logger)
	controllers, admission := sharedmain.ControllersAndWebhooksFromCtors(ctx, settings,
		certificates.NewController,
		newDefaulting,
		newValidation,
		newConfigValidation,
		configuration.NewController,
		labeler.NewController,
		revision.NewController,
		route.NewController,
		serverlessservice.NewController,
		service.NewController,
		gc.NewController,
		newIngress,
	)
	controllers = append(controllers, newAutoscaler(ctx, settings)...)
	hooks, err := webhook.New(ctx, admission)
	if err != nil {
		return err
	}
	if err := settings.Start(ctx.Done()); err != nil {
		return err
	}
	startInformers()
	hooks.InformersHaveSynced()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serve(ctx, hooks, port) })
	group.Go(func() error { return controller.StartAll(ctx, controllers...) })
	return group.Wait()
}
