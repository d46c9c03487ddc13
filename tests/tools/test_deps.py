"""tools/deps with a package manager of paper: what it installs, and when it must not."""
import os
import pathlib
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "deps"
DEBIAN = "VERSION_ID=\"12\"" in pathlib.Path("/etc/os-release").read_text(encoding="utf-8")

QUERY = """#!/bin/sh
for last; do :; done
case " $MISSING " in *" $last "*) exit 1 ;; esac
printf installed
"""
APT = """#!/bin/sh
echo "$*" >>"$CALLS"
[ "${APT_FAILS:-}" != "$2" ]
"""
WHO = """#!/bin/sh
echo "$USER_ID"
"""


def deps(*groups, missing="", user="0", apt_fails=""):
    """(exit status, output, calls of apt-get)."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("dpkg-query", QUERY), ("apt-get", APT), ("id", WHO)):
            path = pathlib.Path(folder, name)
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)
        calls = pathlib.Path(folder, "calls")
        env = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}", MISSING=missing,
                   USER_ID=user, CALLS=str(calls), APT_FAILS=apt_fails)
        done = subprocess.run([str(TOOL), *groups], env=env, capture_output=True, text=True,
                              check=False)
        said = done.stdout + done.stderr
        return done.returncode, said, calls.read_text().splitlines() if calls.exists() else []


class Deps(unittest.TestCase):
    def test_nothing_missing(self):
        for user in ("0", "1000"):
            status, said, calls = deps(user=user)
            self.assertEqual((status, calls), (0, []))
            self.assertIn("nothing to install for: build run test", said)

    @unittest.skipUnless(DEBIAN, "another system")
    def test_only_what_is_missing(self):
        status, said, calls = deps(missing="crun libuv1-dev wrk")
        self.assertEqual(status, 0, said)
        self.assertEqual(calls, ["-q update", "-q install -y --no-install-recommends libuv1-dev crun"])
        self.assertIn("deps: installing: libuv1-dev crun\n", said)

    @unittest.skipUnless(DEBIAN, "another system")
    def test_groups(self):
        self.assertEqual(len(deps("bench", missing="wrk gcc")[2]), 2)
        self.assertEqual(deps("build", missing="wrk")[2], [])
        self.assertEqual(deps("all", missing="python3 wrk")[2][1].split()[-2:], ["python3", "wrk"])
        status, said, calls = deps("buidl", missing="gcc")
        self.assertEqual((status, calls), (1, []))
        self.assertIn("unknown group 'buidl'", said)

    @unittest.skipUnless(DEBIAN, "another system")
    def test_not_root(self):
        status, said, calls = deps(missing="crun", user="1000")
        self.assertEqual((status, calls), (1, []))
        self.assertIn("sudo apt-get install --no-install-recommends crun", said)

    @unittest.skipUnless(DEBIAN, "another system")
    def test_failures_are_told(self):
        for step, words in (("update", "apt-get update failed"), ("install", "could not install")):
            status, said, _ = deps(missing="crun", apt_fails=step)
            self.assertEqual(status, 1)
            self.assertIn(words, said)


if __name__ == "__main__":
    unittest.main()
