#!/usr/bin/env bash
# Advisories, licences and sources of everything that ships: the crates by cargo-deny (which it builds once), the npm packages by npm.
# Needs the network: both ask for what has become known since. `ADVISORIES=folder` takes crates' advisories from a copy that is there.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/path.sh
version=0.19.0
if [ "$(cargo-deny --version 2>/dev/null)" != "cargo-deny $version" ]; then
  cargo install cargo-deny --version "=$version" --root target/tools --locked
fi
flags=()
[ -z "${ADVISORIES:-}" ] || flags=(--disable-fetch)
cargo deny --locked check "${flags[@]}"
npm audit --prefix www --omit=dev
