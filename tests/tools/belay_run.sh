# belay run: the environment of the program, its arguments, its exit code, and what happens without one.
set -uo pipefail
belay=$1/bin/belay home=$(cd "$1" && pwd -P) failed=0
expect() {  # what got wanted
  [[ $2 == "$3" ]] && return
  printf '%s\n--- got\n%s\n--- wanted\n%s\n' "$1" "$2" "$3"
  failed=1
}

expect environment "$("$belay" run -- sh -c 'echo $ASCEND_TOOLKIT_HOME $ASCEND_OPP_PATH ${LD_LIBRARY_PATH%%:*}')" \
  "$home $home/opp $home/lib64"
lists=$("$belay" run -- sh -c 'echo $LD_LIBRARY_PATH')
expect "lists before" "$(LD_LIBRARY_PATH=/a:$home/lib64:/b "$belay" run -- sh -c 'echo $LD_LIBRARY_PATH')" "$lists:/a:/b"
expect options "$("$belay" run --devices 3 --device-memory 1G --soc Ascend910B1 --run-mode device --workers 2 \
  --faults malloc:3 -- \
  sh -c 'echo $BELAY_DEVICES $BELAY_DEVICE_MEMORY $BELAY_SOC $BELAY_RUN_MODE $BELAY_WORKERS $BELAY_FAULTS')" \
  "3 1G Ascend910B1 device 2 malloc:3"
expect "nothing set unasked" "$("$belay" run -- sh -c 'env | grep ^BELAY_ | grep -v ^BELAY_SOURCE' || true)" ""
expect arguments "$("$belay" run -- printf '%s|' --devices 9 -- -x 'a b' '')" "--devices|9|--|-x|a b||"
"$belay" run -- sh -c 'exit 7'; expect "exit code" $? 7
"$belay" run -- sh -c 'kill -TERM $$'; expect "signal" $? 143
"$belay" run -- ./nothing-here 2>err.txt; expect "not found" $? 127
expect "not found says" "$(cat err.txt)" "belay run: cannot start ./nothing-here: No such file or directory"
"$belay" run -- / 2>err.txt; expect "not a program" $? 126
printf '#!/no/such/shell\n' >script && chmod +x script
"$belay" run -- ./script 2>err.txt; expect "no interpreter" $? 126
expect "no interpreter says" "$(cat err.txt)" \
  "belay run: cannot start ./script: the interpreter or loader that it names does not exist"
printf 'exit 9\n' >script; "$belay" run -- ./script; expect "a script without an interpreter line" $? 9
"$belay" run -- sh -c 'kill -SEGV $$'; expect "a fault" $? 139
"$belay" run -- sh -c 'trap "" INT; kill -INT $$; exit 4'; expect "an ignored signal" $? 4
(trap '' HUP; "$belay" run -- sh -c 'kill -HUP $$; exit 5'); expect "a signal that was ignored before" $? 5
expect "standard input" "$(echo through | "$belay" run -- cat)" through
"$belay" run >out.txt 2>&1; expect "no program" $? 2
"$belay" run --devices 0 -- true >out.txt 2>&1; expect "bad number" $? 2
"$belay" run --run-mode moon -- true >out.txt 2>&1; expect "bad mode" $? 2
"$belay" run --device-memory 8Q -- true >out.txt 2>&1; expect "bad memory" $? 2
grep -q "'8Q' is no number of bytes" out.txt || { cat out.txt; failed=1; }
"$belay" walk 2>err.txt; expect "no such command" $? 2
grep -q walk err.txt || { cat err.txt; failed=1; }
"$belay" 2>err.txt; expect "no command" $? 2
grep -q doctor err.txt || { cat err.txt; failed=1; }
"$belay" --help >out.txt; expect help $? 0
grep -q run out.txt || { cat out.txt; failed=1; }
exit $failed
