# For scripts that run a command with its output in out.txt and err.txt and look at it next; sets `failed`.
expect() {  # code, words of the standard error...
  local code=$1 got=$?
  shift
  [[ $got -eq $code ]] || { echo "exit code $got, not $code"; cat out.txt err.txt; failed=1; }
  for words; do
    grep -q -- "$words" err.txt || { echo "missing: $words"; cat err.txt; failed=1; }
  done
}
