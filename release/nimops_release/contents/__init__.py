# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""What an image contains, and under which licenses: packages, collections, and files of neither."""
