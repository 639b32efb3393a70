#!/usr/bin/env bash
# Builds the Python wheel with a program: deploy/python/build.sh VERSION PROGRAM FOLDER [PLATFORM...]
#
# Without PLATFORM the wheel is for this machine. It needs Python with venv, and installs hatchling at the version of
# requirements.txt: into the folder WHEEL_TOOLS if that is set, so that several wheels need it once.
set -euo pipefail
version=${1:?usage: deploy/python/build.sh VERSION PROGRAM FOLDER [PLATFORM...]}
program=$(realpath "${2:?}")
out=$(realpath -m "${3:?}")
platforms=("${@:4}")
cd "$(dirname "$0")"

if ((${#platforms[@]} == 0)); then
	case $(uname -s) in
	Darwin) platforms=("macosx_12_0_$(uname -m)") ;;
	*) platforms=("manylinux_2_17_$(uname -m)" "manylinux2014_$(uname -m)" "musllinux_1_1_$(uname -m)") ;;
	esac
fi

# A version of Python has a "+" before whatever follows its numbers, and dots behind it.
case ${version#v} in
[0-9]*.*) wheel=${version#v} wheel=${wheel/-/+} ;;
*) wheel=0+git.$version ;;
esac
export WHEEL_VERSION=${wheel//-/.} WHEEL_PROGRAM=$program
tools=${WHEEL_TOOLS-}
if [[ -z $tools ]]; then
	tools=$(mktemp -d)
	trap 'rm -rf "$tools"' EXIT
fi
if [[ ! -x $tools/bin/hatchling ]]; then
	python3 -m venv "$tools"
	"$tools/bin/pip" --disable-pip-version-check install --quiet --require-hashes --only-binary :all: \
		--requirement requirements.txt
fi
# A static program runs with every C library of Linux.
WHEEL_TAG=$(IFS=. && echo "py3-none-${platforms[*]}") "$tools/bin/hatchling" build --target wheel --directory "$out" >&2
