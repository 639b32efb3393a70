#!/usr/bin/env bash
# Builds what is published for a version: deploy/release/build.sh VERSION FOLDER [ARCHITECTURE...]
#
# The folder then has, for each architecture, an archive with both programs, a Debian and an RPM package with the
# service, and a Python wheel with it; without ARCHITECTURE also a wheel for macOS on arm64; for each program its
# software bill of materials; the Helm chart, for helm push; and the checksums of them all. The same commit and the same
# version give the same bytes: times are those of the commit, and names, modes and owners are set. SOURCE_URL is the
# page of the sources. With RELEASE_KEY, sign.sh adds provenance and signatures.
# It needs Go, git, GNU tar and Python with venv; sign.sh needs openssl. nfpm and cyclonedx-gomod are built at the versions of tools.mod, hatchling is installed at that of requirements.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."

version=${1:?usage: deploy/release/build.sh VERSION FOLDER [ARCHITECTURE...]}
out=$(realpath -m "${2:?usage: deploy/release/build.sh VERSION FOLDER [ARCHITECTURE...]}")
architectures=("${@:3}")
((${#architectures[@]})) || architectures=(amd64 arm64)
umask 022
mkdir -p "$out"
rm -f -- "$out"/echosieve[-_]* "$out"/SHA256SUMS* # of an earlier build; the folder may hold other files
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH CGO_ENABLED=0 LC_ALL=C TZ=UTC

# A version of a package begins with a digit and has a hyphen only before the packager's own revision. A commit without a tag is older than every
# release: "~" sorts before the end of the version.
case ${version#v} in
[0-9]*.*) package=${version#v} ;;
*) package=0~git.$version ;;
esac
export PACKAGE_VERSION=${package//-/+}

export WHEEL_TOOLS=$work/python
wheel() { deploy/python/build.sh "$version" "$1" "$out" "${@:2}"; } # program, platforms

# Manual pages and completions are the same for all architectures. A build for this machine writes them.
mkdir -p "$work/man" "$work/completions"
go build -trimpath -tags man -o "$work/tools/" ./cmd/...
for name in echosieve echosieve-lab; do
	"$work/tools/$name" man "$work/man"
	"$work/tools/$name" completion bash >"$work/completions/$name.bash"
	"$work/tools/$name" completion zsh >"$work/completions/_$name"
	"$work/tools/$name" completion fish >"$work/completions/$name.fish"
done
gzip --best --no-name --keep "$work"/man/*.1

# Pages, rules, boards, manifests and examples lie as in the repository, so that the paths lead somewhere that pages, help and errors name.
mkdir "$work/share"
git ls-files -z -- ':(glob)*.md' ':(glob)docs/*.md' ':(glob)docs/*.png' ':(glob)docs/*.json' deploy/echosieve.reference.yaml deploy/examples deploy/grafana deploy/helm deploy/k8s \
	deploy/prometheus/alerts.yml deploy/prometheus/prometheus.yml | xargs -0 cp --parents --target-directory="$work/share"
chmod -R u=rwX,go=rX "$work/share"

for arch in "${architectures[@]}"; do
	name=echosieve-$version-linux-$arch
	tree=$work/$name
	mkdir -p "$tree/man/man1" "$tree/completions"
	GOOS=linux GOARCH=$arch go build -trimpath -ldflags "-s -w -X echosieve/app/command.version=$version" -o "$tree/" ./cmd/...
	cp -R "$work"/share/. LICENSE NOTICE deploy/release/package/echosieve.service "$tree/"
	cp "$work"/man/*.1 "$tree/man/man1/"
	cp "$work"/completions/* "$tree/completions/"
	tar --create --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --mode=u=rwX,go=rX \
		--directory="$work" "$name" | gzip --no-name >"$out/$name.tar.gz"

	# The packages have the service alone: a server needs nothing of the lab.
	stage=$work/package-$arch
	mkdir -p "$stage/man" "$stage/completions"
	cp "$tree/echosieve" "$stage/"
	cp -R "$work/share" "$stage/"
	cp "$work"/man/*.1.gz "$stage/man/"
	rm "$stage"/man/echosieve-lab*
	cp "$work"/completions/{echosieve.bash,_echosieve,echosieve.fish} "$stage/completions/"
	find "$stage" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
	ARCH=$arch STAGE=$stage go tool -modfile=deploy/release/tools.mod nfpm package --config deploy/release/package/nfpm.yaml \
		--packager deb --target "$out/echosieve_${PACKAGE_VERSION}_$arch.deb" >&2
	case $arch in amd64) machine=x86_64 ;; arm64) machine=aarch64 ;; *) machine=$arch ;; esac
	wheel "$tree/echosieve" "manylinux_2_17_$machine" "manylinux2014_$machine" "musllinux_1_1_$machine"
	ARCH=$arch STAGE=$stage go tool -modfile=deploy/release/tools.mod nfpm package --config deploy/release/package/nfpm.yaml \
		--packager rpm --target "$out/echosieve-$PACKAGE_VERSION-1.$machine.rpm" >&2
done
if (($# == 2)); then
	GOOS=darwin GOARCH=arm64 go build -trimpath -ldflags "-s -w -X echosieve/app/command.version=$version" \
		-o "$work/darwin/" ./cmd/echosieve
	wheel "$work/darwin/echosieve" macosx_12_0_arm64
fi
for name in echosieve echosieve-lab; do
	go tool -modfile=deploy/release/tools.mod cyclonedx-gomod bin -json -noserial -notimestamp -std -version "$version" \
		-output "$out/$name-$version.cdx.json" "$work/echosieve-$version-linux-${architectures[0]}/$name" >&2
done

# The chart with the files that its links lead to. Its version must have three numbers.
case ${version#v} in
[0-9]*.[0-9]*.[0-9]*) chart=${version#v} ;;
*) chart=0.0.0-git.$version ;;
esac
cp -RL deploy/helm "$work/chart"
sed -i "s|^version: .*|version: $chart|; s|^appVersion: .*|appVersion: \"$version\"|; s| # make release.*||
	s|https://echosieve.invalid|${SOURCE_URL:-https://echosieve.invalid}|" "$work/chart/Chart.yaml"
tar --create --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --mode=u=rwX,go=rX \
	--directory="$work" --transform='s|^chart|echosieve|' chart | gzip --no-name >"$out/echosieve-$chart.tgz"

(cd "$out" && sha256sum -- echosieve[-_]* >SHA256SUMS)
if [[ ${RELEASE_KEY-} ]]; then
	deploy/release/sign.sh "$version" "$out"
else
	echo "not signed: RELEASE_KEY, a private key in PEM, is not set" >&2
fi
