# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What the operator costs, with prefork and without; README.md of the folder above says how it is measured."""
