#!/bin/sh
# A worker for the objective mass of the study beam, with curl, sed and awk.
set -eu
url=${COUNTERPOISE_URL:-http://127.0.0.1:8000}

post() { # PATH BODY
  curl --silent --show-error --fail-with-body --retry 5 --retry-connrefused "$url$1" --data "$2" \
    --header "Authorization: Bearer ${COUNTERPOISE_TOKEN:-none}" --header "Content-Type: application/json"
}
number() { # NAME, out of a job
  echo "$job" | sed -n "s/.*\"$1\":\([-+.0-9eE]*\).*/\1/p"
}

while :; do
  job=$(post /ask '{"worker": "curl-1", "studies": ["beam"], "objectives": ["mass"], "wait_s": 30}')
  case $job in
    *'"reason":"finished"'*) exit 0 ;;
    *'"jobs":[]'*) sleep 1; continue ;;
  esac
  id=$(number job)
  lease=$(echo "$job" | sed -n 's/.*"lease":"\([0-9a-f]*\)".*/\1/p')

  # A long simulation needs a heartbeat every heartbeat_s seconds; here one is more than enough.
  post /heartbeat "{\"leases\": [\"$lease\"]}" > /dev/null

  if value=$(awk "BEGIN { print 7850 * $(number width) * $(number height) }"); then
    post /tell "{\"job\": $id, \"lease\": \"$lease\", \"value\": $value}"
  else
    post /tell "{\"job\": $id, \"lease\": \"$lease\", \"failure\": {\"kind\": \"error\", \"message\": \"awk failed\"}}"
  fi
  echo
done
