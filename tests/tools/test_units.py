"""The units of packaging/systemd are right, name programs that exist, and hide what they can."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNITS = ROOT / "packaging/systemd"
EXPOSED_MOST = {"rota-manager.service": 1.5, "rota-proxy.service": 1.5}
TOOL = "systemd-analyze"
HERE = {"PATH": os.environ.get("PATH", ""), "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0"}


def analyze(*words):
    return subprocess.run([TOOL, *map(str, words)], text=True, stdout=subprocess.PIPE, env=HERE,
                          stderr=subprocess.STDOUT, timeout=120, check=False)


class Units(unittest.TestCase):
    def setUp(self):
        if not shutil.which(TOOL):
            self.skipTest(f"needs {TOOL}")

    def verify(self, change=lambda text: text):
        """What verify says about the units, with programs that are there in place of ours."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for unit in UNITS.iterdir():
                text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", unit.read_text(), flags=re.M)
                (folder / unit.name).write_text(change(text))
            return analyze("verify", "--man=no", *sorted(folder.iterdir()))

    def test_they_verify(self):
        got = self.verify()
        self.assertEqual(got.returncode, 0, got.stdout)
        self.assertNotIn("rota", got.stdout)

    def test_the_check_sees(self):
        got = self.verify(lambda text: text.replace("ProtectHome=yes", "ProtectHom=yes"))
        self.assertIn("ProtectHom", got.stdout)

    def test_little_is_exposed(self):
        for name, most in EXPOSED_MOST.items():
            with self.subTest(name):
                got = analyze("security", "--offline=true", UNITS / name)
                found = re.search(r"exposure level for \S+: ([0-9.]+)", got.stdout)
                self.assertIsNotNone(found, got.stdout)
                self.assertLessEqual(float(found[1]), most)

    def test_programs_are_where_the_packages_put_them(self):
        names = set(re.findall(r"^ExecStart=(\S+)", "".join(u.read_text() for u in UNITS.iterdir()),
                               re.M))
        self.assertEqual(names, {"/usr/bin/rotad", "/usr/lib/rota/rota-shim"})

    def test_the_agent_hands_nothing_on_to_containers(self):
        agent = (UNITS / "rota-agent.service").read_text()
        for word in ("SystemCallFilter", "RestrictNamespaces", "NoNewPrivileges", "PrivateTmp",
                     "ProtectSystem", "MemoryDenyWriteExecute", "CapabilityBoundingSet"):
            self.assertNotRegex(agent, rf"(?m)^{word}=")
        self.assertRegex(agent, r"(?m)^KillMode=process$")


if __name__ == "__main__":
    if not shutil.which(TOOL):
        print(f"skipped: needs {TOOL}")
        sys.exit(77)
    unittest.main()
