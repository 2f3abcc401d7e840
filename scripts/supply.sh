#!/usr/bin/env bash
# Advisories, licences and sources of everything that ships: the crates by cargo-deny (which it builds once), the npm packages by npm.
# Needs the network: both ask for what has become known since. What can't be asked is said, and is a failure. `ADVISORIES=address` takes the
# crates' advisories from another copy of https://github.com/RustSec/advisory-db, such as file:///srv/advisory-db.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/path.sh
version=0.20.2
if [ "$(cargo-deny --version 2>/dev/null)" != "cargo-deny $version" ]; then
  # It runs for seconds: building it fast is worth more than what optimizing gains.
  CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
    cargo install cargo-deny --version "=$version" --root target/tools --locked
fi

status=0
failed() {
  echo "$1" >&2
  status=1
}

if [ -n "${ADVISORIES:-}" ]; then
  export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.$ADVISORIES.insteadOf" GIT_CONFIG_VALUE_0=https://github.com/RustSec/advisory-db
fi
deny() { cargo deny --locked "$@"; }

deny check licenses sources bans || status=1
if deny fetch db; then
  deny check advisories || status=1
else
  failed "The database of advisories can't be fetched from ${ADVISORIES:-https://github.com/RustSec/advisory-db}: no crate was checked for them."
fi

# A registry that gives no answer ends as a package with an advisory does: only a report says which.
audit=$(npm audit --prefix www --omit=dev --json) || true
if grep -q '"auditReportVersion"' <<<"$audit"; then
  npm audit --prefix www --omit=dev || status=1
else
  failed "npm's registry gives no advisories: no package was checked for them."
fi
exit "$status"
