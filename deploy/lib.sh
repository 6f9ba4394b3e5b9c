# Shared by deploy/quickstart and tests/run: Debian packages and the release build. Sourced, not run.
# Sets `root` to the top of the tree. Functions return non-zero with one clear line on stderr.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The packages of a list that are not there yet.
missing_packages() {
    local package command
    while read -r package command _; do
        case $package in '' | '#'*) continue ;; esac
        if [ -n "$command" ] && command -v "$command" >/dev/null 2>&1; then continue; fi
        if dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii'; then continue; fi
        printf '%s\n' "$package"
    done < <(cat "$@")
}

# install_packages LIST…: apt only when something is missing.
install_packages() {
    local missing as_root=()
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -eq 0 ] && return 0
    command -v apt-get >/dev/null || {
        echo "this needs Debian packages and there is no apt-get here; missing: ${missing[*]}" >&2
        return 1
    }
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || {
            echo "run as root or install sudo; missing packages: ${missing[*]}" >&2
            return 1
        }
        as_root=(sudo)
    fi
    echo "installing: ${missing[*]}"
    # RUNLEVEL=1 keeps the servers among the packages from being started by their installation.
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -q -o Dpkg::Use-Pty=0
        -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120)
    "${apt[@]}" update || { echo "apt-get update failed" >&2; return 1; }
    "${apt[@]}" install -y --no-install-recommends "${missing[@]}" || {
        echo "apt-get could not install: ${missing[*]}" >&2
        return 1
    }
}

# The options of build-asan/, which the sanitizer runs and the fuzz targets share.
sanitized=(-Dsanitize=true -Dfuzz=true -Dbuildtype=debug -Doptimization=1)

# build_in DIR [TARGETS] -- [MESON OPTIONS]: sets DIR up when needed, then ninja.
build_in() {
    local dir=$1 targets=()
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do targets+=("$1"); shift; done
    [ $# -gt 0 ] && shift
    # Hits stay within one checkout: a precompiled header holds the path of the tree that made it.
    unset CCACHE_BASEDIR CCACHE_NOHASHDIR
    export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros,include_file_mtime,include_file_ctime}
    if [ ! -f "$root/$dir/build.ninja" ]; then
        rm -rf "${root:?}/$dir"
        local said
        said=$(cd "$root" && meson setup "$dir" --native-file clang19.ini "$@" 2>&1) || {
            printf '%s\n' "$said" | tail -n 30 >&2
            echo "meson setup $dir failed" >&2
            return 1
        }
    elif [ $# -gt 0 ]; then
        meson configure "$root/$dir" "$@" >/dev/null || return 1
    fi
    ninja -C "$root/$dir" "${targets[@]}" || { echo "the build in $dir/ failed" >&2; return 1; }
}
