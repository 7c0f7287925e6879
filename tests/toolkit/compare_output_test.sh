# compare_output.py says yes and no where it should.
set -u
compare=$BELAY_SOURCE/tests/toolkit/compare_output.py failed=0
check() {  # wanted-status expected got
  printf "$2" >expected.txt
  printf "$3" >got.txt
  python3 "$compare" expected.txt got.txt >/dev/null
  [[ $? -eq $1 ]] || { echo "not $1: '$2' and '$3'"; failed=1; }
}
check 0 'a b\n' 'a b\n'
check 1 'a b\n' 'a c\n'
check 1 'a b\n' 'a b\nmore\n'
check 0 'time   <number> us\n' 'time 12.5 us\n'
check 1 'time <number> us\n' 'time x us\n'
check 0 'a\n<anything>\nb\n' 'a\n1\n2\nb\n'
check 0 'a\n<anything>\nb\n' 'a\nb\n'
check 1 'a\n<anything>\nb\n' 'a\nc\n'
check 0 'in <word>\n' 'in /a/b\n'
exit $failed
