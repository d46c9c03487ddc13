"""test_sim.py ROTA - `rota sim`: its words, its files, its exit codes."""
import gzip
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
CASES = ROOT / "tests/trace/rotation_cases.csv"
ROTA = sys.argv[1] if len(sys.argv) > 1 else "rota"


def rota(*args, stdin=b""):
    """Exit code, output, errors."""
    done = subprocess.run([ROTA, *map(str, args)], input=stdin, capture_output=True, timeout=60,
                          check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Sim(unittest.TestCase):
    def test_help(self):
        code, out, _ = rota("sim", "--help")
        self.assertEqual(code, 0)
        self.assertIn("rotation-cases", out)
        self.assertEqual(rota("help", "sim")[:2], (0, out))
        self.assertIn("  sim ", rota("help")[1])
        code, out, _ = rota("sim", "rotation-cases", "--help")
        self.assertEqual(code, 0)
        self.assertIn("FILE.csv", out)

    def test_usage(self):
        for args, hint in (([], "rotation-cases"), (["rotation-case"], "rota sim rotation-cases"),
                           (["xyzzy"], "--help"), (["rotation-cases"], "FILE.csv"),
                           (["rotation-cases", "a", "b"], "FILE.csv")):
            with self.subTest(args):
                code, out, err = rota("sim", *args)
                self.assertEqual((code, out), (2, ""))
                self.assertIn(hint, err)

    def test_cases_agree(self):
        rows = len(CASES.read_text().splitlines()) - 1
        fine = (0, f"{rows} passed, 0 failed\n", "")
        self.assertEqual(rota("sim", "rotation-cases", CASES), fine)
        self.assertEqual(rota("sim", "rotation-cases", "-", stdin=CASES.read_bytes()), fine)

    def test_cases_disagree(self):
        text = CASES.read_text().replace(",2,stay,,in_flight,", ",3,move,A,,")
        code, out, _ = rota("sim", "rotation-cases", "-", stdin=text.encode())
        self.assertEqual(code, 1)
        self.assertIn("R04: expected branch 3 move A, got branch 2 stay in_flight", out)
        self.assertRegex(out.splitlines()[-1], r"^\d+ passed, [1-9]\d* failed$")

    def test_files(self):
        with tempfile.TemporaryDirectory() as d:
            packed, cut, gone = (pathlib.Path(d, n) for n in ("a.csv.gz", "b.csv.gz", "c.csv"))
            packed.write_bytes(gzip.compress(CASES.read_bytes()))
            cut.write_bytes(packed.read_bytes()[:300])
            self.assertEqual(rota("sim", "rotation-cases", packed)[0], 0)
            for path, hint in ((cut, "cut off"), (gone, "there is no"), (d, "cannot read")):
                code, out, err = rota("sim", "rotation-cases", path)
                self.assertEqual((code, out), (1, ""))
                self.assertIn(hint, err)
        code, _, err = rota("sim", "rotation-cases", "-")
        self.assertEqual(code, 1)
        self.assertIn("empty", err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
