"""Every verb is in the manual page and in what the shell completes, as the program has it."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("ROTA_BUILD", ROOT / "build")) / "src/programs"
LISTED = re.compile(r"^  ([a-z][a-z-]*) {2,}\S", re.M)


def told(program):
    return subprocess.run([PROGRAMS / program, "--help"], text=True, stdout=subprocess.PIPE,
                          timeout=60, check=True).stdout


def complete(script, name, words):
    """What is offered behind the words, the last of which is begun."""
    text = (f"source {script}; compopt() {{ :; }}; COMP_WORDS=({' '.join(words)}); "
            f"COMP_CWORD={len(words) - 1}; _{name}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    return subprocess.run(["bash", "-c", text], text=True, stdout=subprocess.PIPE, timeout=60,
                          check=True).stdout.split()


class Manual(unittest.TestCase):
    def made(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out"
            subprocess.run([ROOT / "tools/manual", *words, out], check=True, timeout=120)
            return out.read_text()

    def test_every_verb_has_its_part(self):
        page = self.made("man", "1", PROGRAMS / "rota")
        verbs = set(LISTED.findall(told("rota"))) - {"help", "version"}
        self.assertGreater(len(verbs), 15)
        for verb in verbs:
            with self.subTest(verb):
                self.assertIn(f".SH ROTA {verb.upper()}\n", page)
        self.assertIn(".SH ROTA ADMIN USER ADD\n", page)

    def test_no_line_of_it_is_taken_for_an_order(self):
        page = self.made("man", "8", PROGRAMS / "rotad")
        orders = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}
        self.assertEqual(orders, {".TH", ".SH", ".nf", ".fi"})

    def test_what_the_shell_offers(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "script"
            script.write_text(self.made("bash", PROGRAMS / "rota"))
            for words, some, none in (
                    (["rota", "no"], {"node"}, {"run"}),
                    (["rota", "node", "c"], {"cordon"}, {"ls"}),
                    (["rota", "run", "--gpus"], {"--gpus="}, {"--cpus="}),
                    (["rota", "admin", "user", "add", "--max-g"], {"--max-gpu="}, {"--role="}),
                    (["rota", "run", "cat", "x"], set(), {"--gpus="})):
                with self.subTest(words):
                    got = set(complete(script, "rota", words))
                    self.assertLessEqual(some, got)
                    self.assertFalse(none & got)


if __name__ == "__main__":
    unittest.main()
