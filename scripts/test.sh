#!/usr/bin/env bash
# Runs every test: native, in the browser's page and worker, of the page's own code, and of the built page in a browser; prints how long
# each step takes. Needs rustup and Node 20; installs Debian's chromium, chromium-driver and mesa-vulkan-drivers where they are
# missing, as root or through sudo.
set -euo pipefail
cd "$(dirname "$0")/.."

times=$(mktemp) built=$(mktemp)
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

# The page is linked in one piece, on one processor, which takes as long as the native tests: both at once.
page_lane() {
  timed "Tools (beside)" scripts/setup.sh test
  timed "Page (beside)" node scripts/build.mjs
  timed "Crate tests for the browser, compiled (beside)" node scripts/test-modules.mjs --no-run
}
(page_lane) >"$built" 2>&1 &
page=$!
# Not `timed wait || ...`: in a condition, a step that fails does not end the script.
await_page() {
  local status=0
  wait "$page" || status=$?
  cat "$built"
  return "$status"
}

finish() {
  kill "$page" 2>/dev/null || true
  printf '\n=== Times\n'
  cat "$times"
  printf '%5d s  in all\n' "$SECONDS"
  rm -f "$times" "$built"
}
trap finish EXIT

# Warnings end the build, without a rebuild of anything.
export CARGO_BUILD_WARNINGS=deny
timed "Format" cargo fmt --all --check
timed "Lints" cargo clippy --locked --workspace --all-targets
timed "Native tests, compiled" cargo test --locked --workspace --no-run
timed "Native tests" cargo test --locked --workspace
timed "Documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps
timed "Waiting for the page" await_page
timed "Types of the page" npm run --silent --prefix www check
timed "Unit tests of the page" npm test --silent --prefix www
timed "Crate tests in the browser" node scripts/test-modules.mjs
timed "The page in the browser" npm run --silent --prefix www e2e
