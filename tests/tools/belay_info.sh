# belay info: text and JSON agree with what the environment asks for.
set -uo pipefail
belay=$1/bin/belay
export BELAY_DEVICES=3 BELAY_DEVICE_MEMORY=1G BELAY_SOC=Ascend910B1
"$belay" info --json >info.json || { echo "info --json: $?"; exit 1; }
python3 - <<'PY' || exit 1
import json
info = json.load(open("info.json"))
assert info["soc"] == "Ascend910B1", info
assert info["run_mode"] == "host", info
assert [d["id"] for d in info["devices"]] == [0, 1, 2], info
assert all(d["memory_bytes"] == 1 << 30 and 0 < d["free_bytes"] <= 1 << 30 for d in info["devices"]), info
assert info["cpu"]["cores"] >= 1 and info["belay_version"] and info["interface_version"], info
PY
"$belay" info >info.txt || { echo "info: $?"; exit 1; }
grep -q '^SoC name   Ascend910B1, run mode host$' info.txt && grep -q '^device 2   1.0 GiB' info.txt || {
  cat info.txt
  exit 1
}

# A group of two ranks of one process, while it is there.
cat >group.py <<'PY'
import ctypes, subprocess, sys
acl, hccl = ctypes.CDLL("libascendcl.so"), ctypes.CDLL("libhccl.so")
comms, devices = (ctypes.c_void_p * 2)(), (ctypes.c_int32 * 2)(0, 1)
assert acl.aclInit(None) == 0 and hccl.HcclCommInitAll(2, devices, comms) == 0
print(subprocess.run([sys.argv[1], "info"], stdout=subprocess.PIPE, check=True, text=True).stdout)
for comm in comms:
    assert hccl.HcclCommDestroy(ctypes.c_void_p(comm)) == 0
assert acl.aclFinalize() == 0
PY
LD_LIBRARY_PATH=$1/lib64 python3 group.py "$belay" >groups.txt || { echo "group.py: $?"; exit 1; }
grep -q '^group      [0-9a-f]\{8\}: met in process [1-9][0-9]* (python3[^)]*), 2 connections' groups.txt || {
  cat groups.txt
  exit 1
}
