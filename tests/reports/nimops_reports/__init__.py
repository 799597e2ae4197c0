# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Cases from public bug reports, as data: the input, the steps, and the right outcome."""
