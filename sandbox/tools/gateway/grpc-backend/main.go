// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Command grpc-backend plays the gRPC port of a model server, and a client of it.
//
//	grpc-backend serve PORT
//	grpc-backend ask [--authority NAME] HOST:PORT
//
// The former answers health checks, and adds the address that a request arrived at as a header. The latter prints
// the status and that address. The exit status is 1 if there is no answer.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

const (
	header  = "x-answered-by"
	timeout = 5 * time.Second
)

type server struct {
	health.UnimplementedHealthServer
}

func (server) Check(ctx context.Context, _ *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	if from, ok := peer.FromContext(ctx); ok && from.LocalAddr != nil {
		if err := grpc.SetHeader(ctx, metadata.Pairs(header, from.LocalAddr.String())); err != nil {
			return nil, err
		}
	}
	return &health.HealthCheckResponse{Status: health.HealthCheckResponse_SERVING}, nil
}

func main() {
	if len(os.Args) < 3 {
		fail("usage: grpc-backend serve PORT|ask [--authority NAME] HOST:PORT")
	}
	switch os.Args[1] {
	case "serve":
		serve(os.Args[2])
	case "ask":
		flags := flag.NewFlagSet("ask", flag.ExitOnError)
		authority := flags.String("authority", "", "the host name that the request is for")
		_ = flags.Parse(os.Args[2:])
		ask(flags.Arg(0), *authority)
	default:
		fail("not a command: " + os.Args[1])
	}
}

func serve(port string) {
	listener, err := net.Listen("tcp", "0.0.0.0:"+port)
	check(err)
	serving := grpc.NewServer()
	health.RegisterHealthServer(serving, server{})
	check(serving.Serve(listener))
}

func ask(address, authority string) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	connection, err := grpc.NewClient(
		address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority(authority),
	)
	check(err)
	var headers metadata.MD
	answer, err := health.NewHealthClient(connection).Check(ctx, &health.HealthCheckRequest{}, grpc.Header(&headers))
	check(err)
	fmt.Println(answer.GetStatus(), headers.Get(header))
}

func check(err error) {
	if err != nil {
		fail(err.Error())
	}
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, "grpc-backend: "+message)
	os.Exit(1)
}
