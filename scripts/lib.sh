# Shared by the scripts: where we are, how we speak, how we build.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
started=$SECONDS
# The same source compiled in another build directory is the same object file.
export CCACHE_NOHASHDIR=true

say() { printf '\033[1m== %s\033[0m  (%d s)\n' "$*" "$((SECONDS - started))"; }

# build PRESET [TARGET…]: configures when the presets are newer, then builds what changed.
build() {
  local preset=$1
  shift
  say "building $preset${*:+ ($*)}"
  [[ build/$preset/build.ninja -nt CMakePresets.json ]] || cmake --preset "$preset" >"build-$preset.log" 2>&1 || {
    cat "build-$preset.log" >&2
    rm -f "build-$preset.log"
    return 1
  }
  rm -f "build-$preset.log"
  cmake --build --preset "$preset" -- ${*:+"$@"} --quiet
}
