VERSION = "version 1"
