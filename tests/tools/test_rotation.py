"""Every test and case that docs/spec/rotation.md names exists, and each of its sentences has one."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = "docs/spec/rotation.md"
CASES = "tests/trace/rotation_cases.csv"
ROW = re.compile(r'^\| "(.+)" \| (.*) \|$')
NAMED = re.compile(r"`([^`]+)`")
FILES = {
    **{name: f"tests/unit/core/test_rotate_{name}.c"
       for name in ("loop", "gate", "clocks", "wayback", "claim", "journal")},
    "metrics": "tests/unit/core/test_metrics.c",
    "engine": "tests/unit/wire/test_engine.c",
    "engine_quiet": "tests/unit/wire/test_engine_quiet.c",
    "fleet": "tests/unit/sim/test_rotation.c",
    "cases": "tests/unit/sim/test_cases.c",
    "sim": "tests/unit/programs/test_sim.py",
}


def exists(name, read):
    """Whether `file::test` or `case ID` is there; `read` gives a file's text or None."""
    if name.startswith("case "):
        return re.search(rf"^{re.escape(name[5:])},", read(CASES) or "", re.M) is not None
    file, _, test = name.partition("::")
    text = read(FILES.get(file, ""))
    if text is None or not re.fullmatch(r"\w+", test):
        return False
    registered = rf"cmocka_unit_test\({test}\)|^    def {test}\(self"
    return re.search(registered, text, re.M) is not None


def missing(proof, read):
    """Names in a row's last column that are not found."""
    named = NAMED.findall(proof)
    return [n for n in named if not exists(n, read)] if named else ["no test at all"]


def from_tree(path):
    file = ROOT / path
    return file.read_text(errors="replace") if path and file.is_file() else None


class Rotation(unittest.TestCase):
    def test_all_exist(self):
        seen = set()
        for line in (ROOT / PAGE).read_text().splitlines():
            match = ROW.match(line)
            if not match:
                continue
            sentence, proof = match.groups()
            with self.subTest(sentence):
                self.assertNotIn(sentence, seen)
                self.assertEqual(missing(proof, from_tree), [])
            seen.add(sentence)
        self.assertGreater(len(seen), 100)

    def test_the_check_sees(self):
        files = {FILES["loop"]: "static void test_a(void)\ncmocka_unit_test(test_a),",
                 FILES["sim"]: "    def test_b(self):", CASES: "id,kind\nR01,loop\n"}
        for good in ("`loop::test_a`", "`sim::test_b`", "`case R01`", "`loop::test_a`, `case R01`"):
            self.assertEqual(missing(good, files.get), [])
        for bad in ("loop::test_b", "gate::test_a", "case R0", "case R02", "lop::test_a", "test_a",
                    "loop::", "sim::test_a"):
            self.assertEqual(missing(f"`{bad}`", files.get), [bad])
        self.assertEqual(missing("nothing", files.get), ["no test at all"])


if __name__ == "__main__":
    unittest.main()
