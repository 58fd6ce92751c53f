#!/bin/sh
# Holds a client in any language to the rules: conformance/run.sh 'CLIENT COMMAND'. --help says more.
exec python3 "$(dirname "$0")/client.py" "$@"
