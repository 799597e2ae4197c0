#!/bin/sh
# Before the validator stops: what it has told is not so any more.
rm -f /run/nvidia/validations/*-ready
