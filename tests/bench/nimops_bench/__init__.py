# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The costs of the operator, with prefork and without; for the measurements see README.md in the folder above."""
