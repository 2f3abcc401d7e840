#!/usr/bin/env bash
# Runs every test: native, in the browser's page and worker, of the page's own code, and of the built page in a browser; prints how long
# each step takes. Needs rustup and Node 20; installs Debian's chromium, chromium-driver and mesa-vulkan-drivers where they are
# missing, as root or through sudo.
set -euo pipefail
cd "$(dirname "$0")/.."

# Nothing is compiled twice here: what would make a second time faster makes the first slower.
export CARGO_INCREMENTAL=0
times=$(mktemp) log=$(mktemp)
# A step's heading, its command, and how long that took.
timed() {
  local name=$1 begin=$SECONDS
  shift
  printf '\n=== %s\n' "$name"
  "$@"
  printf '%5d s  %s\n' $((SECONDS - begin)) "$name" | tee -a "$times"
}

timed "Compiler" scripts/setup.sh rust
. scripts/path.sh
# Before both lanes, which take them in. Without a network what needs them is not tested.
python3 scripts/packages.py || echo "Packages could not be fetched."

# What runs in the browser is compiled and tested beside what runs natively: compiling leaves one of two processors idle at times, and
# a page waits more than it computes. The page's modules are those of the crate's tests, compiled once: how they are optimized for
# visitors is left to scripts/serve.sh.
browser_lane() {
  timed "Tools" scripts/setup.sh test
  export CARGO_BUILD_WARNINGS=deny
  timed "The page, built" node scripts/build.mjs --quick
  timed "Types of the page" npm run --silent --prefix www check
  timed "Unit tests of the page" npm test --silent --prefix www
  timed "Crate tests for the browser, compiled" node scripts/test-modules.mjs --no-run
  timed "Crate tests in the browser" node scripts/test-modules.mjs
  timed "The page in the browser" npm run --silent --prefix www e2e
}
# A group of processes, to be ended as one.
set -m
(browser_lane) >"$log" 2>&1 &
lane=$!
set +m
# Not `timed wait || ...`: in a condition, a step that fails does not end the script.
await_browser() {
  local status=0
  wait "$lane" || status=$?
  show_lane
  return "$status"
}
# What the other lane has said, once: where this one ends early, too.
shown=
show_lane() {
  [ -n "$shown" ] || cat "$log"
  shown=yes
}

finish() {
  kill -- "-$lane" 2>/dev/null || true
  show_lane
  printf '\n=== Times\n'
  cat "$times"
  printf '%5d s  in all\n' "$SECONDS"
  rm -f "$times" "$log"
}
trap finish EXIT

timed "Format" cargo fmt --all --check
# Clippy compiles as rustc does, so that linting and compiling are one pass. Warnings end the build, without a rebuild of anything.
export CARGO_BUILD_WARNINGS=deny RUSTC_WORKSPACE_WRAPPER=clippy-driver
# The browser's steps take longest in all: what runs natively leaves them the processors, and takes what they leave.
timed "Native code, linted and compiled" nice cargo test --locked --workspace --all-targets --no-run
timed "Native tests" nice cargo test --locked --workspace
timed "Waiting for the browser" await_browser
