# The layout of the toolkit: layout.py says what of it.
exec python3 "$BELAY_SOURCE/tests/toolkit/layout.py" "$1" "$2"
