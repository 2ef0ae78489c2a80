# What gnnrun needs, as Debian and Ubuntu name it. Sourced by quickstart and run-tests.

build_packages=(
	build-essential cmake ninja-build pkg-config
	libhdf5-dev liburing-dev libopenblas-openmp-dev libyaml-dev libcjson-dev libxxhash-dev
	zlib1g-dev libhwloc-dev libopenmpi-dev openmpi-bin
)
test_packages=(git libgtest-dev python3 python3-numpy python3-scipy python3-h5py)
cmake_wanted=3.25

say() { printf '\n== %s\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }

# root COMMAND ...: as root, by sudo where this is another user.
root() {
	if [ "$(id -u)" = 0 ]; then run "$@"; else run sudo "$@"; fi
}

# May this user install packages? Without a terminal sudo must not ask for a password.
may_install() {
	[ "$(id -u)" = 0 ] || sudo -n true 2> /dev/null || { [ -t 0 ] && sudo true; }
}

# need PACKAGE ...: installs those that are missing; who may not install is told what to ask for.
need() {
	local missing=() p

	if ! command -v dpkg-query > /dev/null; then
		say "Not Debian or Ubuntu: nothing is installed. Needed, by Debian's names: $*"
		return 0
	fi
	for p; do
		dpkg-query -W -f '${Status}\n' "$p" 2> /dev/null | grep -q ' installed$' ||
			missing+=("$p")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if ! may_install; then
		printf 'These packages are missing, and only root can install them:\n' >&2
		printf '  apt-get install %s\n' "${missing[*]}" >&2
		return 69
	fi
	say "Installing ${#missing[@]} packages"
	root apt-get update -qq
	root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
		--no-install-recommends "${missing[@]}"
}

# A cmake of the wanted version: the system's, else one from PyPI in .cache (Ubuntu 22.04 has 3.22).
need_cmake() {
	local have older venv=.cache/cmake

	[ ! -x $venv/bin/cmake ] || PATH="$PWD/$venv/bin:$PATH"
	have=$(cmake --version | sed -n 's/^cmake version //p')
	older=$(printf '%s\n' "$cmake_wanted" "$have" | sort -V | head -n 1)
	if [ "$older" != "$cmake_wanted" ]; then
		say "cmake $have is older than $cmake_wanted: a newer one goes into $venv"
		need python3-venv
		run python3 -m venv $venv
		run $venv/bin/pip install -q "cmake>=$cmake_wanted"
		PATH="$PWD/$venv/bin:$PATH"
	fi
	# Where ccache is installed, and has a folder to write to, a second build costs seconds.
	if ccache cc -x c -c /dev/null -o /dev/null 2> /dev/null; then
		export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
	fi
}
