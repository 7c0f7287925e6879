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
expect "memory" "$(sed -n 8p table.txt)" \
  "| 0                         | NA            | 0           0    / 0          0    / 3072          |"
expect "processes" "$(grep -c 'No running processes found in NPU [01] ' table.txt)" 2
expect "all devices of the machine" "$(ASCEND_RT_VISIBLE_DEVICES=1 npu-smi info | grep -c '| OK ')" 2
expect "one device" "$(npu-smi info -i 1 | awk 'NR==7 {print $2}')" 1

expect "list" "$(npu-smi info -l | sed -n 's/.*Total Count *: *//p')" 2
expect "numbers" "$(npu-smi info -l | sed -n 's/.*NPU ID *: *//p' | tr '\n' ' ')" "0 1 "
expect "mapping" "$(npu-smi info -m | awk 'NR > 1 {print $1, $2, $3, $4 $5}')" $'0 0 0 Ascend910B3\n1 0 1 Ascend910B3'
expect "board" "$(npu-smi info -t board -i 0 -c 0 | awk '/Chip Name/ {print $NF}')" 910B3
expect "chips" "$(npu-smi info -t usages -i 0 | awk '/Chip Count/ {print $NF}')" 1
expect "capacity" "$(npu-smi info -t memory -i 1 | sed -n 's/.*HBM Capacity(MB) *: *//p')" 3072
expect "rate" "$(npu-smi info -t usages -i 1 -c 0 | grep 'HBM Usage Rate' | grep -oE '[0-9]+$')" 0
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
expect "says which" "$(cat err.txt)" "npu-smi: there is no NPU 2"
npu-smi set -t ecc >/dev/null 2>&1; expect "nothing can be set" $? 1
BELAY_DEVICES=0 npu-smi info >out.txt 2>err.txt; expect "no device" $? 1
expect "no device says" "$(cat out.txt)" "dcmi module initialize failed. ret is -8005"
grep -q BELAY_DEVICES err.txt || { cat err.txt; failed=1; }
exit $failed
