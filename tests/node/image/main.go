// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Command probe is what the pods of the node's tests run.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

const (
	usage   = "usage: probe serve | get URL | api PATH | write FILE TEXT | id"
	account = "/var/run/secrets/kubernetes.io/serviceaccount/"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func run(words []string) error {
	switch {
	case len(words) == 1 && words[0] == "serve":
		return serve()
	case len(words) == 2 && words[0] == "get":
		return get(words[1])
	case len(words) == 2 && words[0] == "api":
		return api(words[1])
	case len(words) == 3 && words[0] == "write":
		return os.WriteFile(words[1], []byte(words[2]), 0o600)
	case len(words) == 1 && words[0] == "id":
		fmt.Printf("%d:%d\n", os.Getuid(), os.Getgid())
		return nil
	}
	return errors.New(usage)
}

// serve is ready after two seconds, and prints each request but those of probes.
func serve() error {
	started := time.Now()
	http.HandleFunc("/ready", func(answer http.ResponseWriter, _ *http.Request) {
		if time.Since(started) < 2*time.Second {
			answer.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("/", func(answer http.ResponseWriter, request *http.Request) {
		name, _ := os.Hostname()
		fmt.Println("asked for", request.URL.Path)
		fmt.Fprintln(answer, "answer of", name)
	})
	fmt.Println("serving")
	return http.ListenAndServe(":8080", nil)
}

func get(url string) error {
	client := http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	_, err = io.Copy(os.Stdout, answer.Body)
	return err
}

// api prints what the API server answers the pod's ServiceAccount.
func api(path string) error {
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return err
	}
	certificate, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return err
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(certificate)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}}
	request, err := http.NewRequest(http.MethodGet, "https://kubernetes.default.svc"+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	client := http.Client{Timeout: 5 * time.Second, Transport: transport}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(os.Stdout, answer.Body)
	return err
}
