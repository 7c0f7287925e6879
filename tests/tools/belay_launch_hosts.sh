# belay launch --hosts: as belay_launch.sh, for ranks that run elsewhere. The hosts are two names for this machine,
# behind a server that runs command lines for others (far_shell.py), so that ranks are nobody's children here.
set -uo pipefail
belay=$(cd "$1" && pwd -P)/bin/belay failed=0 tools=$(dirname "${BASH_SOURCE[0]}")
expect() {  # what got wanted
  [[ $2 == "$3" ]] && return
  printf '%s\n--- got\n%s\n--- wanted\n%s\n' "$1" "$2" "$3"
  failed=1
}
said() { grep -q -- "$1" err.txt || { echo "not said: $1"; cat err.txt; failed=1; }; }
await_file() { until [[ -s $1 ]]; do read -rt 0.02 <> <(:) || :; done; }
await_end() { tail -s 0.02 --pid="$1" -f /dev/null; }

socket=$(mktemp -u /tmp/belay-far-XXXXXX)
python3 "$tools/far_shell.py" serve "$socket" & server=$!
trap 'kill $server; rm -f "$socket"' EXIT
until [[ -S $socket ]]; do read -rt 0.02 <> <(:) || :; done
over="python3 $tools/far_shell.py run $socket {host}"
launch() { "$belay" launch --over "$over" "$@" >out.txt 2>err.txt; }

unset BELAY_DEVICES OMP_NUM_THREADS HCCL_IF_IP HCCL_SOCKET_IFNAME MINE OTHER
launch -n 5 --hosts 127.0.0.1,127.0.0.2 --port 4242 -- sh -c 'echo $RANK $LOCAL_RANK $RANK_ID $DEVICE_ID $WORLD_SIZE \
  $LOCAL_WORLD_SIZE $GROUP_RANK $GROUP_WORLD_SIZE $MASTER_ADDR $MASTER_PORT $BELAY_DEVICES $OMP_NUM_THREADS $HCCL_IF_IP \
  $BELAY_COLLECTIVE_HOST ${RANK_TABLE_FILE-none}'
expect "exit code" $? 0
expect environment "$(sort out.txt)" "[0] 0 0 0 0 5 3 0 2 127.0.0.1 4242 3 1 127.0.0.1 127.0.0.1 none
[1] 1 1 1 1 5 3 0 2 127.0.0.1 4242 3 1 127.0.0.1 127.0.0.1 none
[2] 2 2 2 2 5 3 0 2 127.0.0.1 4242 3 1 127.0.0.1 127.0.0.1 none
[3] 3 0 3 0 5 2 1 2 127.0.0.1 4242 2 1 127.0.0.2 127.0.0.2 none
[4] 4 1 4 1 5 2 1 2 127.0.0.1 4242 2 1 127.0.0.2 127.0.0.2 none"
expect errors "$(cat err.txt)" ""

# What is passed on: names of the documented list, and those that are named.
shown='echo $HCCL_BUFFSIZE ${HCCL_IF_IP-none} $MINE ${OTHER-none} $HCCL_SOCKET_IFNAME $SET $MASTER_ADDR; pwd'
mkdir -p 'a "folder'"'"'s" name'
(cd 'a "folder'"'"'s" name' && HCCL_BUFFSIZE=7 HCCL_IF_IP=1.2.3.4 HCCL_SOCKET_IFNAME=lo MINE="a  'b" OTHER=1 "$belay" launch \
  --over "$over" -n 1 --hosts 127.0.0.1 --master m --env MINE --env SET=3 -- sh -c "$shown" >../out.txt 2>../err.txt)
expect passed "$(cat out.txt)" "[0] 7 none a 'b none lo 3 m
[0] $(pwd -P)/a \"folder's\" name"
launch -n 1 --hosts 127.0.0.1 --env MISSING -- true; expect "not set" $? 2; said "MISSING is not set"
launch -n 1 --hosts 127.0.0.1 --device-memory 3G --workers 2 -- sh -c 'echo $BELAY_DEVICE_MEMORY $BELAY_WORKERS'
expect options "$(cat out.txt)" "[0] 3G 2"
expect "standard input" "$(echo lost | "$belay" launch -n 1 --hosts 127.0.0.1 --over "$over" -- sh -c 'cat; echo end')" "[0] end"
launch -n 2 --hosts 127.0.0.1,127.0.0.2 -- sh -c 'head -c 300000 /dev/zero | tr "\0" x; echo; echo $RANK >&2'
expect "long lines" "$(tr -dc x <out.txt | wc -c) $(sort err.txt | tr '\n' ' ')" "600000 [0] 0 [1] 1 "

# A group by the rank table, whose hosts do not share memory.
HCCL_IF_BASE_PORT=$((20000 + RANDOM % 12000)) launch -n 3 --hosts 127.0.0.1,127.0.0.2 --rank-table -- \
  python3 "$tools/all_reduce_rank.py"
expect "a group" "$? $(sort out.txt)" "0 [0] sum 3.0 on 127.0.0.1
[1] sum 3.0 on 127.0.0.1
[2] sum 3.0 on 127.0.0.2"

: >err.txt
# Failures: of a rank, of a connection, of a host.
launch -n 4 --hosts 127.0.0.1,127.0.0.2 -- sh -c 'echo $$ >rank.$RANK; test $RANK = 2 && exit 7; exec sleep 1000'
expect "one fails" $? 7
said 'belay launch: rank 2 (process [0-9]* on 127.0.0.2) ended with code 7; the others are ended'
expect "what is said" "$(wc -l <err.txt)" 1
launch -n 2 --hosts 127.0.0.1,127.0.0.2 --grace 0 -- sh -c 'trap "" TERM; echo >up.$RANK; until test -s up.0 && test -s up.1
  do :; done; test $RANK = 0 && kill -SEGV $$; sleep 1000'
expect "one that does not listen" $? 139; said 'rank 0 .* was ended by SIGSEGV'
late="test {host} = 127.0.0.1 && until test -s '$PWD/err.txt'; do :; done; exec $over"
"$belay" launch -n 2 --hosts 127.0.0.1,127.0.0.2 --over "$late" --grace 600 -- sh -c 'test $RANK = 1 && exit 7
  exec sleep 1000' 2>err.txt; expect "a failure before the others begin" $? 7
launch -n 2 --hosts 127.0.0.1,127.0.0.2 -- ./nothing-here; expect "not found" $? 127
"$belay" launch -n 2 --hosts 127.0.0.1,127.0.0.2 --over "test {host} = 127.0.0.1 && exec $over; exit 255; :" -- sleep 1000 2>err.txt
expect "no connection" $? 255; said 'the connection to host 127.0.0.2 (process [0-9]*) ended with code 255'
mkdir gone; here=$PWD
(cd gone && "$belay" launch -n 1 --hosts 127.0.0.1 --over "cd /; rmdir '$here/gone'; exec $over" -- true 2>../err.txt); expect "no directory" $? 1
said "host 127.0.0.1 has no directory $here/gone"
for bad in a,a ,a -x 'a;b' "a b" a,b,c; do
  launch -n 2 "--hosts=$bad" -- true; expect "--hosts $bad" $? 2; said --hosts
done
head -c 100 /dev/zero | "$belay" launch-part 2>err.txt; expect "no job" $? 1; said "no job of belay launch"
"$belay" launch-part </dev/null 2>err.txt; expect "nobody" $? 1; said "no job came"

# What is left behind is ended, also when it has a session of its own.
launch -n 2 --hosts 127.0.0.1,127.0.0.2 -- sh -c 'setsid sleep 1000 & echo $! >left.$RANK'; expect "something left" $? 0
for process in $(cat left.0 left.1); do kill -0 "$process" 2>/dev/null && { echo "$process is left"; failed=1; }; done

"$belay" launch -n 2 --hosts 127.0.0.1,127.0.0.2 --over "$over" -- sh -c 'trap "exit 5" TERM; trap "echo told >told.$RANK" USR1
  echo >ready.$RANK; while :; do sleep 0.02; done' 2>err.txt & launcher=$!
await_file ready.0; await_file ready.1
kill -USR1 $launcher; await_file told.0; await_file told.1
kill -TERM $launcher; wait $launcher; expect "a signal" $? 5

# The ranks notice when the launcher is killed, and when nothing is heard of it.
ends_all() {  # signal, to whom, name
  rm -f all.*
  "$belay" launch -n 2 --hosts 127.0.0.1,127.0.0.2 --over "$over" --lost-after "$4" -- sh -c 'setsid sleep 1000 &
    echo $! $$ >all.$RANK; exec sleep 1000' 2>err.txt & launcher=$!
  await_file all.0; await_file all.1
  local supervisor; supervisor=$(pgrep -P $launcher)
  kill "-$1" "${!2}"
  for process in $(cat all.0 all.1); do await_end "$process"; done
  [[ $1 == STOP ]] && kill -CONT "${!2}"
  wait $launcher 2>/dev/null
}
ends_all KILL launcher "the launcher is killed" 60
ends_all KILL supervisor "its child is killed" 60
ends_all STOP supervisor "its child is silent" 0.5
exit $failed
