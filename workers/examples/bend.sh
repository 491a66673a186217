#!/bin/sh
# Usage: bend.sh PARAMS_TXT RESULTS
set -eu
awk '
  { x[$1] = $2 }
  END {
    if (x["height"] > 4.5 * x["width"]) { print "it tips over" > "/dev/stderr"; exit 65 }  # infeasible
    deflection = 4000 / (210e9 * x["width"] * x["height"] ^ 3)
    printf "{\"deflection\": %.9g, \"stress\": %.9g}\n", deflection, 6000 / (x["width"] * x["height"] ^ 2)
  }' "$1" > "$2"
