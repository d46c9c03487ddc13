"""What the style checks know about C: comments and strings taken out, functions
found.  Not a parser: it relies on the tree's own style (clang-format, no K&R
definitions) and says so where it is told apart by that."""
import pathlib
import re
import subprocess

KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "do", "else", "case", "defined"}


def blank(text):
    """text with comments, strings and characters blanked, line for line."""
    out = []
    token = re.compile(
        r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    last = 0
    for m in token.finditer(text):
        out.append(text[last:m.start()])
        got = m.group()
        if got[0] in "\"'":
            out.append(got[0] + " " * (len(got) - 2) + got[0])
        else:
            out.append(re.sub(r"[^\n]", " ", got))
        last = m.end()
    out.append(text[last:])
    return "".join(out)


def without_directives(code):
    """Blanked code without preprocessor lines and their continuations."""
    lines, inside = [], False
    for line in code.split("\n"):
        inside = inside or line.lstrip().startswith("#")
        lines.append(" " * len(line) if inside else line)
        inside = inside and line.rstrip().endswith("\\")
    return "\n".join(lines)


def matching(code, at):
    """Index of the bracket that closes the one at `at`, or len(code)."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    opening, closing, depth = code[at], pairs[code[at]], 0
    for i in range(at, len(code)):
        if code[i] == opening:
            depth += 1
        elif code[i] == closing:
            depth -= 1
            if depth == 0:
                return i
    return len(code)


def split_commas(text):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return parts


def count_params(text):
    params = [p.strip() for p in split_commas(text)]
    return len([p for p in params if p not in ("", "void", "...")])


class Function:
    """name; line of the name; lines in the body, braces not counted; params; static."""

    def __init__(self, name, line, body_lines, params, static):
        self.name, self.line, self.body_lines = name, line, body_lines
        self.params, self.static = params, static


def _header(before):
    """(name, offset of name, parameter text) when `before` is the head of a function."""
    head = re.sub(r"__attribute__\s*\(\(.*?\)\)\s*$", "", before.rstrip(), flags=re.S).rstrip()
    if not head.endswith(")") or "=" in re.sub(r"\(.*\)", "", head, flags=re.S):
        return None
    depth = 0
    for i in range(len(head) - 1, -1, -1):
        depth += (head[i] == ")") - (head[i] == "(")
        if depth == 0:
            break
    m = re.search(r"(\w+)\s*$", head[:i])
    if depth != 0 or not m or m.group(1) in KEYWORDS:
        return None
    return m.group(1), m.start(1), head[i + 1:-1]


def functions(code):
    """The functions defined in blanked code."""
    code = without_directives(code)
    found, start, i = [], 0, 0
    while i < len(code):
        c = code[i]
        if c == ";":
            start = i + 1
        elif c == "(":
            i = matching(code, i)
        elif c == "{":
            end = matching(code, i)
            before = code[start:i]
            head = _header(before)
            if head:
                name, offset, params = head
                lines = max(code.count("\n", i, end) - 1, 0)
                static = re.search(r"\bstatic\b", before) is not None
                found.append(Function(name, line_of(code, start + offset), lines,
                                      count_params(params), static))
                start = end + 1
            i = end
        i += 1
    return found


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def includes(text):
    """[(line, path, quoted)] of every #include."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        m = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if m:
            found.append((number, m.group(2), m.group(1) == '"'))
    return found


def files(root, tops, endings):
    """Files below root/top with one of the endings, sorted; built things left out."""
    found = []
    for top in tops:
        here = pathlib.Path(root) / top
        if here.is_file():
            found.append(here)
        for path in sorted(here.rglob("*")) if here.is_dir() else []:
            parts = path.relative_to(root).parts
            if any(p.startswith((".", "build")) or p == "node_modules" for p in parts):
                continue
            if path.is_file() and (not endings or path.suffix in endings):
                found.append(path)
    return found


def read(path):
    return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")


class Report:
    """Findings as `file:line: what is wrong; what to do`."""

    def __init__(self, root):
        self.root, self.lines = pathlib.Path(root), []

    def add(self, path, line, text):
        path = pathlib.Path(path)
        if path.is_absolute() and path.is_relative_to(self.root):
            path = path.relative_to(self.root)
        self.lines.append(f"{path}:{line}: {text}")

    def finish(self, what, seen):
        """Prints; the exit status."""
        for line in self.lines:
            print(line)
        if seen == 0:
            print(f"{what}: nothing to look at: is this the root of the tree?")
            return 1
        print(f"{what}: {len(self.lines)} findings in {seen} files")
        return 1 if self.lines else 0


def undefined_and_defined(archive):
    """(undefined, defined) symbols of all objects of an archive, by nm."""
    out = subprocess.run(["nm", "-A", str(archive)], check=True, capture_output=True, text=True)
    undefined, defined = {}, set()
    for line in out.stdout.splitlines():
        m = re.match(r"(\S+):\s*(?:[0-9a-f]+\s+)?(\w)\s+(\S+)$", line)
        if not m:
            continue
        where, kind, name = m.groups()
        if kind in "Uwv":
            undefined.setdefault(name, where.rsplit(":", 1)[-1])
        elif kind.isupper():
            defined.add(name)
    return undefined, defined
