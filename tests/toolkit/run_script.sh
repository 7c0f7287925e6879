#!/bin/bash
# run_script.sh REASON script toolkit scratch [args...]: runs a toolkit test in an empty scratch folder,
# with none of the variables that set_env.sh sets, nor those by which the make that runs the tests would
# tell another make that it is its child (which then says which folder it enters). A REASON says why the
# script cannot pass yet.
set -u
reason=$1 script=$2 toolkit=$3 scratch=$4
shift 4
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch" || exit 1
unset ASCEND_TOOLKIT_HOME ASCEND_HOME_PATH ASCEND_OPP_PATH ASCEND_AICPU_PATH TOOLCHAIN_HOME
unset LD_LIBRARY_PATH PYTHONPATH
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES PREFIX JOBS
export ASCEND_PROCESS_LOG_PATH=$scratch/log
bash "$script" "$toolkit" "$scratch" "$@"
status=$?
[[ -z $reason ]] && exit $status
if [[ $status -eq 0 ]]; then
  echo "passes now: take the REASON away ($reason)"
  exit 1
fi
echo "skipped: $reason"
exit 77
