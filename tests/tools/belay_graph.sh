# belay graph: each format, from .onnx and .om, with times; open sizes; what cannot be drawn. Last argument: write_model.
set -uo pipefail
toolkit=$(cd "$1" && pwd -P) write_model=$3 failed=0
belay=$toolkit/bin/belay
for model in six_times open branches product dynamic; do "$write_model" $model $model.onnx || exit 1; done
check() {  # what command...
  local what=$1
  shift
  "$@" || { echo "$what"; failed=1; }
}
"$belay" graph branches.onnx >text.txt || { cat text.txt; failed=1; }
check "nodes" grep -q 'test: 4 nodes, 1 inputs, 2 outputs, constants 4 B' text.txt
check "sub" grep -Eq '^[0-9]+ +[0-9] [0-9] +Sub +node_y +f32 \[2, 3\] +24 B +output$' text.txt
"$toolkit/bin/atc" --framework=5 --model=branches.onnx --output=branches >/dev/null || failed=1
"$belay" graph branches.om >om.txt && check "the same from .om" cmp -s text.txt om.txt

export XDG_CACHE_HOME=$PWD/cache  # where the machine's roof is kept
"$belay" graph --run --runs 3 branches.om >timed.txt || failed=1
check "times, rates and shares" grep -Eq 'Sub .* (us|ms) +[0-9.]+ % +[0-9.]+ +[0-9]+ %( <)?$' timed.txt
check "the roof" grep -Eq "^the machine's roof: [0-9]+ GFLOP/s in products, [0-9]+ GB/s from memory" timed.txt
cp cache/belay/roof.json roof.json || failed=1
"$belay" graph --run --runs 1 branches.om >/dev/null && check "the kept roof is used" cmp -s roof.json cache/belay/roof.json
"$belay" graph --format=dot branches.om >graph.dot && check "dot" grep -q '^digraph "test" {' graph.dot
check "edges" test "$(grep -c -- '->' graph.dot)" = 7
"$belay" graph --format=svg -o graph.svg branches.om && python3 - <<'PY' || failed=1
import xml.etree.ElementTree as tree
root = tree.parse("graph.svg").getroot()
space = "{http://www.w3.org/2000/svg}"
types = [text.text for text in root.iter(space + "text") if text.get("class") == "type"]
assert sorted(types) == sorted(["input", "Mul", "Abs", "Neg", "Sub", "output", "output"]), types
assert len([path for path in root.iter(space + "path") if path.get("class") == "flow"]) == 7
PY

"$belay" graph open.onnx >out.txt 2>err.txt; check "open sizes" test $? = 1
check "says which" grep -q "input 'x' is ACL_FLOAT \[?, 3\]; say which sizes to draw it for" err.txt
check "sizes given" sh -c "'$belay' graph --input-shape x:4,3 open.onnx | grep -q 'f32 \[4, 3\]'"
"$toolkit/bin/atc" --framework=5 --model=open.onnx --output=open --input_shape=x:-1,3 >/dev/null
check "sizes given to .om" sh -c "'$belay' graph --input-shape x:5,3 open.om | grep -q 'f32 \[5, 3\]'"
"$belay" graph --input-shape x:5,4 open.om 2>err.txt; check "sizes that contradict it" test $? = 1
check "says what it is" grep -q "gives input 'x' the shape \[5, 4\], but it is ACL_FLOAT \[?, 3\]" err.txt
"$belay" graph --input-shape y:5,3 open.om 2>err.txt; check "sizes of no input" test $? = 1
check "says which there are" grep -q "names 'y', but the model has no such input; it has x" err.txt
"$toolkit/bin/atc" --framework=5 --model=product.onnx --output=product >/dev/null
"$belay" graph --input-shape x:3,4 product.om >late.txt
check "what runs is drawn, also when sizes come late" grep -q 'FusedMatMul + bias + relu' late.txt
check "data decides" sh -c "'$belay' graph dynamic.onnx | grep -q \"the data decides the shape of node 'node_y'\""
"$belay" graph --run dynamic.onnx 2>err.txt; check "no times" test $? = 1
echo nonsense >bad.om
"$belay" graph bad.om 2>err.txt; check "no model" test $? = 1
check "says so" grep -q "^belay graph: 'bad.om' (9 bytes) is no model" err.txt
"$belay" graph none.om >/dev/null 2>&1; check "no file" test $? = 2
check "help" sh -c "'$belay' graph --help | grep -q -- '--format'"
exit $failed
