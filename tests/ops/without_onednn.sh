# The operators give the right results where oneDNN's library is missing, and say that it is.
# Arguments: test program, folder of the libraries, scratch folder.
set -euo pipefail
program=$1 libraries=$2 scratch=$3
rm -rf "$scratch"
mkdir -p "$scratch/lib"
cp "$libraries"/*.so "$scratch/lib"
rm -f "$scratch/lib/libbelay_dnnl.so"
LD_LIBRARY_PATH=$scratch/lib "$program" --gtest_brief=1 --gtest_filter='*matmul:*conv*:*pool*:Random.Matmul' \
  >"$scratch/out.txt" 2>&1 || { tail -50 "$scratch/out.txt"; exit 1; }
grep -q "oneDNN was not found" "$scratch/out.txt" || { echo "oneDNN was there"; exit 1; }
