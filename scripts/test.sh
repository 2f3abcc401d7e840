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

# What the browser needs is compiled beside what runs natively. The page's modules are those of the tests in the browser, compiled
# once: how they are optimized for visitors is left to scripts/serve.sh.
page_lane() {
  timed "Tools (beside)" scripts/setup.sh test
  export CARGO_BUILD_WARNINGS=deny
  timed "Page (beside)" node scripts/build.mjs --quick
  timed "Types of the page (beside)" npm run --silent --prefix www check
  timed "Unit tests of the page (beside)" npm test --silent --prefix www
  timed "Crate tests for the browser, compiled (beside)" node scripts/test-modules.mjs --no-run
}
# A group of processes, to be ended as one.
set -m
(page_lane) >"$built" 2>&1 &
page=$!
set +m
# Not `timed wait || ...`: in a condition, a step that fails does not end the script.
await_page() {
  local status=0
  wait "$page" || status=$?
  cat "$built"
  return "$status"
}

finish() {
  kill -- "-$page" 2>/dev/null || true
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
timed "Crate tests in the browser" node scripts/test-modules.mjs
timed "The page in the browser" npm run --silent --prefix www e2e
