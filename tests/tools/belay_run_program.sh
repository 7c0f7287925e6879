# belay run starts a program that was built against the toolkit and knows nothing of where it is.
set -uo pipefail
toolkit=$(cd "$1" && pwd -P) failed=0
"$CXX" "$BELAY_SOURCE/examples/transfers/main.cc" -o transfers -I"$toolkit/include" -L"$toolkit/lib64" -lascendcl || exit 1
./transfers >alone.txt 2>&1 && { echo "found its libraries without help"; failed=1; }
"$toolkit/bin/belay" run -- ./transfers >two.txt || { cat two.txt; failed=1; }
"$toolkit/bin/belay" run --devices 1 -- ./transfers >one.txt || { cat one.txt; failed=1; }
[[ $(wc -l <two.txt) -eq 5 && $(wc -l <one.txt) -eq 4 ]] || { cat two.txt one.txt; failed=1; }
"$toolkit/bin/belay" run --run-mode device -- ./transfers >device.txt || { cat device.txt; failed=1; }
# An old-style RPATH wins over LD_LIBRARY_PATH; --preload wins over that.
mkdir wrong && cp "$toolkit"/lib64/*.so wrong/ && printf 'not a library' >wrong/libascendcl.so
"$CXX" "$BELAY_SOURCE/examples/transfers/main.cc" -o rpath -I"$toolkit/include" -L"$toolkit/lib64" -lascendcl \
  -Wl,--disable-new-dtags -Wl,-rpath,"$PWD/wrong" || exit 1
"$toolkit/bin/belay" run -- ./rpath >/dev/null 2>&1 && { echo "RPATH did not matter"; failed=1; }
"$toolkit/bin/belay" run --preload -- ./rpath >/dev/null || failed=1
exit $failed
