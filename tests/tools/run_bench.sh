#!/bin/bash
# run-bench goes through all programs; the one that times models is left out where none is named.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
for name in graph_bench model_bench ops_bench; do
  printf '#!/bin/bash\necho "%s: $*"\n[[ "%s $*" != "model_bench --"* ]]\n' "$name" "$name" >"$scratch/bin/$name"
  chmod +x "$scratch/bin/$name"
done
run() { "$(dirname "$0")/../../scripts/run-bench" "$scratch" --benchmark_filter=x; }
out=$(run)
grep -q 'graph_bench: --benchmark_out=.* --benchmark_filter=x' <<<"$out"
grep -q 'left out' <<<"$out"
grep -q 'ops_bench: --benchmark_out' <<<"$out"
grep -q 'JSON in' <<<"$out"
out=$(MODELS="a.om b.om" run)
grep -q "model_bench: a.om b.om" <<<"$out"
