#!/usr/bin/env bash
# Deploys the stack to LocalStack, sends rows and routes messages by the stack's own events, deploys again in mid-flight,
# and destroys the stack. LocalStack runs as a process, without Docker; see README.md beside this file. Everything is
# installed and built in build/.
set -euo pipefail
cd "$(dirname "$0")/../.."

LOCALSTACK=2026.3.0
PACKAGES_OF=2026-03-25T00:00:00Z # LocalStack does not pin its dependencies
UV=0.13.9
BUILD=build/localstack
VENV=$BUILD/venv

fail() { printf 'e2e-localstack: %s\n' "$*" >&2; exit 1; }

# A version manager's program of that name may not run Python, so ask it for its version.
is_python() { "$1" -c 'import sys, venv; sys.exit(sys.version_info[:2] != (3, 13))' >/dev/null 2>&1; }

find_python() {
  local candidate
  for candidate in ${PYTHON:+"$PYTHON"} python3.13 python3 \
    "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.13*/bin/python3 \
    "${XDG_DATA_HOME:-$HOME/.local/share}"/uv/python/cpython-3.13*/bin/python3 \
    "${XDG_DATA_HOME:-$HOME/.local/share}"/mise/installs/python/3.13*/bin/python3 \
    "${ASDF_DATA_DIR:-$HOME/.asdf}"/installs/python/3.13*/bin/python3 \
    "$HOME"/miniconda3/bin/python3 /opt/python*/bin/python3 /usr/local/bin/python3.13; do
    if is_python "$candidate"; then echo "$candidate"; return; fi
  done
  fail "Python 3.13 (with venv), which LocalStack $LOCALSTACK needs, is neither on the PATH nor with pyenv, uv, mise or asdf: set PYTHON to one"
}

install_localstack() {
  local python want
  want="$LOCALSTACK $PACKAGES_OF $UV $(cat test/localstack/plugins/pyproject.toml test/localstack/plugins/*/*.py | cksum)"
  [ "$(cat "$VENV/installed" 2>/dev/null)" = "$want" ] && return
  python=$(find_python)
  echo "installing LocalStack $LOCALSTACK with $("$python" --version) into $VENV"
  rm -rf "$VENV"
  "$python" -m venv "$VENV"
  "$VENV/bin/pip" install --quiet --disable-pip-version-check "uv==$UV"
  "$VENV/bin/uv" pip install --quiet --python "$VENV/bin/python" --exclude-newer "$PACKAGES_OF" \
    "localstack-core[runtime]==$LOCALSTACK" setuptools==80.9.0
  rm -rf "$BUILD/plugins" && cp -R test/localstack/plugins "$BUILD/plugins" # the build leaves files beside its source
  "$VENV/bin/uv" pip install --quiet --python "$VENV/bin/python" --no-build-isolation --no-deps "./$BUILD/plugins"
  echo "$want" >"$VENV/installed"
}

# The functions run as processes of this machine.
build() {
  local function
  case $(uname -sm) in
    "Linux x86_64") GOARCH=amd64 ;;
    "Linux aarch64") GOARCH=arm64 ;;
    *) fail "unsupported machine $(uname -sm): the functions are Linux programs for x86_64 or arm64" ;;
  esac
  for function in functions/*/main.go; do
    function=$(basename "$(dirname "$function")")
    CGO_ENABLED=0 GOOS=linux GOARCH=$GOARCH go build -trimpath -buildvcs=false -ldflags='-s -w' -tags=lambda.norpc \
      -o "$BUILD/dist/$function/bootstrap" "./functions/$function"
  done
  go build -o "$BUILD/landfall" ./cmd/landfall
  go build -C infra -o "../$BUILD/infra" .
}

command -v go >/dev/null || fail "go is missing: install it from https://go.dev/dl/"
command -v npm >/dev/null || fail "npm is missing: install Node.js 20 or newer from https://nodejs.org"
mkdir -p "$BUILD"
install_localstack
[ node_modules/aws-cdk/package.json -nt package-lock.json ] || npm ci --silent --no-audit --no-fund
echo "building the functions, the command line and the CDK app"
build
echo "prepared after $SECONDS s"
export PYTHONDONTWRITEBYTECODE=1
exec "$VENV/bin/python" test/localstack/e2e.py --architecture "$GOARCH" --build "$BUILD"
