#!/bin/sh
# msprof of Belay's toolkit: puts the tables of a profile where viewers look for them. They are written while the program
# runs (aclprof*, belay trace --msprof), so nothing has to be computed from other data.
usage() {
  cat <<'TEXT'
usage: msprof --export=on --output=PROF_FOLDER
       msprof --analyze=on --output=PROF_FOLDER

  --export=on     puts the tables of a profile into PROF_FOLDER/mindstudio_profiler_output again
  --analyze=on    says that there is nothing to analyse: communication is among the tasks

To profile a program: belay trace --msprof FOLDER -- program arguments
TEXT
}
fail() {
  echo "msprof: $1" >&2
  exit 1
}
export= analyze= output=
for argument; do
  case $argument in
    --help | -h) usage; exit 0 ;;
    --export=on) export=on ;;
    --analyze=on) analyze=on ;;
    --output=*) output=${argument#--output=} ;;
    *) fail "'$argument' is not known here; msprof --help lists what is" ;;
  esac
done
[ -n "$export$analyze" ] || { usage >&2; exit 1; }
[ -n "$output" ] || fail "say --output=PROF_FOLDER"
[ -d "$output/host/data" ] || fail "$output is no folder of a profile: it has no host/data"
if [ -n "$analyze" ]; then
  echo "msprof: nothing to analyse in $output"
  exit 0
fi
mkdir -p "$output/mindstudio_profiler_output" || exit 1
for file in "$output"/host/data/*_[0-9]*.csv "$output"/host/data/*_[0-9]*.json; do
  [ -e "$file" ] || continue
  cp -p "$file" "$output/mindstudio_profiler_output/" || exit 1
done
echo "msprof: tables are in $output/mindstudio_profiler_output"
