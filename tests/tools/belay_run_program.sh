# belay run starts a program that was built against the toolkit and knows nothing of where it is.
set -uo pipefail
toolkit=$(cd "$1" && pwd -P) failed=0
"$CXX" "$BELAY_SOURCE/examples/transfers/main.cc" -o transfers -I"$toolkit/include" -L"$toolkit/lib64" -lascendcl || exit 1
./transfers >alone.txt 2>&1 && { echo "found its libraries without help"; failed=1; }
"$toolkit/bin/belay" run -- ./transfers >two.txt || { cat two.txt; failed=1; }
"$toolkit/bin/belay" run --devices 1 -- ./transfers >one.txt || { cat one.txt; failed=1; }
[[ $(wc -l <two.txt) -eq 5 && $(wc -l <one.txt) -eq 4 ]] || { cat two.txt one.txt; failed=1; }
"$toolkit/bin/belay" run --run-mode device -- ./transfers >device.txt || { cat device.txt; failed=1; }
"$toolkit/bin/belay" run --faults=malloc:1 -- ./transfers >faults.txt 2>&1 && { echo "nothing failed"; failed=1; }
grep -q 'belay: injects faults: malloc:1' faults.txt || { cat faults.txt; failed=1; }
# An old-style RPATH wins over LD_LIBRARY_PATH; --preload wins over that.
mkdir wrong && cp "$toolkit"/lib64/*.so wrong/ && printf 'not a library' >wrong/libascendcl.so
"$CXX" "$BELAY_SOURCE/examples/transfers/main.cc" -o rpath -I"$toolkit/include" -L"$toolkit/lib64" -lascendcl \
  -Wl,--disable-new-dtags -Wl,-rpath,"$PWD/wrong" || exit 1
"$toolkit/bin/belay" run -- ./rpath >/dev/null 2>&1 && { echo "RPATH did not matter"; failed=1; }
"$toolkit/bin/belay" run --preload -- ./rpath >/dev/null || failed=1

# Another toolkit in the environment, and libraries of the program's own, do not get in the way.
mkdir other && printf 'int nothing;' | "$CC" -x c - -shared -fPIC -o other/libascendcl.so && cp other/libascendcl.so other/libfree.so
LD_LIBRARY_PATH=$PWD/other ASCEND_TOOLKIT_HOME=/opt/other "$toolkit/bin/belay" run -- ./transfers >other.txt || failed=1
cmp -s other.txt two.txt || { echo "another toolkit got in the way"; failed=1; }

# What cannot be helped is said.
printf 'int main(void) { return 3; }' | "$CC" -x c - -static -o static || exit 1
"$toolkit/bin/belay" run -- ./static 2>err.txt; [[ $? -eq 3 ]] || failed=1
grep -q 'static is statically linked and loads no libraries' err.txt || { cat err.txt; failed=1; }
cp transfers setuid && chmod u+s setuid && "$toolkit/bin/belay" run -- ./setuid >/dev/null 2>err.txt
grep -q 'setuid changes its user or group' err.txt || { cat err.txt; failed=1; }
# The machine of an ELF file is in its bytes 18 and 19; 243 is RISC-V.
cp transfers foreign && printf '\363\000' | dd of=foreign bs=1 seek=18 conv=notrunc status=none
"$toolkit/bin/belay" run -- ./foreign 2>err.txt; [[ $? -eq 126 ]] || failed=1
grep -q 'it is a program for another processor' err.txt || { cat err.txt; failed=1; }
exit $failed
