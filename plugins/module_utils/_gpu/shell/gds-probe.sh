#!/bin/sh
[ -e /sys/module/nvidia_fs/refcnt ] || { echo "the kernel module nvidia_fs is not loaded" >&2; exit 1; }
