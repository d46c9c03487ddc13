"""What the benchmarks share: a system of their own (as the end-to-end tests make it),
figures of its processes, and a last line that says what was measured."""
import os
import pathlib
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e"))
import rotalib  # noqa: E402
from rotalib import Failure, System, check  # noqa: E402,F401

TICK = os.sysconf("SC_CLK_TCK")


def program(name):
    """A program of the benchmarks: build/bench/NAME."""
    path = rotalib.find_build() / "bench" / name
    check(path.exists(), f"{path} is missing: run `make build`")
    return str(path)


def cpu_seconds(pid):
    fields = System.read_file(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def rss_mib(pid):
    for line in System.read_file(f"/proc/{pid}/status").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise Failure(f"process {pid} has no memory")


def quantile(values, q):
    """Of sorted values: the smallest that at least q of them do not exceed."""
    return values[min(len(values) - 1, int(len(values) * q))]


def main(run, *args):
    """run() returns (whether it held, its figure); the figure is the last line."""
    name = pathlib.Path(sys.argv[0]).name
    if os.geteuid() != 0:
        print(f"{name}: needs root", file=sys.stderr)
        return 1
    try:
        held, figure = run(*args)
    except Failure as e:
        print(f"{name}: FAILED: {e}", file=sys.stderr)
        return 1
    print(figure)
    return 0 if held else 1
