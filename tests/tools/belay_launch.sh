# belay launch: what ranks are told, their output, their ends, and that nothing of them is left.
set -uo pipefail
toolkit=$(cd "$1" && pwd -P) belay=$1/bin/belay failed=0
expect() {  # what got wanted
  [[ $2 == "$3" ]] && return
  printf '%s\n--- got\n%s\n--- wanted\n%s\n' "$1" "$2" "$3"
  failed=1
}
launch() { "$belay" launch "$@" >out.txt 2>err.txt; }
await_file() { until [[ -s $1 ]]; do read -rt 0.02 <> <(:) || :; done; }
await_end() { tail -s 0.02 --pid="$1" -f /dev/null; }

unset BELAY_DEVICES OMP_NUM_THREADS
launch -n 3 -- sh -c 'echo $RANK $LOCAL_RANK $RANK_ID $DEVICE_ID $ASCEND_DEVICE_ID $WORLD_SIZE $LOCAL_WORLD_SIZE \
  $RANK_SIZE $MASTER_ADDR $BELAY_DEVICES $OMP_NUM_THREADS ${RANK_TABLE_FILE-none}; echo $MASTER_PORT >port.$RANK'
expect "exit code" $? 0
expect environment "$(sort out.txt)" "[0] 0 0 0 0 0 3 3 3 127.0.0.1 3 1 none
[1] 1 1 1 1 1 3 3 3 127.0.0.1 3 1 none
[2] 2 2 2 2 2 3 3 3 127.0.0.1 3 1 none"
expect "one port" "$(sort -u port.?| wc -l)" 1
launch -n 2 --port 4242 --devices 5 -- sh -c 'echo $MASTER_PORT $BELAY_DEVICES'
expect options "$(sort out.txt)" "[0] 4242 5
[1] 4242 5"
launch -n 11 -- sh -c 'test $RANK != 4 || { printf "a\nb"; printf "c\r\nlast" >&2; }'
expect output "$(cat out.txt)" "[ 4] a
[ 4] b"
expect errors "$(cat err.txt)" "[ 4] c"$'\r'"
[ 4] last"
expect "standard input" "$(echo through | "$belay" launch -n 2 -- sh -c 'cat; echo end' | sort)" "[0] end
[0] through
[1] end"
launch -n 3 --rank-table -- sh -c 'cmp "$RANK_TABLE_FILE" "$RANK_TABLE_FILE" && cat "$RANK_TABLE_FILE"'
expect "rank table" "$(sed 's/^....//' out.txt | sort -u | grep -c '"rank_id": "2"')" 1

launch -n 3 -- sh -c 'echo here; test $RANK = 1 && exit 7; exec sleep 1000'; expect "one fails" $? 7
grep -q 'belay launch: rank 1 (process [0-9]*) ended with code 7; the others are ended' err.txt || { cat err.txt; failed=1; }
launch -n 2 -- sh -c 'test $RANK = 1 && kill -SEGV $$; exec sleep 1000'; expect "one is killed" $? 139
grep -q 'rank 1 (process [0-9]*) was ended by SIGSEGV' err.txt || { cat err.txt; failed=1; }
launch -n 2 --grace 0 -- sh -c 'trap "" TERM; echo >up.$RANK; until test -s up.0 && test -s up.1; do :; done
  test $RANK = 1 && exit 3; sleep 1000'
expect "one that does not listen" $? 3
launch -n 2 -- ./nothing-here; expect "not found" $? 127

launch -- true; expect "no number" $? 2
launch -n 0 -- true; expect "no ranks" $? 2

# What is left behind is ended, also when it has a session of its own.
launch -n 2 -- sh -c 'setsid sleep 1000 & echo $! >left.$RANK'; expect "something left" $? 0
for process in $(cat left.0 left.1); do kill -0 "$process" 2>/dev/null && { echo "$process is left"; failed=1; }; done

"$belay" launch -n 2 -- sh -c 'trap "exit 5" TERM; trap "echo told >told.$RANK" USR1; echo >ready.$RANK
  while :; do sleep 0.02; done' 2>err.txt & launcher=$!
await_file ready.0; await_file ready.1
kill -USR1 $launcher; await_file told.0; await_file told.1
kill -TERM $launcher; wait $launcher; expect "a signal" $? 5

# Whoever kills the launcher kills all.
"$belay" launch -n 2 -- sh -c 'setsid sleep 1000 & echo $! $$ >all.$RANK; exec sleep 1000' & launcher=$!
await_file all.0; await_file all.1
kill -KILL $launcher; wait $launcher 2>/dev/null
for process in $(cat all.0 all.1); do await_end "$process"; done
exit $failed
