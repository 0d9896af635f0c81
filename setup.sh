#!/bin/sh
# Makes .venv with Magnetar and everything it needs; called by `make setup`, and by hand as well.
#
# Takes the fastest suitable Python (3.11 or newer) on this machine: an interpreter that was built
# with profile-guided optimisation runs Magnetar's loops two to three times faster than one that was
# not, and many version managers build without. PYTHON=/path/to/python3 chooses by hand.
set -eu

say() { printf 'setup: %s\n' "$*"; }
fail() { say "$*" >&2; exit 1; }

suitable='import sys; sys.exit(sys.version_info < (3, 11))'
# The best of seven short loops, in microseconds: long enough to tell builds apart.
speed='
import time
def loop():
    start = time.perf_counter(); total = 0; seen = {}
    for i in range(20000):
        total += i & 7; seen[i & 255] = total
    return time.perf_counter() - start
print(int(min(loop() for _ in range(7)) * 1e6))'

choose() {
    best=; best_us=
    folders=$PATH:/usr/bin:/usr/local/bin
    IFS=:; set -f  # A folder of PATH may have a space or a star in its name.
    for name in python3.11 python3.12 python3.13 python3.14 python3; do
        for dir in $folders; do
            candidate=$dir/$name
            [ -x "$candidate" ] || continue
            "$candidate" -c "$suitable" 2>/dev/null || continue
            "$candidate" -c 'import venv, sqlite3, ssl' 2>/dev/null || continue
            us=$("$candidate" -c "$speed" 2>/dev/null) || continue
            if [ -z "$best" ] || [ "$us" -lt "$best_us" ]; then best=$candidate; best_us=$us; fi
        done
    done
    [ -n "$best" ] || fail "no Python 3.11 or newer found: install one (apt-get install python3 python3-venv), or say PYTHON=/path/to/python3 make setup"
    printf '%s' "$best"
}

make_venv() {
    maker=$1
    if "$maker" -c 'import ensurepip' 2>/dev/null; then
        "$maker" -m venv .venv
        return
    fi
    # Debian's python3 without python3-venv: make it bare, and let any other pip put pip into it.
    "$maker" -m venv --without-pip .venv
    set -- --python .venv/bin/python install -q pip
    if { "$maker" -m pip "$@" || python3 -m pip "$@" || pip3 "$@" || pip "$@"; } 2>/dev/null; then
        return
    fi
    rm -rf .venv
    fail "$maker has no ensurepip, and no pip was found: apt-get install python3-venv, or say PYTHON=/path/to/python3 make setup"
}

cd "$(dirname "$0")"
if [ ! -x .venv/bin/python ]; then
    python=${PYTHON:-$(choose)}
    "$python" -c "$suitable" || fail "$python is older than 3.11"
    say "making .venv with $python ($("$python" -c 'import platform; print(platform.python_version())'))"
    make_venv "$python"
fi
say "installing Magnetar, Spark and the test tools (1.7 GB of disk; minutes on a slow line)"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
.venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[quickstart,dev]'
if ! MAGNETAR_INNER=compiled .venv/bin/python -c 'import magnetar.inner' 2>/dev/null; then
    lacking='see what  .venv/bin/python -m pip install -v -e .  says'
    headers=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("include"))')
    [ -e "$headers/Python.h" ] || lacking="there is no $headers/Python.h (apt-get install python3-dev)"
    command -v "${CC:-cc}" >/dev/null || lacking='there is no C compiler (apt-get install gcc)'
    say "the inner loops are not compiled: $lacking. Everything works, slower; ./setup.sh tries again"
fi
say "done: .venv/bin/magnetar --help"
