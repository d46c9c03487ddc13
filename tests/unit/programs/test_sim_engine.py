"""test_sim_engine.py ROTA - `rota sim engine`: profiles listed, answers read, a profile of one's own.

Also holds docs/engines.md to its word: the profile that it shows is accepted and reads its answer."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
ANSWERS = ROOT / "tests/trace/engines"
PAGE = ROOT / "docs/engines.md"
ROTA = sys.argv[1] if len(sys.argv) > 1 else "rota"


def engine(*args, stdin=b""):
    """Exit code, output, errors."""
    done = subprocess.run([ROTA, "sim", "engine", *map(str, args)], input=stdin,
                          capture_output=True, timeout=60, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Engine(unittest.TestCase):
    def test_words(self):
        code, out, _ = engine("--help")
        self.assertEqual(code, 0)
        self.assertIn("--engines FILE", out)
        for args in (("vllm",), ("--engines",), ("--nonsense", "x")):
            with self.subTest(args):
                code, out, err = engine(*args)
                self.assertEqual((code, out), (2, ""))
                self.assertIn("NAME ANSWER", err)

    def test_list(self):
        code, out, _ = engine()
        self.assertEqual(code, 0)
        listed = [line.split()[0] for line in out.splitlines()[1:]]
        written = re.findall(r"^- name: (\S+)$", (ROOT / "share/engines.yaml").read_text(), re.M)
        self.assertEqual(listed, written)

    def test_answers(self):
        code, out, _ = engine("vllm", ANSWERS / "vllm.txt")
        self.assertEqual(code, 0)
        self.assertEqual(out.split(":\n", 1)[1], "  counter  5497468\n  gauge    3\n"
                                                 "  process  1790809832.950\n")
        code, out, _ = engine("tgi", "-", stdin=(ANSWERS / "tgi_fresh.txt").read_bytes())
        self.assertEqual(code, 1)
        self.assertIn("counter  is missing from the engine's answer", out)
        code, out, _ = engine("vllm", "-", stdin=b"<html>\n")
        self.assertEqual(code, 1)
        self.assertIn("line     1", out)
        code, out, _ = engine("ollama", ANSWERS / "ollama_ps.json")
        self.assertEqual(code, 0)
        self.assertIn("The bytes on its port are its work.", out)

    def test_refused(self):
        code, _, err = engine("vlm", ANSWERS / "vllm.txt")
        self.assertEqual(code, 1)
        self.assertIn("did you mean 'vllm'?", err)
        code, _, err = engine("vllm", "/nowhere")
        self.assertEqual(code, 1)
        self.assertIn("there is no", err)

    def test_own_profile_of_the_page(self):
        blocks = re.findall(r"^```(yaml|json)\n(.*?)^```", PAGE.read_text(), re.M | re.S)
        self.assertEqual([kind for kind, _ in blocks], ["yaml", "json"])
        with tempfile.TemporaryDirectory() as d:
            own, answer = pathlib.Path(d, "own.yaml"), pathlib.Path(d, "answer.json")
            own.write_text(blocks[0][1])
            answer.write_text(blocks[1][1])
            code, out, err = engine("--engines", own)
            self.assertEqual((code, err), (0, ""))
            self.assertIn("koboldcpp", out)
            code, out, _ = engine("--engines", own, "koboldcpp", answer)
            self.assertEqual(code, 0)
            self.assertIn("counter  41\n", out)
            own.write_text(blocks[0][1].replace("format: json", "format: jsn"))
            code, out, err = engine("--engines", own)
            self.assertEqual((code, out), (1, ""))
            self.assertIn("own.yaml:4:11: engines[0].format: expected one of", err)

    def test_fields_of_the_page(self):
        """Every field of a profile has its row, and every row is a field."""
        table = PAGE.read_text().split("## The fields")[1].split("\n## ")[0]
        rows = re.findall(r"^\| `(\w+)` \|", table, re.M)
        source = (ROOT / "src/wire/engine.c").read_text()
        body = source.split("engine_fields[] = {")[1].split("\n};")[0]
        fields = re.findall(r'WIRE_F_\w+\(PROFILE, [\w.]+(?:, metrics\.n_\w+)?, "(\w+)"', body)
        self.assertGreater(len(fields), 10)
        self.assertEqual(sorted(rows), sorted(fields))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
