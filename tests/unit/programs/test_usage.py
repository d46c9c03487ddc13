"""test_usage.py ROTA - amounts that cannot be meant are refused before anybody is asked."""
import subprocess
import sys
import unittest

ROTA = sys.argv[1] if len(sys.argv) > 1 else "rota"
NOBODY = {"ROTA_URL": "http://127.0.0.1:1", "ROTA_TOKEN": "none"}

# words, exit code, part of what is said
REFUSED = [
    (["run", "--mem", "8", "true"], 125, "1M or more"),
    (["run", "--mem", "1048575", "true"], 125, "1M or more"),
    (["admin", "user", "set", "bob", "--max-mem", "8"], 2, "such as 64G"),
    (["admin", "project", "add", "vision", "--max-mem", "64"], 2, "such as 64G"),
    (["admin", "token", "create", "bob", "--valid", "0"], 2, "such as 12h"),
]
ASKED = [
    ["run", "-d", "--mem", "1048576", "true"],
    ["admin", "user", "set", "bob", "--max-mem", "0"],
    ["admin", "user", "set", "bob", "--max-mem", "none"],
]


def rota(words):
    """Exit code, errors."""
    done = subprocess.run([ROTA, *words], env=NOBODY, capture_output=True, timeout=60, check=False)
    return done.returncode, done.stderr.decode()


class Usage(unittest.TestCase):
    def test_refused(self):
        for words, code, hint in REFUSED:
            with self.subTest(words):
                got, err = rota(words)
                self.assertEqual(got, code)
                self.assertIn(hint, err)

    def test_asked(self):
        for words in ASKED:
            with self.subTest(words):
                self.assertIn("cannot reach", rota(words)[1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
