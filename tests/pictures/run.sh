#!/bin/sh
# run.sh TESSERA FILE [options of pytest]: runs the tests of one file against the command TESSERA, with the Python of
# $TESSERA_PEERS (build/pictures, where `./dev test` made it). GTEST_OUTPUT=xml:FOLDER/ names where the report goes.
set -eu
tessera=$1 file=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${TESSERA_PEERS:-$root/build/pictures}/bin/python
if [ ! -x "$python" ]; then
  echo "no $python: ./dev test makes it of scripts/requirements/peers.txt" >&2
  exit 1
fi
report=
case ${GTEST_OUTPUT:-} in
  xml:*) report=--junitxml=${GTEST_OUTPUT#xml:}$(basename "$file" .py).xml ;;
esac
TESSERA=$tessera exec "$python" -m pytest -q -p no:cacheprovider --rootdir "$(dirname "$file")" ${report:+"$report"} "$file" "$@"
