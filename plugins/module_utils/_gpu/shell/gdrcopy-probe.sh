#!/bin/sh
[ -e /sys/module/gdrdrv/refcnt ] || { echo "the kernel module gdrdrv is not loaded" >&2; exit 1; }
