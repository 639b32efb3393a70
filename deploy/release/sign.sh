#!/usr/bin/env bash
# Signs what build.sh has built: deploy/release/sign.sh VERSION FOLDER, with the private key in RELEASE_KEY (PEM, of an
# elliptic curve or RSA; cosign import-key-pair takes the same key).
#
# Each file NAME gets NAME.sig: a signature of its SHA-256, in base64, that openssl and cosign verify-blob check.
# echosieve-VERSION.intoto.jsonl says from which commit the files of SHA256SUMS were built (in-toto statement, SLSA
# provenance 1, signed as DSSE) and by whom: RELEASE_BUILDER, an address.
set -euo pipefail
version=${1:?usage: deploy/release/sign.sh VERSION FOLDER}
out=$(realpath "${2:?usage: deploy/release/sign.sh VERSION FOLDER}")
cd "$(dirname "$0")/../.."
: "${RELEASE_KEY:?is the private key, in PEM}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(umask 077 && printf '%s\n' "$RELEASE_KEY" >"$work/key")
sign() { openssl dgst -sha256 -sign "$work/key" | base64 --wrap=0; }
source=${SOURCE_URL:-https://echosieve.invalid}
commit=$(git rev-parse HEAD)

subjects=
while read -r sum name; do
	subjects+="${subjects:+,}{\"name\":\"$name\",\"digest\":{\"sha256\":\"$sum\"}}"
done <"$out/SHA256SUMS"
printf '{"_type":"https://in-toto.io/Statement/v1","subject":[%s],"predicateType":"https://slsa.dev/provenance/v1",' "$subjects" >"$work/statement"
printf '"predicate":{"buildDefinition":{"buildType":"%s/deploy/release/build.sh","externalParameters":{"version":"%s"},' "$source" "$version" >>"$work/statement"
printf '"resolvedDependencies":[{"uri":"git+%s","digest":{"gitCommit":"%s"}}]},' "$source" "$commit" >>"$work/statement"
printf '"runDetails":{"builder":{"id":"%s"}}}}' "${RELEASE_BUILDER:-$source}" >>"$work/statement"
type=application/vnd.in-toto+json
keyid=$(openssl pkey -in "$work/key" -pubout -outform DER | sha256sum | cut -d ' ' -f 1)
signature=$({ printf 'DSSEv1 %d %s %d ' "${#type}" "$type" "$(stat -c %s "$work/statement")"; cat "$work/statement"; } | sign)
printf '{"payloadType":"%s","payload":"%s","signatures":[{"keyid":"%s","sig":"%s"}]}\n' \
	"$type" "$(base64 --wrap=0 "$work/statement")" "$keyid" "$signature" >"$out/echosieve-$version.intoto.jsonl"
for file in "$out"/echosieve[-_]* "$out/SHA256SUMS"; do
	sign <"$file" >"$file.sig"
done
