"""What tools/check counts: the line at its end must not flatter."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check"
LOADER = importlib.machinery.SourceFileLoader("check", str(TOOL))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", LOADER))
LOADER.exec_module(check)

CASES = "[==========] 3 test(s) run.\n[  PASSED  ] {} test(s).\n"
FAILED = "[  FAILED  ] {} test(s), listed below:\n[  FAILED  ] some_case\n\n {} FAILED TEST(S)\n"


class Count(unittest.TestCase):
    ROWS = [  # result, output, passed, failed
        ("OK", "", 1, 0),
        ("OK", CASES.format(3), 3, 0),
        ("OK", CASES.format(3) + CASES.format(4), 7, 0),
        ("EXPECTEDFAIL", "", 1, 0),
        ("FAIL", "", 0, 1),
        ("FAIL", CASES.format(2) + FAILED.format(1, 1), 2, 1),
        ("FAIL", CASES.format(3), 3, 1),  # all cases passed, then it ended badly
        ("ERROR", "", 0, 1),
        ("TIMEOUT", CASES.format(3), 3, 1),
        ("INTERRUPT", "", 0, 1),
        ("UNEXPECTEDPASS", "", 0, 1),
        ("some new word", "", 0, 1),
        ("SKIP", "", 0, 0),
    ]

    def count(self, tests):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "log.json")
            path.write_text("".join(json.dumps(t) + "\n" for t in tests), encoding="utf-8")
            tally = check.Tally()
            with contextlib.redirect_stdout(io.StringIO()) as said:
                entries = check.read_log(tally, path)
            self.assertEqual(entries, len(tests))
            return tally, said.getvalue()

    def test_rows(self):
        for result, output, passed, failed in self.ROWS:
            for stream in ("stdout", "stderr"):
                with self.subTest(result=result, output=output):
                    tally, said = self.count([{"name": "a", "result": result, stream: output}])
                    self.assertEqual((tally.passed, tally.failed), (passed, failed))
                    self.assertEqual("a: " + result in said, failed > 0)
                    self.assertEqual(tally.skipped, ["a"] if result == "SKIP" else [])

    def test_sum(self):
        tests = [{"name": str(i), "result": r, "stdout": o} for i, (r, o, _, _) in
                 enumerate(self.ROWS)]
        tally, _ = self.count(tests)
        self.assertEqual(tally.passed, sum(row[2] for row in self.ROWS))
        self.assertEqual(tally.failed, sum(row[3] for row in self.ROWS))

    def test_status(self):
        for passed, failed, status in ((0, 0, 1), (1, 0, 0), (5, 1, 1), (0, 1, 1)):
            tally = check.Tally()
            tally.passed, tally.failed = passed, failed
            self.assertEqual(tally.status(), status)


if __name__ == "__main__":
    unittest.main()
