#!/usr/bin/env bash
# Runs every test: native, in the browser's page and worker, of the page's own code, and of the built page in a browser.
# Needs rustup and Node 20; installs Debian's chromium, chromium-driver and mesa-vulkan-drivers where they are missing, as
# root or through sudo.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh rust
. scripts/path.sh

step() { printf '\n=== %s\n' "$1"; }
# Warnings end the build, without a rebuild of anything.
export CARGO_BUILD_WARNINGS=deny

# The page is linked in one piece, on one processor, which takes as long as the native tests: both at once.
built=$(mktemp)
(env -u CARGO_BUILD_WARNINGS scripts/setup.sh test && node scripts/build.mjs) >"$built" 2>&1 &
page=$!
trap 'kill "$page" 2>/dev/null || true; rm -f "$built"' EXIT

step "Format"
cargo fmt --all --check
step "Lints"
cargo clippy --locked --workspace --all-targets
step "Native tests"
cargo test --locked --workspace
step "Documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps
step "Tools and the page"
status=0
wait "$page" || status=$?
cat "$built"
[ "$status" = 0 ] || exit "$status"
step "Types and unit tests of the page"
npm run --silent --prefix www check
npm test --silent --prefix www
step "Crate tests in the browser"
node scripts/test-modules.mjs
step "The page in the browser"
npm run --silent --prefix www e2e
