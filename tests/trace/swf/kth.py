#!/usr/bin/env python3
"""kth.py ROTA - the scheduler on the KTH SP2 log: starts and averages that are known."""
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LOG = HERE / "kth-sp2.swf.gz"
# options; mean bounded slowdown as printed in the literature, with its digits
AVERAGES = [
    (["--backfill", "none"], "7511", 0),
    (["--backfill", "easy"], "90.76", 2),
    (["--backfill", "easy", "--backfill-order", "sjf"], "69.55", 2),
]


def run(rota, options):
    got = subprocess.run([rota, "sim", "swf", str(LOG), "-o", "json"] + options, check=True,
                         capture_output=True, text=True, timeout=300)
    return json.loads(got.stdout)


def averages(rota):
    bad = 0
    for options, expected, digits in AVERAGES:
        got = f"{run(rota, options)['bsld_mean']:.{digits}f}"
        print("ok  " if got == expected else "FAIL", " ".join(options), got, "expected", expected)
        bad += got != expected
    return bad


def starts(rota):
    with tempfile.TemporaryDirectory() as tmp:
        out = pathlib.Path(tmp) / "starts"
        run(rota, ["--backfill", "easy", "--starts", str(out)])
        got = [tuple(map(int, line.split())) for line in out.read_text().splitlines()]
    with gzip.open(HERE / "kth-sp2-easy.starts.gz", "rt") as f:
        want = [tuple(map(int, line.split())) for line in f]
    got.sort()
    want.sort()
    wrong = [(a, b) for a, b in zip(got, want) if a != b]
    print("ok  " if not wrong and len(got) == len(want) else "FAIL", f"{len(got)} starts,",
          f"{len(wrong)} differ", wrong[:3])
    return len(wrong) + abs(len(got) - len(want))


def main():
    rota = sys.argv[1]
    return 1 if averages(rota) + starts(rota) else 0


sys.exit(main())
