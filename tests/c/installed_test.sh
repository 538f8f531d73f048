#!/usr/bin/env bash
# Installs the build into a temporary folder, moves it, and builds programs against what is there and nothing else:
# with pkg-config, and with find_package().
#
#   installed_test.sh BUILD_FOLDER SOURCES CC CXX
set -euo pipefail

build=$1 sources=$2 cc=$3 cxx=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved" # what is installed knows its place relative to itself
prefix=$work/moved
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name lapse.pc)")
export PKG_CONFIG_PATH
libraries=$(pkg-config --variable=libdir lapse)

echo "== headers"
diff <(cd "$sources/../../../include/lapse" && ls) <(ls "$prefix/include/lapse")

echo "== the binary"
"$prefix/bin/lapse" --version

echo "== symbols: the C interface, the public C++ classes, and nothing else"
nm -DC --defined-only "$libraries/liblapse.so" | cut -d' ' -f3- >"$work/symbols"
classes='Family|Iterator|Keyspace|Reader|Snapshot|Status|Store|Transaction|WriteBatch'
if grep -vE "^(kvstore_|snkv_|lapse::($classes)::|lapse::status_code_name)" "$work/symbols"; then exit 1; fi
# Every function that the header declares.
grep -oE '\b(kvstore|snkv)_[a-z_0-9]+\(' "$prefix/include/lapse/kvstore.h" | tr -d '(' | sort -u |
  while read -r name; do grep -qx "$name" "$work/symbols" || { echo "$name is not there"; exit 1; }; done

# shellcheck disable=SC2046 # pkg-config's answers are words
{
  echo "== pkg-config"
  "$cc" -std=c99 -Wall -Wextra -pedantic -Werror "-I$(pkg-config --variable=includedir lapse)/lapse" \
    "$sources/program.c" -o "$work/c" $(pkg-config --libs lapse) "-Wl,-rpath,$libraries"
  "$cxx" -std=c++20 -Wall -Wextra -Werror $(pkg-config --cflags lapse) \
    "$sources/program.cc" -o "$work/cc" $(pkg-config --libs lapse) "-Wl,-rpath,$libraries"
  "$cc" -std=c99 "-I$prefix/include/lapse" "$sources/program.c" -o "$work/static" \
    $(pkg-config --static --libs lapse | sed 's/-llapse/-l:liblapse.a/')
}
"$work/c"
"$work/c" "$work/my.db"
"$work/cc"
"$work/static"

echo "== find_package"
cmake -S "$sources" -B "$work/project" -G Ninja "-DCMAKE_PREFIX_PATH=$prefix" "-DCMAKE_C_COMPILER=$cc" \
  "-DCMAKE_CXX_COMPILER=$cxx" -DCMAKE_C_FLAGS='-Wall -Wextra -pedantic -Werror' >/dev/null
cmake --build "$work/project" >/dev/null
for program in c-lapse c-lapse_static cc-lapse; do "$work/project/$program"; done
