// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package fleet

func init() { slowdown = 10 } // The race detector's.
