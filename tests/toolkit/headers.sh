# Every public header compiles on its own, without a warning: acl/ and aclnn/ as C11 and as C++11 to
# C++20, the rest as C++11 to C++20.
set -uo pipefail
include=$(cd "$1/include" && pwd -P) failed=0
strict=(-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$include")
cd "$include"
while read -r header; do
  header=${header#./}
  for standard in c++11 c++17 c++20; do
    "$CXX" -std=$standard "${strict[@]}" -x c++ - <<<"#include \"$header\"" ||
      { echo "$header as $standard"; failed=1; }
  done
  case $header in
    acl/* | aclnn/* | aclnnop/*)
      "$CC" -std=c11 "${strict[@]}" -x c - <<<"#include \"$header\"" || { echo "$header as C"; failed=1; } ;;
  esac
done < <(find . -name '*.h' | sort)
exit $failed
