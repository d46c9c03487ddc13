#!/bin/bash
# tests/hw/nvidia.sh [BUILD] - what only a machine with an NVIDIA GPU can show.
#
# Under six minutes, as root, with a build of Rota (default: build).  Ends with 77 and SKIP where
# there is no GPU.  Each check prints one line; the first that fails ends it.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "${1:-build}")
rotad=$build/rotad
[ -x "$rotad" ] || rotad=$build/src/programs/rotad
[ -e /proc/driver/nvidia/version ] || { echo "SKIP: no NVIDIA driver on this machine"; exit 77; }
work=$(mktemp -d /tmp/rota-hw-XXXXXX)
probe=
finish() { [ -z "$probe" ] || kill -9 "$probe" 2>/dev/null || true; rm -rf "$work"; }
trap finish EXIT
ok() { echo "ok: $*"; }
fail() { echo "FAIL: $*"; exit 1; }

# ---- discovery ----
if ! "$rotad" probe --once > "$work/once"; then cat "$work/once"; fail "the report is not complete"; fi
python3 - "$work/once" > "$work/devices" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
for d in r["devices"]:
    print(d["uuid"], d["pci"], d["mem_bytes"] >> 20, d["nodes"][0]["path"] if d.get("nodes") else "-")
PY
count=$(wc -l < "$work/devices")
[ "$count" -gt 0 ] || { echo "SKIP: a driver without a GPU"; exit 77; }
ok "$count GPU(s), complete"
sed 's/^/    /' "$work/devices"
python3 - "$work/once" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
wanted = ["mem_bytes", "mem_used_bytes", "sm_percent", "power_mw", "temperature_c",
          "ecc_uncorrected", "retired_pending", "remap_pending", "recovery_action", "numa_node",
          "cpus", "fabric", "nodes"]
for d in r["devices"]:
    print("    unknown of", d["uuid"] + ":", " ".join(w for w in wanted if w not in d) or "nothing")
    assert d.get("processes_known"), "the list of processes was not understood"
print("    driver", r["driver"], "library", r["library"], "links", r.get("links", []),
      "xid_nvml", r.get("xid_nvml", False))
PY
ok "the list of processes is understood"

if command -v nvidia-smi > /dev/null; then
  nvidia-smi --query-gpu=uuid,memory.total --format=csv,noheader,nounits | tr -d , > "$work/smi"
  while read -r uuid mem; do
    ours=$(awk -v u="$uuid" '$1 == u { print $3 }' "$work/devices")
    [ -n "$ours" ] || fail "nvidia-smi lists $uuid, the probe does not"
    [ $((ours > mem ? ours - mem : mem - ours)) -le $((mem / 20)) ] ||
      fail "$uuid: $ours MiB, nvidia-smi says $mem"
  done < "$work/smi"
  [ "$(wc -l < "$work/smi")" = "$count" ] || fail "nvidia-smi lists another number of GPUs"
  ok "the same devices as nvidia-smi"
fi

# ---- a living probe, under load ----
start() { "$rotad" probe --interval-ms 100 > "$work/lines" 2> "$work/errors" & probe=$!; }
lines() { wc -l < "$work/lines"; }
until_lines() { # how many
  for _ in $(seq 300); do [ "$(lines)" -ge "$1" ] && return 0; sleep 0.1; done
  fail "no $1 reports in 30 s"
}
start; until_lines 5
if command -v nvidia-smi > /dev/null; then
  for _ in 1 2 3 4; do (for _ in $(seq 10); do nvidia-smi -q > /dev/null; done) & loads+=($!); done
  for l in "${loads[@]}"; do wait "$l"; done
else
  sleep 10
fi
until_lines $(($(lines) + 20))
python3 - "$work/lines" "$count" <<'PY'
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1]) if l.endswith("\n")]
assert all(l["complete"] for l in lines), [l["error"] for l in lines if not l["complete"]][:3]
assert all(len(l["devices"]) == int(sys.argv[2]) for l in lines)
assert [l["seq"] for l in lines] == list(range(1, len(lines) + 1))
PY
ticks=$(awk '{ print $14 + $15 }' "/proc/$probe/stat")
ok "$(lines) reports under load, all complete; $((ticks * 1000 / $(getconf CLK_TCK) / $(lines))) ms of CPU each; $(awk '/VmRSS/ { print $2 }' "/proc/$probe/status") KiB"

# ---- Xids in the kernel's log ----
read -r uuid pci _ < "$work/devices"
if [ -w /dev/kmsg ] && echo "NVRM: Xid (PCI:${pci%.*}): 13, written by a test of Rota" > /dev/kmsg 2> /dev/null &&
   [ -r /dev/kmsg ]; then
  for _ in $(seq 100); do grep -q '"xid":13' "$work/lines" && break; sleep 0.1; done
  if grep -q '"xid_kmsg":true' "$work/lines"; then
    grep '"xid":13' "$work/lines" | grep -q "\"uuid\":\"$uuid\",\"pci\":\"$pci\"" ||
      fail "an Xid in the kernel's log is not told"
    ok "an Xid in the kernel's log is told under its device's name"
  else
    echo "SKIP: the kernel's log cannot be read here"
  fi
else
  echo "SKIP: the kernel's log cannot be written here"
fi
kill -9 "$probe"; wait "$probe" 2> /dev/null || true; probe=

# ---- restarts ----
began=$(date +%s%N)
for _ in $(seq 10); do
  start; until_lines 1
  head -1 "$work/lines" | grep -q '"complete":true' || fail "not complete after a restart"
  kill -9 "$probe"; wait "$probe" 2> /dev/null || true; probe=
done
ok "10 restarts by kill -9, $((($(date +%s%N) - began) / 10000000)) ms each"

# ---- nobody reads any more ----
"$rotad" probe --interval-ms 100 | head -1 > /dev/null || true
ok "it ends when nobody reads"
