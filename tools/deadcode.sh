#!/bin/sh
# Compares what x/tools' deadcode reports with tools/deadcode.txt, and fails when they differ. It looks twice:
#   - from the main packages: production code that only tests reach is dead;
#   - from the main packages and the tests: code in test packages that no test reaches is dead, too.
# `tools/deadcode.sh list` prints the lines that tools/deadcode.txt would need, without their reasons.
set -eu
cd "$(dirname "$0")/.."

GO=${GO:-go}
module=$($GO list -m)
report() { # prints a line "room function" for each unreachable function
	$GO run -modfile=tools/go.mod golang.org/x/tools/cmd/deadcode "$@" \
		-f '{{$p := .Path}}{{range .Funcs}}{{println $p .Name}}{{end}}' ./... |
		awk -v module="$module" 'NF { room = substr($1, length(module) + 2); print (room == "" ? "." : room), $2 }'
}

found=$(mktemp)
trap 'rm -f "$found"' EXIT
report | sed 's/^/main /' >"$found"
report -test | sed 's/^/test /' >>"$found"

if [ "${1:-}" = list ]; then
	cut -d' ' -f2- "$found" | LC_ALL=C sort -u
	exit
fi

# A room with * is test support: only the second look counts there.
awk '
	FNR == NR {
		if ($0 ~ /^#/ || NF == 0) next
		if (NF < 3) { print "tools/deadcode.txt:" FNR ": give a reason: " $0; bad = 1 }
		accepted[$1 " " $2] = FNR
		next
	}
	$1 == "main" && ($2 " *") in accepted { used[$2 " *"]; next }
	($2 " " $3) in accepted { used[$2 " " $3]; next }
	!seen[$2 " " $3]++ { print $2 ": nothing reaches " $3 ": remove it, or add it to tools/deadcode.txt with a reason"; bad = 1 }
	END {
		for (line in accepted) if (!(line in used)) {
			print "tools/deadcode.txt:" accepted[line] ": " line " is in use or gone: remove the line"; bad = 1
		}
		exit bad
	}
' tools/deadcode.txt "$found"
