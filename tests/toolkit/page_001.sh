# The sample program of the documentation page on capture across streams, cut from the page as it
# stands, compiled without a change. The page is not part of this repository: without it this is skipped.
set -euo pipefail
toolkit=$1
page=
for candidate in "$BELAY_SOURCE"/../shared/seeds/001*.txt "$BELAY_SOURCE"/../../shared/seeds/001*.txt; do
  [[ -f $candidate ]] && page=$candidate && break
done
if [[ -z $page ]]; then
  echo "skipped: no stored copy of the page beside this checkout"
  exit 77
fi
# From the first include to the brace in the first column that closes main (the page's text goes on in
# the same line).
sed -n '/^#include <stdio.h>/,$p' "$page" | awk '
  /^int main/ { in_main = 1 }
  in_main && /^}/ { print "}"; exit }
  { print }' >p.cpp
grep -q aclmdlRICaptureBegin p.cpp || { echo "the page holds no program"; exit 1; }

. "$toolkit/set_env.sh"
"$CXX" p.cpp -o p -I"$ASCEND_TOOLKIT_HOME/include" -L"$ASCEND_TOOLKIT_HOME/lib64" \
  -lascendcl -lnnopbase -lopapi
./p >got.txt || { echo "exit code $?"; cat got.txt; exit 1; }
python3 - got.txt <<'PY'
import sys
lines = [line for line in open(sys.argv[1]) if line.startswith("[INFO]")]
assert len(lines) == 8, lines
for replay, line in enumerate(lines, 1):
    values = [float(word) for word in line.split()[1:]]
    assert len(values) == 8 and all(abs(v - 1.1 * replay) < 1e-5 for v in values), line
PY
