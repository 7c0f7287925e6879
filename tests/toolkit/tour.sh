# Runs the commands of the README's tour in a shell, from the root of the checkout, and compares what
# they print with what the README shows.
set -euo pipefail
cd "$BELAY_SOURCE"
python3 tests/toolkit/tour.py README.md
