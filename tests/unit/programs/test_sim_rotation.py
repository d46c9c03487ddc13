"""test_sim_rotation.py ROTA - `rota sim rotation`: its options, its report, its exit codes."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROTA = sys.argv[1] if len(sys.argv) > 1 else "rota"
HEAD = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


def rota(*args):
    """Exit code, output, errors."""
    done = subprocess.run([ROTA, "sim", "rotation", *map(str, args)], capture_output=True,
                          timeout=120, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Rotation(unittest.TestCase):
    def test_help(self):
        code, out, _ = rota("--help")
        self.assertEqual(code, 0)
        for word in ("--trace", "--days", "--policy", "--faults", "-o text|json"):
            self.assertIn(word, out)

    def test_usage(self):
        for args, hint in ((["--days", "0"], "1 to 400"), (["--rotors", "x"], "1 to 64"),
                           (["--pools", "9"], "1 to 8"), (["--policy", "rotaa"], "expected rota"),
                           (["--policy", "zzz"], "box, eager"), (["-o", "xml"], "json"),
                           (["file"], "what is"), (["--faults", "--policy", "box"], "--policy rota"),
                           (["--rotors", "1"], "--keep 2"), (["--rotors", "3"], "each of 4"),
                           (["--log"], "--policy"), (["--nonsense"], "--help")):
            with self.subTest(args):
                code, out, err = rota(*args)
                self.assertEqual((code, out), (2, ""))
                self.assertIn(hint, err)

    def test_text(self):
        code, out, err = rota("--days", 1)
        self.assertEqual((code, err), (0, ""))
        lines = out.splitlines()
        self.assertEqual(lines[2].split(), ["rota", "box", "eager", "hasty"])
        worked = next(line for line in lines if line.startswith("worked"))
        self.assertEqual(len(worked.split()), 9)
        lost = next(line for line in lines if line.startswith("  lost"))
        self.assertEqual(lost.split()[1], "0")
        for word in ("wait, p99", "restoring", "Why the gate refused", "nothing preempts it"):
            self.assertIn(word, out)

    def test_json(self):
        code, out, err = rota("--days", 2, "-o", "json", "--rotors", 5, "--pools", 2, "--seed", 3)
        self.assertEqual((code, err), (0, ""))
        said = json.loads(out)
        self.assertEqual((said["rotors"], said["pools"], said["seed"]), (5, 2, 3))
        self.assertEqual([r["policy"] for r in said["results"]], ["rota", "box", "eager", "hasty"])
        for r in said["results"]:
            uses = ("serving", "training", "loading", "draining", "restoring", "idle", "unbound",
                    "down")
            self.assertEqual(sum(r[u + "_ms"] for u in uses), 5 * said["span_ms"])
            self.assertEqual(r["worked_ms"], r["serving_ms"] + r["training_ms"])
            self.assertEqual(len(r["pool_wait_p99_ms"]), 2)
            self.assertEqual(r["requests"], r["answered"])
        rules = said["results"][0]
        asked = sum(rules["branches"].values())  # inside a move nothing is asked
        self.assertLessEqual(asked, rules["decisions"])
        self.assertGreater(asked, rules["decisions"] * 9 // 10)
        self.assertEqual(len(rules["checks"]), 11)
        self.assertEqual(len(rules["branches"]), 9)

    def test_the_same_again(self):
        first = rota("--days", 1, "--policy", "rota", "--faults")
        self.assertEqual(first[0], 0)
        self.assertEqual(rota("--days", 1, "--policy", "rota", "--faults"), first)
        self.assertNotEqual(rota("--days", 1, "--faults", "--seed", 2)[1], first[1])

    def test_log(self):
        code, _, err = rota("--days", 1, "--policy", "rota", "--log")
        self.assertEqual(code, 0)
        for word in ("moves to pool1", "RECORDED", "LIVE", "RESTORED"):
            self.assertIn(word, err)

    def test_trace(self):
        with tempfile.TemporaryDirectory() as d:
            fine, bad, gone = (pathlib.Path(d, n) for n in ("fine.csv", "bad.csv", "gone.csv"))
            rows = [f"2023-11-16 18:{m:02}:00.0000000,{m * 10},{m}\n" for m in range(60)]
            fine.write_text(HEAD + "".join(rows[::-1]))
            bad.write_text(HEAD + "2023-11-16,1,2\n")
            code, out, _ = rota("--days", 1, "--policy", "box", "--trace", fine, "-o", "json")
            self.assertEqual(code, 0)
            self.assertLess(json.loads(out)["results"][0]["requests"], 1500)
            for path, hint in ((bad, "line 2"), (gone, "there is no")):
                code, out, err = rota("--trace", path)
                self.assertEqual((code, out), (1, ""))
                self.assertIn(hint, err)
                self.assertIn(str(path), err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
