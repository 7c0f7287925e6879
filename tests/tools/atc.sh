# atc as a command: messages and exit codes, each mode, and the options that change a model. Last argument: write_model.
set -uo pipefail
toolkit=$(cd "$1" && pwd -P) write_model=$3 failed=0
. "$toolkit/set_env.sh"
for model in six_times open branches unknown; do "$write_model" $model $model.onnx || exit 1; done
say() { echo "$@"; cat out.txt; failed=1; }
compile() { atc --framework=5 --soc_version=Ascend910B3 "$@" >out.txt 2>&1; }
fails() {  # text arguments...
  local text=$1
  shift
  compile "$@" && say "did not fail: $*"
  grep -q "^ATC run failed, Please check the detail log, Try 'atc --help' for more information$" out.txt || say "no failure line: $*"
  grep -q -- "$text" out.txt || say "no \"$text\": $*"
}
shows() { belay graph "$1" >out.txt && grep -Eq -- "$2" out.txt || say "$1: no $2"; }

compile --model=six_times.onnx --output=six || say "six_times"
expected=$'ATC start working now, please wait for a moment.\nATC run success, welcome to the next use.'
[[ $(cat out.txt) == "$expected" ]] || say "messages"
compile --model=six_times.onnx --output=six --op_debug_level=0 || say "an option without effect"
grep -q 'W: option --op_debug_level has no effect here.' out.txt || say "an option without effect is told"
fails 'Frobnicate' --model=unknown.onnx --output=unknown
fails 'E10001: there is no option --modell' --modell=six_times.onnx --output=six
fails "E10016: --input_shape names 'X'.* it has x" --model=six_times.onnx --output=six --input_shape=X:2,3
fails 'E10012' --model=open.onnx --output=open --input_shape=x:2,3 --dynamic_batch_size=1,2
fails "E10010" --model=six_times.onnx --output=six --log=loud
fails 'E10004: option --output is needed' --model=six_times.onnx
fails 'no-such-file' --model=no-such-file.onnx --output=none
fails "E10001: --model is '$PWD', a folder" --model="$PWD" --output=none
fails 'E10001: --output is .*, a folder' --model=six_times.onnx --output="$PWD/"
fails "E10002: option --input_shape is 'x:4~1,3'; it must be shapes" --model=open.onnx --output=open --input_shape=x:4~1,3
fails 'twice' --model=open.onnx --output=open --input_shape='x:2;x:3'

# Outputs chosen by node and by tensor, their types, and FLOAT16 inputs.
compile --model=branches.onnx --output=chosen --out_nodes="node_right:0;middle" || say "out_nodes"
shows chosen.om 'test: 2 nodes, 1 inputs, 2 outputs'
shows chosen.om ' output +right '
fails "'node_wrong:0'" --model=branches.onnx --output=chosen --out_nodes="node_wrong:0"
compile --model=branches.onnx --output=half --output_type=FP16 || say "output_type"
shows half.om ' output +y +f16 \[2, 3\]'
shows half.om ' output +middle +f16 \[2, 3\]'
compile --model=branches.onnx --output=mixed --out_nodes="node_y:0;node_middle:0" --output_type="node_middle:0:INT32" || say "one type"
shows mixed.om ' output +y +f32 '
shows mixed.om ' output +middle +i32 '
fails 'which out_nodes does not name' --model=branches.onnx --output=mixed --output_type="node_middle:0:INT32"
echo node_left >list.cfg
compile --model=branches.onnx --output=kept --keep_dtype=list.cfg || say "keep_dtype"
atc --mode=1 --om=kept.om --json=kept.json >out.txt 2>&1 && grep -q keep_dtype kept.json || say "keep_dtype of an operator"
echo node_wrong >>list.cfg
fails "'node_wrong'" --model=branches.onnx --output=kept --keep_dtype=list.cfg
compile --model=branches.onnx --output=fp16 --input_fp16_nodes=x || say "input_fp16_nodes"
shows fp16.om ' input +x +f16 '

# Single operators, from their description to a program that runs them.
cat >ops.json <<'JSON'
[{"op": "Add", "name": "add",
  "input_desc": [{"format": "ND", "shape": [2, 2], "type": "float32"}, {"format": "ND", "shape": [2, 2], "type": "float32"}],
  "output_desc": [{"format": "ND", "shape": [2, 2], "type": "float32"}]},
 {"op": "Mul",
  "input_desc": [{"format": "ND", "shape": [4], "type": "int32"}, {"format": "ND", "shape": [4], "type": "int32"}],
  "output_desc": [{"format": "ND", "shape": [4], "type": "int32"}]}]
JSON
atc --singleop=ops.json --output=op_models --soc_version=Ascend910B3 >out.txt || say "singleop"
[[ $(ls op_models | tr '\n' ' ') == "1_Mul_3_2_4_3_2_4_3_2_4.om add.om " ]] || { ls op_models; failed=1; }
fails 'E10047' --singleop=ops.json --output=op_models
cat >add.c <<'C'
#include <acl/acl.h>
#include <stdio.h>
int main(void) {
  int64_t dims[] = {2, 2};
  float values[4] = {1, 2, 3, 4}, results[4];
  void* memory;
  if (aclInit(0) || aclopSetModelDir("op_models") || aclrtSetDevice(0) || aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST)) return 1;
  if (aclrtMemcpy(memory, 16, values, 16, ACL_MEMCPY_HOST_TO_DEVICE)) return 2;
  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
  const aclTensorDesc* in[] = {desc, desc};
  aclDataBuffer* buffer = aclCreateDataBuffer(memory, 16);
  aclDataBuffer* result = aclCreateDataBuffer((char*)memory + 16, 16);
  const aclDataBuffer* inputs[] = {buffer, buffer};
  if (aclopExecute("Add", 2, in, inputs, 1, in, &result, 0, 0) || aclrtSynchronizeStream(0)) return 3;
  if (aclrtMemcpy(results, 16, (char*)memory + 16, 16, ACL_MEMCPY_DEVICE_TO_HOST)) return 4;
  printf("%g %g %g %g\n", results[0], results[1], results[2], results[3]);
  if (aclopExecute("Sub", 2, in, inputs, 1, in, &result, 0, 0) != ACL_ERROR_OP_NOT_FOUND) return 5;
  return aclFinalize();
}
C
"$CC" add.c -o add -I"$ASCEND_TOOLKIT_HOME/include" -L"$ASCEND_TOOLKIT_HOME/lib64" -lascendcl && ./add >out.txt || say "the program: $?"
[[ $(cat out.txt) == "2 4 6 8" ]] || say "sums"

# The other modes.
atc --mode=1 --om=six.om --json=six.json >out.txt || say "mode 1"
atc --mode=1 --framework=5 --om=six_times.onnx --json=onnx.json >out.txt || say "mode 1 of an ONNX file"
python3 - <<'PY' || failed=1
import json
for name in ("six.json", "onnx.json"):
    types = [node["type"] for node in json.load(open(name))["graph"]["nodes"]]
    assert "Mul" in types and "Data" in types, (name, types)
PY
fails "no-such-file" --mode=1 --om=no-such-file.onnx --json=none.json
atc --mode=6 --om=six.om >out.txt && grep -q '^input 0: x ACL_FLOAT \[2, 3\]$' out.txt || say "mode 6"
compile --mode=3 --model=six_times.onnx || say "mode 3"
grep -q '"result": "success"' check_result.json || { cat check_result.json; failed=1; }
fails 'Frobnicate' --mode=3 --model=unknown.onnx --check_report=report.json
grep -q 'Frobnicate' report.json || { cat report.json; failed=1; }
fails "E10001: option --mode is '2'; it must be one of 0, 1, 3, 6" --mode=2
exit $failed
