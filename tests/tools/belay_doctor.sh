# belay doctor: each thing that keeps a program from running is found and named, with its exit code; a program that
# runs is not accused.
set -uo pipefail
toolkit=$(cd "$1" && pwd -P) failed=0
belay=$toolkit/bin/belay
doctor() {  # wanted-exit-code wanted-text (a pattern; "" for none) [arguments]
  local wanted=$1 text=$2 status
  shift 2
  "$belay" doctor "$@" >out.txt 2>&1
  status=$?
  if [[ $status -ne $wanted ]] || ! grep -q -- "$text" out.txt; then
    printf 'exit code %s for %s, wanted %s and "%s"\n' "$status" "$*" "$wanted" "$text"
    cat out.txt
    failed=1
  fi
}
build() { "$CC" -x c - -o "$@" -I"$toolkit/include" -L"$toolkit/lib64"; }
program='#include <acl/acl.h>
int main(void) { return aclInit(0) || aclFinalize(); }'
build good -lascendcl <<<"$program" || exit 1

# Without set_env.sh nothing leads the program to the libraries; the environment alone is no problem.
doctor 0 'not set, though programs and build scripts read them: ASCEND_TOOLKIT_HOME, ASCEND_HOME_PATH'
doctor 1 "PROBLEM  libascendcl.so is in $toolkit/lib64, but nothing leads the loader there" ./good
build rpath -lascendcl -Wl,-rpath,"$toolkit/lib64" <<<"$program" && ./rpath || exit 1
doctor 0 'libraries and their symbols are there' ./rpath
doctor 1 'nothing leads the loader there' ./rpath ./good
. "$toolkit/set_env.sh"
./good || exit 1
doctor 0 'the variables ASCEND_. lead to this toolkit' ./good
doctor 0 'the runtime starts' ./good
doctor 0 'libraries and their symbols are there' ./good

# Another toolkit, and a second Belay, before this one and behind it.
mkdir other second && echo 'int nothing;' | "$CC" -x c - -shared -fPIC -o other/libascendcl.so
cp "$toolkit"/lib64/lib*.so second/
LD_LIBRARY_PATH=$PWD/other:$LD_LIBRARY_PATH doctor 1 "PROBLEM  LD_LIBRARY_PATH leads to another toolkit, $PWD/other"
grep -q 'ok       the runtime starts' out.txt || { cat out.txt; failed=1; }  # this command finds its own libraries
LD_LIBRARY_PATH=$PWD/second:$LD_LIBRARY_PATH doctor 1 "PROBLEM  LD_LIBRARY_PATH leads to another Belay, $PWD/second"
grep -q 'ok       the runtime starts' out.txt || { cat out.txt; failed=1; }
LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$PWD/other doctor 0 "note     LD_LIBRARY_PATH also has another toolkit, $PWD/other"
LD_LIBRARY_PATH=$PWD/other:$LD_LIBRARY_PATH doctor 1 "libascendcl.so would be taken from another toolkit, $PWD/other, by LD_LIBRARY_PATH" ./good
grep -q 'functions that the libraries above do not have' out.txt || { cat out.txt; failed=1; }
LD_PRELOAD=$PWD/second/libascendcl.so doctor 1 "LD_PRELOAD loads $PWD/second/libascendcl.so of another toolkit"
ASCEND_HOME_PATH=/opt/other doctor 1 'ASCEND_HOME_PATH leads to /opt/other (which does not exist), not to this toolkit'
build old_rpath -lascendcl -Wl,--disable-new-dtags -Wl,-rpath,"$PWD/other" <<<"$program"
doctor 1 'by DT_RPATH of ./old_rpath' ./old_rpath
grep -q 'belay run --preload' out.txt || { cat out.txt; failed=1; }

# Symbols and libraries that are not there; a library of another version.
cat >extra.cc <<'CODE'
namespace ge { struct Nothing { int Do(); }; int Nothing::Do() { return 0; } }
extern "C" int aclrtNoSuchFunction() { return 0; }
extern "C" int plain() { return 0; }
CODE
cat >symbols.cc <<'CODE'
namespace ge { struct Nothing { int Do(); }; }
extern "C" int aclrtNoSuchFunction();
extern "C" int plain();
int main() { return aclrtNoSuchFunction() + ge::Nothing().Do() + plain(); }
CODE
"$CXX" -shared -fPIC extra.cc -o libextra.so && "$CXX" symbols.cc -o symbols -L. -lextra -Wl,-rpath,"$PWD" || exit 1
"$CXX" symbols.cc -shared -fPIC -o libguest.so || exit 1
doctor 0 'libraries and their symbols are there' ./symbols
"$CXX" -shared -fPIC -x c++ /dev/null -o libextra.so
doctor 1 'symbols uses 2 functions that Belay does not have: aclrtNoSuchFunction, ge::Nothing::Do()' ./symbols
grep -q 'symbols uses symbols that no library of it has: plain$' out.txt || { cat out.txt; failed=1; }
doctor 1 'libguest.so uses 2 functions that Belay does not have' ./libguest.so
grep -q plain out.txt && { cat out.txt; failed=1; }  # the program that loads it may have it
"$CC" -shared -o libacl_gone.so -x c /dev/null && "$CC" -shared -o libplain_gone.so -x c /dev/null
build needs -L. -Wl,--no-as-needed -lacl_gone -lplain_gone <<<'int main(void) { return 0; }' && rm lib*_gone.so
doctor 1 'libacl_gone.so is not found' ./needs
grep -q 'Belay does not have it' out.txt && grep -q 'libplain_gone.so is not found' out.txt || { cat out.txt; failed=1; }
echo 'V_1 { global: one; };' >one.map && echo 'V_2 { global: one; };' >two.map
echo 'int one(void) { return 1; }' >one.c
"$CC" -shared -fPIC one.c -o libone.so -Wl,--version-script=two.map
build version -L. -lone -Wl,-rpath,"$PWD" <<<'int one(void); int main(void) { return one(); }'
"$CC" -shared -fPIC one.c -o libone.so -Wl,--version-script=one.map
doctor 1 "version needs V_2, which $PWD/libone.so does not have" ./version

# A function of which not all works keeps no program from starting, but is told.
build limited -lascendcl <<<'#include <acl/acl.h>
int main(void) { return aclrtStreamStop(0) + aclrtGetThreadIdFromExceptionInfo(0); }'
doctor 0 'note     ./limited uses aclrtStreamStop, of which not all works: a task that runs is not stopped' ./limited
grep -q 'uses aclrtGetThreadIdFromExceptionInfo, which always fails' out.txt || { cat out.txt; failed=1; }

# Files that no loader takes.
cp good foreign && printf '\363\000' | dd of=foreign bs=1 seek=18 conv=notrunc status=none
doctor 1 'it is for RISC-V' ./foreign
build static -static <<<'int main(void) { return 3; }' && doctor 1 'statically linked' ./static
cp good setuid && chmod u+s setuid && doctor 1 'changes its user or group' ./setuid
head -c 3000 good >cut && chmod +x cut && doctor 1 'damaged or cut off' ./cut
echo 'echo hello' >script && doctor 0 'neither a program nor a library' ./script
doctor 1 'there is no such file' ./nothing-here
build musl -lascendcl -Wl,--dynamic-linker=/lib/no-such-loader.so <<<"$program"
doctor 1 'the loader that it names, /lib/no-such-loader.so, does not exist' ./musl

# The machine and the settings.
BELAY_DEVICES=many doctor 1 'PROBLEM  the runtime does not start: .*BELAY_DEVICES'
(export BELAY_DEVICE_MEMORY=8G; ulimit -v 4000000; doctor 1 'addresses are limited to 3906 MiB'; exit $failed) || failed=1
BELAY_DEVICE_MEMORY=900G doctor 0 'note     the devices have 1843200 MiB together'
exit $failed
