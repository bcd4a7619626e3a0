#!/usr/bin/env bash
# Drives `rrc lsp` with clients that were written elsewhere: pygls, and Neovim.
# Not part of `cargo test`: it downloads pygls, and installs Debian's Neovim where there is none.
# The binary is the first argument, or target/release/rrc.
set -euo pipefail
cd "$(dirname "$0")/../.."
rrc=$(realpath "${1:-target/release/rrc}")
venv=target/lsp-clients
if [ ! -x "$venv/bin/python" ]; then
  python3 -m venv "$venv"
fi
"$venv/bin/python" -c 'import pygls' 2>/dev/null || "$venv/bin/pip" install --quiet pygls
"$venv/bin/python" tests/lsp/pygls_client.py "$rrc"
"$venv/bin/python" tests/lsp/speed.py "$rrc"
if ! command -v nvim >/dev/null && command -v apt-get >/dev/null; then
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
  "${as_root[@]}" apt-get install -qq -y --no-install-recommends neovim >/dev/null
fi
if ! command -v nvim >/dev/null; then
  echo "nvim is not installed, and cannot be installed here" >&2
  exit 1
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf 'name: x\nsteps:\n  - {id: "😀", type: bash, comand: echo}\n' > "$folder/a.yaml"
RRC=$rrc nvim --clean --headless "$folder/a.yaml" -c 'luafile tests/lsp/nvim.lua' 2>&1
