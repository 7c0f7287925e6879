# set_env.sh under one shell: sourced, sourced twice, moved, reached by a relative path and by a link,
# from a folder with a space in its name, with lists that were set before, and under set -eu.
set -euo pipefail
toolkit=$1 scratch=$2 shell=$3
failed=0

# run 'commands' prints the variables of interest after running the commands in the shell under test.
run() {
  local show='printf "%s\n" "home=$ASCEND_TOOLKIT_HOME" "home2=$ASCEND_HOME_PATH" "opp=$ASCEND_OPP_PATH" \
    "aicpu=$ASCEND_AICPU_PATH" "chain=$TOOLCHAIN_HOME" "ld=$LD_LIBRARY_PATH" "py=$PYTHONPATH" "path=$PATH"'
  "$shell" -c "$1
$show"
}
expect() {  # what got wanted
  if [[ $2 != "$3" ]]; then
    printf '%s\n--- got\n%s\n--- wanted\n%s\n' "$1" "$2" "$3"
    failed=1
  fi
}
wanted() {  # home [rest of the lists] [folder first in PATH]
  local h=$1 tbe=$1/opp/built-in/op_impl/ai_core/tbe
  local plugins=$h/lib64/plugin/opskernel:$h/lib64/plugin/nnengine
  local tiling=$tbe/op_tiling/lib/linux/$(uname -m):$tbe/op_tiling
  printf '%s\n' "home=$h" "home2=$h" "opp=$h/opp" "aicpu=$h" "chain=$h/toolkit" \
    "ld=$h/lib64:$plugins:$tiling:$h/tools/aml/lib64${2:+:$2}" "py=$h/python/site-packages:$tbe${2:+:$2}" \
    "path=${3:+$3:}$h/bin:$h/compiler/ccec_compiler/bin:$PATH"
}

toolkit=$(cd "$toolkit" && pwd -P)
expect "absolute path" "$(run ". '$toolkit/set_env.sh'")" "$(wanted "$toolkit")"
expect "twice" "$(run ". '$toolkit/set_env.sh'; . '$toolkit/set_env.sh'")" "$(wanted "$toolkit")"
expect "set -eu" "$(run "set -eu; . '$toolkit/set_env.sh'")" "$(wanted "$toolkit")"
expect "relative path" "$(run "cd '$toolkit' && . ./set_env.sh")" "$(wanted "$toolkit")"
expect "lists that were set" \
  "$(run "export LD_LIBRARY_PATH=/a:/b PYTHONPATH=/a:/b; . '$toolkit/set_env.sh'")" \
  "$(wanted "$toolkit" /a:/b)"
expect "behind another entry" \
  "$(run "export LD_LIBRARY_PATH=/a:$toolkit/lib64:/b PYTHONPATH=/a:/b; . '$toolkit/set_env.sh'")" \
  "$(wanted "$toolkit" /a:/b)"
ln -s "$toolkit" "$scratch/link"
expect "through a link" "$(run ". '$scratch/link/set_env.sh'")" "$(wanted "$toolkit")"
expect "no trace left" \
  "$("$shell" -c ". '$toolkit/set_env.sh'; set" | grep -i '^_\?_belay' | grep -v "^_=" || true)" ""
expect "status" "$("$shell" -c ". '$toolkit/set_env.sh' && echo good")" good
expect "with an argument" "$(run ". '$toolkit/set_env.sh' --force")" "$(wanted "$toolkit")"
if [[ $shell == dash ]]; then  # which hands on no arguments: the file sees those that are set
  npu_smi="set -- --with-npu-smi; . '$toolkit/set_env.sh'"
else
  npu_smi=". '$toolkit/set_env.sh' --force --with-npu-smi"
fi
expect "with npu-smi" "$(run "$npu_smi")" "$(wanted "$toolkit" "" "$toolkit/libexec")"
expect "with npu-smi, twice" "$(run "$npu_smi; $npu_smi")" "$(wanted "$toolkit" "" "$toolkit/libexec")"
expect "the same as belay run" \
  "$("$toolkit/bin/belay" run -- sh -c 'echo "$LD_LIBRARY_PATH $PYTHONPATH $PATH"')" \
  "$("$shell" -c ". '$toolkit/set_env.sh'; echo \"\$LD_LIBRARY_PATH \$PYTHONPATH \$PATH\"")"

# Moved after the installation: the folder where it was installed is gone.
mkdir "$scratch/new place"
cp -a "$toolkit" "$scratch/new place/kit"
moved="$scratch/new place/kit"
sed -i "s#'$toolkit'#'$scratch/gone'#" "$moved/set_env.sh"
grep -q "'$scratch/gone'" "$moved/set_env.sh" || { echo "no folder of installation found"; failed=1; }
expect "moved" "$(run ". '$moved/set_env.sh'")" "$(wanted "$moved")"
expect "the last one sourced wins" \
  "$(run ". '$moved/set_env.sh'; . '$toolkit/set_env.sh'" | sed -n 1p)" "home=$toolkit"
[[ $shell == dash ]] || expect "nested" \
  "$(echo ". '$moved/set_env.sh'" >"$scratch/outer.sh"; run ". '$scratch/outer.sh'")" "$(wanted "$moved")"

ln -s "new place/kit/set_env.sh" "$scratch/set_env.sh"
expect "a link to the file" "$(run ". '$scratch/set_env.sh'")" "$(wanted "$moved")"

# A shell that names nothing (the text arrives by eval), and the folder of installation is gone.
message=$("$shell" -c "eval \"\$(cat '$moved/set_env.sh')\"" 2>&1) && { echo "eval: no error"; failed=1; }
grep -q "cannot tell where the Belay toolkit is" <<<"$message" || { echo "eval: $message"; failed=1; }
exit $failed
