"""The style checks: bad samples must be found at their line, good ones must pass."""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
HEAD = "/* a purpose */\n"
GUARD = HEAD + "#ifndef X_H\n#define X_H\n{}\n#endif\n"


def load(tool):
    """A script of tools/ as a module: far quicker than a process for each sample."""
    loader = importlib.machinery.SourceFileLoader(tool, str(TOOLS / tool))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(tool, loader))
    loader.exec_module(module)
    return module


sys.dont_write_bytecode = True
MODULES = {tool: load(tool) for tool in ("layers", "tidy", "names")}


def run(tool, files, *args):
    """(exit status, output) of a tool over a tree with these files."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        said = io.StringIO()
        sys.argv = [tool, "--root", root, *args]
        with contextlib.redirect_stdout(said):
            status = MODULES[tool].main()
        return status, said.getvalue()


def body(lines):
    return "".join(f"    x({i});\n" for i in range(lines))


class Samples(unittest.TestCase):
    def bad(self, tool, name, text, where, what):
        status, out = run(tool, {name: text})
        self.assertEqual(status, 1, out)
        self.assertIn(f"{name}:{where}: ", out)
        self.assertIn(what, out)
        self.assertIn(f"{tool}: 1 findings in 1 files", out)

    def good(self, tool, name, text):
        status, out = run(tool, {name: text})
        self.assertEqual(status, 0, out)


class Layers(Samples):
    BAD = [
        ("src/base/a.c", '#include "core/step.h"\n', "base may not include core/step.h"),
        ("src/core/a.c", '#include "wire/json.h"\n', "core may not include wire/json.h"),
        ("src/wire/a.c", '#include "net/loop.h"\n', "wire may not include net/loop.h"),
        ("src/net/a.c", '#include "core/step.h"\n', "net may not include core/step.h"),
        ("src/net/a.c", '#include "wire/json.h"\n', "net may not include wire/json.h"),
        ("src/store/a.c", '#include "net/loop.h"\n', "store may not include net/loop.h"),
        ("src/shim/a.c", '#include "wire/json.h"\n', "shim may not include wire/json.h"),
        ("src/agent/a.c", '#include "manager/x.h"\n', "agent may not include manager/x.h"),
        ("src/manager/a.c", '#include "agent/x.h"\n', "manager may not include agent/x.h"),
        ("src/proxy/a.c", '#include "agent/x.h"\n', "proxy may not include agent/x.h"),
        ("src/cli/a.c", '#include "manager/x.h"\n', "cli may not include manager/x.h"),
        ("src/agent/a.c", '#include "shim/x.h"\n', "agent may not include shim/x.h"),
        ("src/sim/a.c", '#include "wire/x.h"\n', "sim may not include wire/x.h"),
        ("src/sim/a.c", '#include "net/loop.h"\n', "sim may not include net/loop.h"),
        ("src/core/model/a.c", '#include "core/sched/pass.h"\n', "core/model may not"),
        ("src/core/model/a.c", '#include "core/step.h"\n', "core/model may not"),
        ("src/core/sched/a.c", '#include "core/step.h"\n', "core/sched may not"),
        ("src/core/sched/a.c", '#include "core/nodeplan/plan.h"\n', "core/sched may not"),
        ("src/core/nodeplan/a.c", '#include "core/model/world.h"\n', "core/nodeplan may not"),
        ("src/core/odd/a.c", '#include "core/step.h"\n', "is no wing"),
        ("src/manager/a.c", '#include "core/sched/pass.h"\n', "core's inside"),
        ("src/base/a.c", '#include "odd/x.h"\n', "is no layer"),
        ("src/base/a.c", '#include "str.h"\n', "as a path from src"),
        ("src/base/a.c", '#include "../base/str.h"\n', "as a path from src"),
        ("src/core/a.c", "#include <stdio.h>\n", "may not include <stdio.h>"),
        ("src/core/a.c", "#  include  <time.h>\n", "may not include <time.h>"),
        ("src/base/a.c", "#include <math.h>\n", "may not include <math.h>"),
        ("src/manager/a.c", "#include <jansson.h>\n", "stays behind src/wire"),
        ("src/manager/a.c", "#include <sqlite3.h>\n", "stays behind src/store"),
        ("src/core/a.c", "double x;\n", "no floating point"),
        ("src/core/a.c", "int f(void) { return (int)1.5; }\n", "no floating point"),
        ("src/core/sched/a.c", "static float f;\n", "no floating point"),
    ]
    GOOD = [
        ("src/base/a.c", '#include <stdio.h>\n#include "base/str.h"\n'),
        ("src/core/a.c", '#include <string.h>\n#include "base/vec.h"\n'
                         '#include "core/sched/pass.h"\n#include "core/model/world.h"\n'),
        ("src/core/a.c", "/* a double of 1.5 */ static const char *s = \"float 2.5\"; int v = 15;\n"),
        ("src/core/sched/a.c", '#include "core/model/world.h"\n#include "core/sched/place.h"\n'),
        ("src/wire/a.c", '#include <jansson.h>\n#include "core/model/session.h"\n'),
        ("src/store/a.c", '#include <sqlite3.h>\n#include "wire/row.h"\n'),
        ("src/shim/a.c", '#include "wire/shim.h"\n#include "base/str.h"\n'),
        ("src/sim/a.c", '#include "core/step.h"\n#include "base/rng.h"\n'),
        ("src/manager/a.c", '#include "store/store.h"\n#include "net/loop.h"\n'
                            '#include "core/step.h"\n'),
        ("src/programs/a.c", '#include "manager/main.h"\n#include "agent/main.h"\n'),
    ]

    def test_bad(self):
        for name, text, what in self.BAD:
            with self.subTest(text=text, name=name):
                self.bad("layers", name, HEAD + text, 2, what)

    def test_good(self):
        for name, text in self.GOOD:
            with self.subTest(text=text, name=name):
                self.good("layers", name, HEAD + text)

    def test_unknown_layer(self):
        self.bad("layers", "src/odd/a.c", HEAD, 1, "is no layer")

    def test_nothing_to_look_at(self):
        self.assertEqual(run("layers", {"README": "x"})[0], 1)
        self.assertEqual(run("tidy", {"README": "x"})[0], 1)
        self.assertEqual(run("names", {"README": "x"})[0], 1)


@unittest.skipUnless(shutil.which("cc") and shutil.which("ar"), "no compiler here")
class CoreSymbols(unittest.TestCase):
    """Compiles a core and a base of one function each, and asks what the core calls."""

    def check(self, core):
        with tempfile.TemporaryDirectory() as build:
            for layer, text in (("base", "int base_f(int x); int base_f(int x) { return x; }\n"),
                                ("core", core)):
                folder = pathlib.Path(build, "src", layer)
                folder.mkdir(parents=True)
                (folder / "a.c").write_text(text)
                subprocess.run(["cc", "-O0", "-fno-builtin", "-c", "a.c"], cwd=folder, check=True)
                subprocess.run(["ar", "rc", f"lib{layer}.a", "a.o"], cwd=folder, check=True)
            return run("layers", {"src/core/a.h": HEAD}, "--build", build)

    def test_pure(self):
        status, out = self.check("#include <string.h>\nint base_f(int); int core_f(char *p);\n"
                                 "int core_f(char *p) { memset(p, 0, 9); return base_f(!p) + "
                                 "(int)strlen(p) + __builtin_popcountl((long)p); }\n")
        self.assertEqual(status, 0, out)

    def test_input_and_output(self):
        for call, name in (("puts(\"x\")", "puts"), ("time(0)", "time"), ("getenv(\"x\")", "getenv"),
                           ("malloc(3)", "malloc")):
            status, out = self.check("#include <stdio.h>\n#include <stdlib.h>\n#include <time.h>\n"
                                     f"void core_f(void); void core_f(void) {{ {call}; }}\n")
            self.assertEqual(status, 1, out)
            self.assertIn(f"a.o calls {name}: the core may call base", out)

    def test_not_built(self):
        status, out = run("layers", {"src/core/a.h": HEAD}, "--build", "/nonexistent")
        self.assertEqual(status, 1)
        self.assertIn("not built", out)


class Tidy(Samples):
    BAD = [
        ("src/base/a.c", "int x;\n", 1, "opens without a comment"),
        ("src/base/a.c", HEAD + "\tint x;\n", 2, "tab"),
        ("src/base/a.c", HEAD + "int x; \n", 2, "blanks at the end"),
        ("src/base/a.c", HEAD + "int x;", 2, "has no end"),
        ("src/base/a.c", HEAD + "int " + "x" * 96 + ";\n", 2, "101 columns"),
        ("src/base/a.c", HEAD + "/* TO" "DO: later */\n", 2, "unfinished mark"),
        ("tests/a.py", "# FIX" "ME\n", 1, "unfinished mark"),
        ("Makefile", "# XX" "X\n", 1, "unfinished mark"),
        ("src/base/a.c", HEAD + "\n" * 600, 600, "at most 600"),
        ("src/base/a.c", HEAD + "static void f(void)\n{\n" + body(71) + "}\n", 2, "f has 71 lines"),
        ("src/base/a.c", HEAD + "static int *f(int a, int b,\n  int c, int d, int e, int g, int h)\n"
                                "{\n}\n", 2, "f takes 7 parameters"),
        ("src/base/a.c", HEAD + "int f(int (*g)(int, int), int b, int c, int d, int e, int h, int i)"
                                " {}\n", 2, "f takes 7 parameters"),
        ("src/base/a.c", HEAD + "void f(char *p) { strcpy(p, \"x\"); }\n", 2, "strcpy is not used"),
        ("tests/a.c", HEAD + "int f(void) { return system (\"x\"); }\n", 2, "system is not used"),
        ("src/base/a.c", HEAD + "#define F(p) sprintf(p, 1)\n", 2, "sprintf is not used"),
        ("src/base/a.c", HEAD + "void f(int x) { assert(x); }\n", 2, "assert is not used"),
        ("src/base/a.c", HEAD + "typedef struct x x;\n", 2, "typedef of a struct"),
        ("src/base/a.h", HEAD + "int x;\n", 1, "no include guard"),
        ("src/base/a.h", GUARD.format("int x;").replace("define X_H", "define Y_H"), 1,
         "no include guard"),
        ("src/base/a.h", GUARD.format("int x;").replace("X_H", "X_h"), 1, "in capitals"),
    ]
    GOOD = [
        ("src/base/a.c", HEAD + "int f(int a, ...)\n{\n" + body(70) + "}\n"),
        ("src/base/a.c", HEAD + "int x;\n" * 599),
        ("src/base/a.c", HEAD + "int " + "x" * 95 + ";\n"),
        ("src/base/a.c", HEAD + "int é;/*" + "é" * 80 + "*/\n"),
        ("src/base/a.c", HEAD + "/* not sprintf(x) or atoi(y) */ char *s = \"gets(x)\";\n"),
        ("src/base/a.c", HEAD + "void f(struct ops *o) { o->system(1); o.popen(2); my_atoi(3); }\n"),
        ("src/base/a.c", HEAD + "static char path[] = \"/tmp/a.XXXXXX\"; enum e { A };\n"),
        ("src/base/a.c", HEAD + "static struct x { int a; } v[] = {\n" + "    {1},\n" * 90 + "};\n"),
        ("tests/a.c", HEAD + "void f(int x) { assert(x); }\n"),
        ("src/base/a.h", GUARD.format("int f(int a);")),
    ]

    def test_bad(self):
        for name, text, line, what in self.BAD:
            with self.subTest(what=what):
                self.bad("tidy", name, text, line, what)

    def test_good(self):
        for name, text in self.GOOD:
            with self.subTest(text=text[:80]):
                self.good("tidy", name, text)

    def test_one_guard_twice(self):
        status, out = run("tidy", {"src/a.h": GUARD.format(""), "src/b.h": GUARD.format("")})
        self.assertEqual(status, 1, out)
        self.assertIn("src/b.h:1: guard X_H is taken by a.h", out)


class Names(Samples):
    BAD = [
        ("src/core/rotate.c", HEAD + "int decide(void) { return 1; }\n", 2, "begin it with rotate_"),
        ("src/core/rotate.c", HEAD + "int rotated(void) { return 1; }\n", 2, "rotated is visible"),
        ("src/core/Rotate.c", HEAD, 1, "lower case"),
    ]
    GOOD = [
        ("src/core/rotate.c", HEAD + "int rotate_decide(void) { return 1; }\n"),
        ("src/core/rotate.c", HEAD + "static int decide(void) { return 1; }\n"),
        ("src/core/rotate.c", HEAD + "int core_rotate(void) { return 1; }\n"),
        ("src/programs/rota.c", HEAD + "int main(void) { return 1; }\n"),
    ]

    def test_bad(self):
        for name, text, line, what in self.BAD:
            with self.subTest(text=text):
                self.bad("names", name, text, line, what)

    def test_good(self):
        for name, text in self.GOOD:
            with self.subTest(text=text):
                self.good("names", name, text)

    def test_struct_of_the_folder(self):
        files = {"src/core/step.h": GUARD.format("struct effects { int n; };"),
                 "src/core/step.c": HEAD + "void effects_done(void) {}\n"}
        self.assertEqual(run("names", files)[0], 0)
        files["src/core/step.h"] = GUARD.format("")
        self.assertEqual(run("names", files)[0], 1)


if __name__ == "__main__":
    unittest.main()
