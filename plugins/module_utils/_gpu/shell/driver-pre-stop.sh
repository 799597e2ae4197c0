#!/bin/sh
# Before the driver container stops: it is not ready any more.
rm -f /run/nvidia/validations/.driver-ctr-ready /run/nvidia/validations/.driver-daemons-status
