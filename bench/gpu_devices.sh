#!/usr/bin/env bash
# Several GPUs of one machine: what they are and how they are connected, the tests of runs over them, then jobs on one
# and on all of them. Usage: gpu_devices.sh FOLDER [TARGET [DEVICES [SHRINK]]], as gpu_devices takes them
set -uo pipefail
folder=$1 target=${2:-cuda}
shift
export LD_LIBRARY_PATH=$PWD/$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
status=0
if command -v nvidia-smi >/dev/null; then
  nvidia-smi --query-gpu=index,name,pcie.link.gen.current,pcie.link.width.current,memory.total --format=csv || true
  nvidia-smi topo -m 2>/dev/null | head -n 20 || true
fi
"$folder/bin/tessera" devices || status=1
TESSERA_TARGET=$target timeout 240 "$folder/bin/test_device" --gtest_filter="*SeveralDevices*" --gtest_brief=1 || status=1
timeout 400 "$folder/bin/gpu_devices" "$@" || status=1
exit $status
