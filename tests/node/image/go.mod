module nimops.nim/tests/node/image

go 1.24.0
