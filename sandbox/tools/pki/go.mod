module nimops.nim/sandbox/tools/pki

go 1.24.0
