"""Every test that docs/faults.md names exists, and no fault has two rows."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| ([A-Z]{3}\d+) \| [^|]+ \| (.+) \|$")
TEST = re.compile(r"`(tests/[^`:]+)::([^`]+)`")


def missing(row, read):
    """Names in the row's last column that are not found; `read` gives a file's text or None."""
    named = TEST.findall(row)
    if not named:
        return ["no test at all"]
    bad = []
    for path, name in named:
        text = read(path)
        if text is None or not re.search(rf"\b{re.escape(name)}\b", text):
            bad.append(f"{path}::{name}")
    return bad


def from_tree(path):
    file = ROOT / path
    return file.read_text(errors="replace") if file.is_file() else None


class Faults(unittest.TestCase):
    def test_all_exist(self):
        seen = set()
        for line in (ROOT / "docs/faults.md").read_text().splitlines():
            match = ROW.match(line)
            if not match:
                continue
            fault, row = match.groups()
            with self.subTest(fault):
                self.assertNotIn(fault, seen)
                self.assertEqual(missing(row, from_tree), [])
            seen.add(fault)
        self.assertGreater(len(seen), 30)

    def test_the_check_sees(self):
        files = {"tests/a.c": "static void good(void)"}
        self.assertEqual(missing("`tests/a.c::good`", files.get), [])
        self.assertEqual(missing("`tests/a.c::goo`", files.get), ["tests/a.c::goo"])
        self.assertEqual(missing("`tests/b.c::good`", files.get), ["tests/b.c::good"])
        self.assertEqual(missing("nothing", files.get), ["no test at all"])


if __name__ == "__main__":
    unittest.main()
