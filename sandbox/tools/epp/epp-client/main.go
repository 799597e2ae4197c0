// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Command epp-client asks an endpoint picker as a kubelet and a gateway do.
//
//	epp-client health [--address HOST:PORT] [--service NAME]
//	epp-client pick [--address HOST:PORT] [--model NAME]
//
// The former prints the health of a gRPC service, the latter the address to send a request to, or the
// response that the picker has instead. The exit status is 1 if the picker is not healthy or picks none.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
)

const (
	destination = "x-gateway-destination-endpoint"
	timeout     = 5 * time.Second
)

func main() {
	if len(os.Args) < 2 {
		fail("usage: epp-client health|pick [flags]")
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	address := flags.String("address", "", "of the picker, instead of its default port of loopback")
	service := flags.String("service", "", "the service whose health to ask for")
	model := flags.String("model", "acme/tiny-llm", "the model that the request names")
	_ = flags.Parse(os.Args[2:])
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	switch os.Args[1] {
	case "health":
		askHealth(ctx, connect(*address, "127.0.0.1:9003", insecure.NewCredentials()), *service)
	case "pick":
		// The picker signs its certificate itself.
		secure := credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
		pick(ctx, connect(*address, "127.0.0.1:9002", secure), *model)
	default:
		fail("not a command: " + os.Args[1])
	}
}

func connect(address, standard string, security credentials.TransportCredentials) *grpc.ClientConn {
	if address == "" {
		address = standard
	}
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(security))
	check(err)
	return connection
}

func askHealth(ctx context.Context, connection *grpc.ClientConn, service string) {
	answer, err := health.NewHealthClient(connection).Check(ctx, &health.HealthCheckRequest{Service: service})
	check(err)
	fmt.Println(answer.GetStatus())
	if answer.GetStatus() != health.HealthCheckResponse_SERVING {
		os.Exit(1)
	}
}

// pick sends the headers and the body of a chat, as Envoy does, until an answer names a destination.
func pick(ctx context.Context, connection *grpc.ClientConn, model string) {
	stream, err := extproc.NewExternalProcessorClient(connection).Process(ctx)
	check(err)
	for _, request := range requests(model) {
		check(stream.Send(request))
	}
	for {
		answer, err := stream.Recv()
		check(err)
		if instead := answer.GetImmediateResponse(); instead != nil {
			fail(fmt.Sprintf("%s: %s", instead.GetStatus().GetCode(), instead.GetBody()))
		}
		common := answer.GetRequestHeaders().GetResponse()
		for _, option := range common.GetHeaderMutation().GetSetHeaders() {
			if option.GetHeader().GetKey() == destination {
				fmt.Println(string(option.GetHeader().GetRawValue()))
				return
			}
		}
	}
}

func requests(model string) []*extproc.ProcessingRequest {
	messages := []map[string]string{{"role": "user", "content": "Which pod are you?"}}
	body, err := json.Marshal(map[string]any{"model": model, "messages": messages})
	check(err)
	headers := &core.HeaderMap{Headers: []*core.HeaderValue{
		{Key: ":method", RawValue: []byte("POST")},
		{Key: ":path", RawValue: []byte("/v1/chat/completions")},
		{Key: "content-type", RawValue: []byte("application/json")},
	}}
	return []*extproc.ProcessingRequest{
		{Request: &extproc.ProcessingRequest_RequestHeaders{
			RequestHeaders: &extproc.HttpHeaders{Headers: headers},
		}},
		{Request: &extproc.ProcessingRequest_RequestBody{
			RequestBody: &extproc.HttpBody{Body: body, EndOfStream: true},
		}},
	}
}

func check(err error) {
	if err != nil {
		fail(err.Error())
	}
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, "epp-client: "+message)
	os.Exit(1)
}
