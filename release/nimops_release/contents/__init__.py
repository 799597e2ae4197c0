# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The contents of an image and their licenses: packages, collections and other files."""
