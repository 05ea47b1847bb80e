#!/usr/bin/env bash
# Device tests on a machine with a GPU: the CUDA layer's own, arrays, streams and transforms, then random programs against the interpreter in PARTS
# processes of CASES cases, then the programs of the zoo, their windows and the regressions. Usage: gpu_tests.sh FOLDER [CASES] [PARTS] [TARGET];
# what takes longer than $LIMIT seconds has failed; what runs beside each other is run $TURNS times
set -uo pipefail
status=0
folder=$1 cases=${2:-60} parts=${3:-12} target=${4:-cuda}
log=$(mktemp -d)
export TESSERA_ZOO_FOLDER=${TESSERA_ZOO_FOLDER:-$PWD/tests/zoo}
export TESSERA_TARGET=$target TESSERA_SHRINK_SECONDS=20 TESSERA_TURNS=${TURNS:-400}
# One of them takes all of the memory: alone.
"$folder/test_run_cuda" --gtest_filter='Real*' >"$log/real" 2>&1
"$folder/test_device" --gtest_filter="*DeviceArrays*/$target:*DeviceFft*/$target:*Spectra*/$target:*LargeTiles*/$target:*SeveralDevices*/$target" >"$log/arrays" 2>&1 &
for part in $(seq "$parts"); do
  TESSERA_CASES=$cases TESSERA_SEED=$((part * 100000 + ${SEED:-0})) timeout "${LIMIT:-560}" "$folder/test_differential" --gtest_filter='Random*' >"$log/random.$part" 2>&1 &
done
for part in 0 1 2 3 4 5 6 7; do
  TESSERA_PART=$part/8 timeout "${LIMIT:-560}" "$folder/test_differential" --gtest_filter='Zoo*' >"$log/zoo.$part" 2>&1 &
done
for part in 0 1 2 3; do
  TESSERA_SAMPLE=$part/4 timeout "${LIMIT:-560}" "$folder/test_differential" --gtest_filter='Windows*' >"$log/windows.$part" 2>&1 &
done
timeout "${LIMIT:-560}" "$folder/test_differential" --gtest_filter='Regression*' >"$log/regression" 2>&1 &
wait
cat "$log"/random.* | grep -h "cases," | sort | uniq -c
for f in "$log"/*; do
  grep -q "PASSED.* [1-9][0-9]* test" "$f" && ! grep -q FAILED "$f" && continue
  echo "FAILED: ${f##*/}"
  status=1
  grep -v "^\[ RUN\|^\[       OK" "$f" | cut -c1-400 | head -n 25
done
grep -h "cases," "$log"/zoo.* "$log/regression"
exit $status
