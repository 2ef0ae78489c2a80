#!/usr/bin/env python3
"""Style as a test: borders between boxes, header cards, sizes, banned calls.

usage: tidy.py [ROOT] [--no-compile]

Prints `file:line: rule: what` for each violation, and at the end one count. Exit status 1 when
there is any. The borders are those of the table in docs/architecture.md: what it says holds.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

LINE_MAX, FUNCTION_MAX, KERNEL_MAX, FILE_MAX, HEADER_MAX, TAB = 100, 70, 120, 600, 160, 8

CODE_DIRS = ("src", "io", "mpi", "cuda")
TEXT_DIRS = CODE_DIRS + ("tests", "configs", "slurm", "docs")
TEXT_FILES = ("CMakeLists.txt", "CMakePresets.json", "README.md", "quickstart", "run-tests",
              ".ci/run", ".ci/packages.sh")
CARD = ("Flow", "Owns", "Lends", "Thread", "Fails")

# Foreign headers that have one home. Pattern of the header, pattern of the files that may have it.
HOMES = (
    (r"hdf5\w*\.h", r"io/container\w*\.c"),
    (r"liburing\.h", r"io/dio_uring\.c"),
    (r"mpi\.h", r"mpi/.*"),
    (r"nccl\.h", r"mpi/comm_nccl\.c"),
    (r"cuda\w*\.h|cublas\w*\.h|cub/.*", r"cuda/.*|mpi/comm_nccl\.c"),
    (r"cblas\.h", r"src/op/.*"),
    (r"yaml\.h", r"src/base/.*|io/.*"),
    (r"hwloc\.h", r"src/base/.*"),
)

# Calls that have one home, or none. Names, pattern of the files that may, what to use.
CALLS = (
    (r"printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|fputc|perror",
     r"src/base/(log|progress|err)\.c", "gnn_log or gnn_out"),
    (r"malloc|calloc|realloc|free|aligned_alloc|posix_memalign|strdup|strndup|asprintf|vasprintf",
     r"src/base/mem\.c", "gnn_mem_*"),
    (r"strcpy|stpcpy|sprintf|vsprintf|strcat|strncat|strtok|gets|alloca", None, "a bounded call"),
    (r"atoi|atol|atoll|atof", None, "a parser that refuses"),
    (r"system|popen", None, "nothing: no shell is run"),
    (r"rand|srand|random|srandom|drand48", None, "base/rng.h"),
    (r"assert", None, "GNN_ASSERT"),
)

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


class Tidy:
    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.found = 0
        self.code = self.files(CODE_DIRS, (".c", ".h", ".cu", ".cuh"))
        self.text = self.files(TEXT_DIRS, None) + [
            f for f in TEXT_FILES if (self.root / f).is_file()]

    def files(self, dirs, suffixes):
        names = []
        for top in dirs:
            for path in sorted((self.root / top).rglob("*")):
                name = path.relative_to(self.root).as_posix()
                if path.is_file() and "__pycache__" not in name and (
                        suffixes is None or path.suffix in suffixes):
                    names.append(name)
        return names

    def bad(self, name, line, rule, what):
        self.found += 1
        print(f"{name}:{line}: {rule}: {what}")

    def read(self, name):
        return (self.root / name).read_text(encoding="utf-8")


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def without(text, strings):
    """The text with comments, and with `strings` string literals too, blanked; lines stay."""
    def blank(match):
        token = match.group()
        if token[0] in "\"'":
            return token[0] + " " * (len(token) - 2) + token[0] if strings else token
        return re.sub(r"[^\n]", " ", token)
    return TOKEN.sub(blank, text)


def box_of(name):
    """src/base/err.c -> base, io/dio.c -> io, src/main.c -> main."""
    parts = name.split("/")
    if parts[0] != "src":
        return parts[0]
    return parts[1] if len(parts) > 2 else "main"


# --- every text file ---

def check_lines(t):
    for name in t.text:
        c_like = name.endswith((".c", ".h", ".cu", ".cuh", ".cc"))
        limited = c_like or name.endswith((".py", ".sh", ".cmake", "CMakeLists.txt")) or (
            name in ("quickstart", "run-tests"))
        try:
            lines = t.read(name).split("\n")
        except UnicodeDecodeError:
            continue  # binary test data
        for n, line in enumerate(lines, 1):
            if limited and len(line.expandtabs(TAB)) > LINE_MAX:
                t.bad(name, n, "line", f"{len(line.expandtabs(TAB))} columns, at most {LINE_MAX}")
            if limited and line != line.rstrip():
                t.bad(name, n, "line", "white space at the end")
            if c_like and re.match(r" (?!\*| *\\$)|\t* +\t", line):
                t.bad(name, n, "indent", "tabs indent, spaces behind them align")
            if re.search(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b(?!\(#\d+\))", line):
                t.bad(name, n, "unfinished", "needs an issue number: (#N)")
            if re.search(r"(?<![\w.$}])/(work|home|root|Users)/\w", line):
                t.bad(name, n, "path", "a path of one machine")


# --- C and CUDA ---

def check_sizes(t):
    for name in t.code:
        lines = t.read(name).split("\n")
        limit = HEADER_MAX if name.endswith((".h", ".cuh")) else FILE_MAX
        if len(lines) - 1 > limit:
            t.bad(name, limit + 1, "size", f"{len(lines) - 1} lines, at most {limit}")
        limit, start = (KERNEL_MAX if name.endswith((".cu", ".cuh")) else FUNCTION_MAX), None
        for n, line in enumerate(lines, 1):
            if line == "{":
                start = n
            elif line == "}" and start:
                if n - start + 1 > limit:
                    t.bad(name, start, "size", f"a function of {n - start + 1} lines, "
                          f"at most {limit}")
                start = None


def check_cards(t):
    for name in t.code:
        text = t.read(name)
        short = name.removeprefix("src/")
        first = text.split("\n", 2)
        opening = first[0] if first[0] != "/*" else first[1].removeprefix(" ")
        if not re.match(rf"(/\*|//|\*) {re.escape(short)} - \S", opening):
            t.bad(name, 1, "card", f'does not begin with "{short} - what it is"')
        if not name.endswith(".h"):
            continue
        head = text[:text.find("*/")]
        keys = [k for k in re.findall(r"^ \* (\w+) {2,}\S", head, re.M) if k in CARD]
        if keys != list(CARD):
            t.bad(name, 1, "card", f"{' '.join(CARD)} wanted in this order, found "
                  f"{' '.join(keys) or 'none'}")
        guard = "GNN_" + re.sub(r"\W", "_", short).upper()
        if f"#ifndef {guard}\n#define {guard}\n" not in text:
            t.bad(name, 1, "guard", f"{guard} wanted")


def check_calls(t):
    for name in t.code:
        plain = without(t.read(name), strings=True)
        for names, home, instead in CALLS:
            if home and re.fullmatch(home, name):
                continue
            for m in re.finditer(rf"(?<![\w.>])({names})\s*\(", plain):
                t.bad(name, line_of(plain, m.start()), "call", f"{m.group(1)}: use {instead}")


def includes(t, name):
    plain = without(t.read(name), strings=False)
    for m in INCLUDE.finditer(plain):
        yield line_of(plain, m.start()), m.group(1) == '"', m.group(2)


def borders(t):
    """Box -> boxes it may include, closed over: a row `| `src/op` | what | base |` of the map."""
    name, table = "docs/architecture.md", {}
    for m in re.finditer(r"^\| `([\w/]+)` \|[^|]*\| ([\w, ]+) \|$", t.read(name), re.M):
        table[m.group(1).split("/")[-1]] = m.group(2).strip()
    if len(table) < 5:
        t.bad(name, 1, "border", "the table of boxes is not there")
    near = {box: [] if may == "nothing of ours" else
            [b for b in table if b != box] if may == "all" else re.split(r", *", may)
            for box, may in table.items()}
    closed = {}
    for box in near:
        reach, todo = {box}, list(near[box])
        while todo:
            b = todo.pop()
            if b not in near:
                t.bad(name, 1, "border", f"{box} may include {b}, which has no row")
            elif b not in reach:
                reach.add(b)
                todo += near[b]
        closed[box] = reach
    closed["main"] = set(near) | {"main"}
    return closed


def check_borders(t):
    may, edges = borders(t), {}
    for name in t.code:
        box, module = box_of(name), re.sub(r"\.\w+$", "", name.removeprefix("src/"))
        if box not in may:
            t.bad(name, 1, "border", f"{box} has no row in docs/architecture.md")
            continue
        for line, ours, target in includes(t, name):
            for header, home in HOMES:
                if re.fullmatch(header, target) and not re.fullmatch(home, name):
                    t.bad(name, line, "border", f"{target} belongs to {home}")
            if not ours:
                continue
            if not target.startswith("generated/") and not any(
                    (t.root / top / target).is_file() for top in ("src", "")):
                t.bad(name, line, "border", f'"{target}" is none of box/file.h')
            if target.split("/")[0] not in may[box] | {"generated"}:
                t.bad(name, line, "border", f"{box} may not include {target.split('/')[0]}")
            edges.setdefault(module, {})[re.sub(r"\.\w+$", "", target)] = (name, line)
    check_acyclic(t, edges)


def check_acyclic(t, edges):
    """Modules, a .c and its .h as one, form no circle: peeled from both ends, none is left."""
    left = {m: {to for to in targets if to != m} for m, targets in edges.items()}
    before = None
    while before != left:
        before = left
        used = {to for targets in left.values() for to in targets}
        left = {m: {to for to in targets if to in left} for m, targets in left.items()
                if m in used and any(to in left for to in targets)}
    for m in sorted(left):
        for to in sorted(left[m]):
            t.bad(*edges[m][to], "border", f"a circle of modules: {m} includes {to}")


def check_listed(t):
    """Every source is in the CMakeLists.txt of the nearest folder above it that has one."""
    for name in t.code:
        if not name.endswith((".c", ".cu")):
            continue
        path = t.root / name
        lists = next((p / "CMakeLists.txt" for p in path.parents
                      if (p / "CMakeLists.txt").is_file() or p == t.root))
        relative = path.relative_to(lists.parent).as_posix()
        cmake = lists.read_text() if lists.is_file() else ""
        if not re.search(rf"(?<![\w/.-]){re.escape(relative)}(?![\w/.-])", cmake):
            t.bad(name, 1, "listed", f"not in {lists.relative_to(t.root)}")


def check_alone(t):
    """Every header compiles by itself, as C and as C++."""
    mpi = subprocess.run(["pkg-config", "--cflags", "ompi-c"], capture_output=True, text=True,
                         check=False).stdout.split()

    def compile_one(job):
        name, compiler, language, standard = job
        r = subprocess.run(
            [compiler, "-x", language, f"-std={standard}", "-fsyntax-only", "-Wall", "-Wextra",
             "-Werror", "-D_GNU_SOURCE", "-Isrc", "-I.", *mpi, "-include", name, "/dev/null"],
            cwd=t.root, capture_output=True, text=True, check=False)
        return name, language, r
    jobs = [(n, *how) for n in t.code if n.endswith(".h")
            for how in (("gcc", "c", "gnu17"), ("g++", "c++", "gnu++17"))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, language, r in pool.map(compile_one, jobs):
            if r.returncode != 0:
                first = next((x for x in r.stderr.split("\n") if "error:" in x), r.stderr[:200])
                t.bad(name, 1, "alone", f"as {language}: {first}")


CHECKS = (check_lines, check_sizes, check_cards, check_calls, check_borders, check_listed)


def main():
    args = [a for a in sys.argv[1:] if not a.startswith("--")]
    t = Tidy(args[0] if args else pathlib.Path(__file__).resolve().parent.parent)
    if not t.code:
        print(f"{t.root}: no sources there", file=sys.stderr)
        return 64
    for check in CHECKS:
        check(t)
    if "--no-compile" not in sys.argv:
        check_alone(t)
    print(f"{len(t.code)} sources, {len(t.text)} texts: {t.found} violations")
    return 1 if t.found else 0


if __name__ == "__main__":
    sys.exit(main())
