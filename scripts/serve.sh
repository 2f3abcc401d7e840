#!/usr/bin/env bash
# Builds the page and serves it on http://localhost:8080/ (another port: scripts/serve.sh PORT). Needs rustup and Node 20;
# the first run installs the pinned toolchain, wasm-pack and wasm-bindgen, and takes about ten minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
. scripts/path.sh
node scripts/build.mjs
exec node scripts/serve.mjs www/dist "${1:-8080}"
