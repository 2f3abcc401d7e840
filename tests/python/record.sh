#!/bin/sh
# Records what CPython prints for the scripts of this folder: `tests/python/record.sh [NAME.py ...]`, with Python 3.11 as `python`.
cd "$(dirname "$0")" || exit 1
[ $# -gt 0 ] || set -- *.py
for script in "$@"; do
    name=${script%.py}
    python -X no_debug_ranges "$script" >"$name.stdout" 2>"$name.stderr"
    echo $? >"$name.status"
    sed -i "s|$PWD/||" "$name.stdout" "$name.stderr"
    [ -s "$name.stdout" ] || rm "$name.stdout"
    [ -s "$name.stderr" ] || rm "$name.stderr"
    [ "$(cat "$name.status")" != 0 ] || rm "$name.status"
done
