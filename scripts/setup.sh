#!/usr/bin/env bash
# Installs what building the page needs and is missing; with "test", also what testing needs: Debian's Chromium, its driver
# and a software Vulkan, by apt, as root or through sudo; with "rust", no more than the compiler. Needs rustup and Node 20. A
# second run finds everything there.
set -euo pipefail
cd "$(dirname "$0")/.."

missing() { echo "$1" >&2; exit 1; }
command -v rustup >/dev/null || missing "rustup is needed: https://rustup.rs"
command -v node >/dev/null || missing "Node 20.19 or newer is needed"
node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
  missing "Node 20.19 or newer is needed; this is $(node --version)"

# rustup installs nothing by itself everywhere: say it. Without a name it takes what rust-toolchain.toml pins.
channel=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
installed=$(rustup component list --toolchain "$channel" --installed 2>/dev/null || true)
for part in clippy rustfmt rust-std-wasm32-unknown-unknown; do
  if ! grep -q "^$part" <<<"$installed"; then
    rustup toolchain install "$channel" --profile minimal --component clippy,rustfmt --target wasm32-unknown-unknown
    break
  fi
done

[ "${1:-}" != rust ] || exit 0

lock=$(sha256sum www/package-lock.json)
if [ "$(cat www/node_modules/.lock 2>/dev/null)" != "$lock" ]; then
  npm ci --prefix www --no-audit --no-fund
  echo "$lock" >www/node_modules/.lock
fi

# Tools of other versions that are already there are left alone: ours go into target/tools.
tool() { # name, version, further flags of cargo install
  local name=$1 version=$2
  shift 2
  if [ "$("${name%-cli}" --version 2>/dev/null)" != "${name%-cli} $version" ]; then
    # They run for seconds: building them fast is worth more than what optimizing gains, but for what reads whole modules.
    local package reads=()
    for package in walrus wasmparser wasm-encoder wasm-bindgen-cli-support wasm-bindgen-externref-xform wasm-bindgen-wasm-interpreter; do
      [ "$name" = wasm-pack ] || reads+=(--config "profile.release.package.$package.opt-level=1")
    done
    CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
      cargo install "$name" --version "=$version" --root target/tools "${reads[@]}" "$@"
  fi
}
. scripts/path.sh
config() { node -e "import('./scripts/lib/config.mjs').then((c) => console.log($1))"; }
tool wasm-pack "$(config 'c.config["wasm-pack"].version')" --locked
# Its lock file names a release of a dependency that no longer compiles.
tool wasm-bindgen-cli "$(config 'c.wasmBindgenVersion()')"

if [ "${1:-}" = test ]; then
  packages=()
  for package in chromium chromium-driver mesa-vulkan-drivers; do
    dpkg -s "$package" >/dev/null 2>&1 || packages+=("$package")
  done
  if [ ${#packages[@]} -gt 0 ]; then
    sudo=()
    if [ "$(id -u)" != 0 ]; then
      command -v sudo >/dev/null || missing "As root: apt-get install ${packages[*]}"
      sudo=(sudo)
    fi
    "${sudo[@]}" apt-get update -qq
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"
  fi
fi
