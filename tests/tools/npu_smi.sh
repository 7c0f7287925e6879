# npu-smi: the table as programs cut it apart, the other forms, no device, and that it is on PATH only when asked for.
set -uo pipefail
toolkit=$(cd "$1" && pwd -P) failed=0
expect() {  # what got wanted
  [[ $2 == "$3" ]] && return
  printf '%s\n--- got\n%s\n--- wanted\n%s\n' "$1" "$2" "$3"
  failed=1
}
(. "$toolkit/set_env.sh"; [[ $(command -v npu-smi) != "$toolkit"/* ]]) || { echo "on PATH unasked"; failed=1; }
. "$toolkit/set_env.sh" --with-npu-smi
expect "on PATH" "$(command -v npu-smi)" "$toolkit/libexec/npu-smi"
export BELAY_DEVICES=2 BELAY_DEVICE_MEMORY=3G

# ggml's rule for the name of the SoC, and the line that vllm-ascend's tests look for.
expect "ggml" "Ascend$(npu-smi info | awk -F' ' 'NF > 0 && NR==7 {print $3}')" Ascend910B3
expect "another SoC" "$(BELAY_SOC=Ascend310P3 npu-smi info | awk 'NR==7 {print $3}')" 310P3
npu-smi info >table.txt; expect "exit code" $? 0
expect "width" "$(awk '{print length}' table.txt | sort -u)" 98
expect "devices" "$(grep -c '| OK ' table.txt)" 2
# Other tests may run at the same time: how much is in use is not said.
expect "memory" "$(sed -n 8p table.txt | sed -E 's#[0-9]+ +/ 3072#used / 3072#' | tr -s ' ')" "| 0 | NA | 0 0 / 0 used / 3072 |"

# A process that holds 64 MiB of one device, and one that may use both.
"$CC" -x c - -o hold -I"$toolkit/include" -L"$toolkit/lib64" -lascendcl <<'C' || exit 1
#include <acl/acl.h>
#include <stdio.h>
int main(void) {
  void* p;
  if (aclInit(0) || aclrtSetDevice(0) || aclrtMalloc(&p, 64 << 20, ACL_MEM_MALLOC_HUGE_FIRST)) return 1;
  if (aclrtMemset(p, 64 << 20, 1, 64 << 20)) return 2;
  puts("ready");
  fflush(stdout);
  getchar();
  return aclFinalize();
}
C
coproc one { ASCEND_RT_VISIBLE_DEVICES=1 exec ./hold; }
read -r ready <&"${one[0]}"
pid=$one_PID
row() { npu-smi info | awk -v pid="$pid" '$5 == pid {print $2, $7, $9}'; }
expect "a process" "$(row)" "1 hold 64"
[[ $(npu-smi info -i 1 | awk 'NR == 8 {print $(NF - 3)}') -ge 64 ]] || { npu-smi info; failed=1; }
kill "$pid"; wait "$pid" 2>/dev/null
coproc both { exec ./hold; }
read -r ready <&"${both[0]}"
pid=$both_PID
expect "a process with two devices" "$(row)" $'0 hold 0\n1 hold 0'
kill "$pid"; wait "$pid" 2>/dev/null
expect "an end" "$(row)" ""
expect "all devices of the machine" "$(ASCEND_RT_VISIBLE_DEVICES=1 npu-smi info | grep -c '| OK ')" 2
expect "one device" "$(npu-smi info -i 1 | awk 'NR==7 {print $2}')" 1

expect "list" "$(npu-smi info -l | sed -n 's/.*Total Count *: *//p')" 2
expect "numbers" "$(npu-smi info -l | sed -n 's/.*NPU ID *: *//p' | tr '\n' ' ')" "0 1 "
expect "mapping" "$(npu-smi info -m | awk 'NR > 1 {print $1, $2, $3, $4 $5}')" $'0 0 0 Ascend910B3\n1 0 1 Ascend910B3'
expect "board" "$(npu-smi info -t board -i 0 -c 0 | awk '/Chip Name/ {print $NF}')" 910B3
expect "chips" "$(npu-smi info -t usages -i 0 | awk '/Chip Count/ {print $NF}')" 1
expect "capacity" "$(npu-smi info -t memory -i 1 | sed -n 's/.*HBM Capacity(MB) *: *//p')" 3072
expect "rate" "$(npu-smi info -t usages -i 1 -c 0 | grep 'HBM Usage Rate' | grep -cE '[0-9]+$')" 1
for type in common health temp power product; do
  npu-smi info -t $type -i 0 | grep -q 'NPU ID' || { echo "-t $type"; failed=1; }
done

expect "topology" "$(npu-smi info -t topo | awk 'NR <= 3 {print $1, $2, $3}')" $'NPU0 NPU1 CPU\nNPU0 X SYS\nNPU1 SYS X'
core=$(npu-smi info -t topo | awk 'NR == 2 {split($4, cores, /[-,]/); print cores[1]}')
expect "cores" "$(taskset -c "$core" "$toolkit/libexec/npu-smi" info -t topo | awk 'NR == 2 {print $4}')" "$core"
npu-smi info -t weather -i 0 2>err.txt; expect "no such type" $? 1
expect "says" "$(cat err.txt)" \
  "npu-smi: there is no type weather here; topo, board, memory, usages, common, health, temp, power, product are there"
npu-smi info -i 2 2>err.txt; expect "no such device" $? 1
expect "says which" "$(cat err.txt)" "npu-smi: there is no NPU 2; npu-smi info -l lists them"
npu-smi set -t ecc >/dev/null 2>&1; expect "nothing can be set" $? 1
BELAY_DEVICES=0 npu-smi info >out.txt 2>err.txt; expect "no device" $? 1
expect "no device says" "$(cat out.txt)" "dcmi module initialize failed. ret is -8005"
grep -q BELAY_DEVICES err.txt || { cat err.txt; failed=1; }
exit $failed
