#!/usr/bin/env bash
# Checks the code for systems other than this one, as far as a compiler can: nothing is linked or run.
# Needs rustup and the network; CARGO_TARGET_DIR says where to build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

targets=(aarch64-apple-darwin x86_64-apple-darwin aarch64-unknown-linux-gnu x86_64-unknown-linux-musl)
rustup target add "${targets[@]}"

# A dependency compiles C, for which there is no compiler here; an empty object will do.
compiler=$(mktemp)
trap 'rm -f "$compiler"' EXIT
cat >"$compiler" <<'SCRIPT'
#!/usr/bin/env bash
while (($#)); do
  if [[ $1 == -o ]]; then : >"$2"; fi
  shift
done
SCRIPT
chmod +x "$compiler"

for target in "${targets[@]}"; do
  echo "== $target"
  name=${target//-/_}
  env "CC_$name=$compiler" "AR_$name=true" \
    cargo clippy --quiet --target "$target" --workspace --all-targets -- -D warnings
done
