#!/usr/bin/env python3
"""Each rule of tidy.py is broken once in a small tree of its own, and must be reported there."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tidy  # noqa: E402

MAP = """| box | what | may include |
|---|---|---|
| `src/base` | x | nothing of ours |
| `io` | x | base |
| `src/op` | x | base |
| `src/layer` | x | op, io |
| `src/cmd` | x | all |
"""
CARD = """/*
 * {0} - a header.
 *
 * Flow     a -> [b] -> c
 * Owns     nothing
 * Lends    nothing
 * Thread   any
 * Fails    never
 */
#ifndef {1}
#define {1}

{2}
#endif
"""


def header(name, body="struct gnn_x;\n"):
    return CARD.format(name, "GNN_" + name.replace("/", "_").replace(".", "_").upper(), body)


def source(name, body="int x;\n"):
    return f"/* {name} - a source. */\n{body}"


class TidyTest(unittest.TestCase):
    def found(self, files=()):
        """What tidy prints about a clean tree with these files changed."""
        tree = {
            "docs/architecture.md": MAP,
            "src/base/CMakeLists.txt": "a.c b.c\n",
            "src/base/a.h": header("base/a.h"),
            "src/base/a.c": source("base/a.c", '#include "base/a.h"\n'),
            "src/base/b.h": header("base/b.h"),
            "src/base/b.c": source("base/b.c"),
            "io/CMakeLists.txt": "f.c\n",
            "io/f.c": source("io/f.c", '#include "base/a.h"\n'),
        }
        tree.update(files)
        with tempfile.TemporaryDirectory() as root:
            for name, text in tree.items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                t = tidy.Tidy(root)
                for check in tidy.CHECKS + (tidy.check_alone,):
                    check(t)
        return out.getvalue()

    def breaks(self, name, text, wanted):
        with self.subTest(wanted):
            found = self.found(files={name: text})
            self.assertIn(f"{name}:", found)
            self.assertIn(wanted, found)

    def test_a_clean_tree_is_clean(self):
        self.assertEqual(self.found(), "")

    def test_text(self):
        long = "int " + "x" * 100 + ";\n"
        self.breaks("io/f.c", source("io/f.c", long), "line: 105 columns")
        self.breaks("io/f.c", source("io/f.c", "\t" * 12 + "abcde;\n"), "line: 102 columns")
        self.breaks("io/f.c", source("io/f.c", "int x; \n"), "white space at the end")
        self.breaks("io/f.c", source("io/f.c", "    int x;\n"), "indent")
        self.breaks("io/f.c", source("io/f.c", "/* TO" + "DO: more */\n"), "unfinished")
        self.breaks("docs/a.md", "see /ro" + "ot/x\n", "path")
        self.assertEqual(self.found(files={"docs/a.md": "TO" + "DO(#12) x\n"}), "")

    def test_sizes(self):
        body = "int f(void)\n{\n" + "\tg();\n" * 69 + "}\n"
        self.breaks("io/f.c", source("io/f.c", body), "a function of 71 lines")
        self.assertEqual(self.found(files={"io/f.c": source("io/f.c", body.replace(
            "\tg();\n", "", 1))}), "")
        self.breaks("io/f.c", source("io/f.c", "int x;\n" * 600), "601 lines, at most 600")
        self.breaks("src/base/a.h", header("base/a.h", "int x;\n" * 160), "at most 160")

    def test_cards(self):
        self.breaks("io/f.c", "int x;\n", 'does not begin with "io/f.c - what it is"')
        self.breaks("src/base/a.h", header("base/a.h").replace(" * Lends    nothing\n", ""),
                    "found Flow Owns Thread Fails")
        self.breaks("src/base/a.h", header("base/a.h").replace("GNN_BASE", "BASE"), "guard")

    def test_calls(self):
        for call in ("printf", "malloc", "strcpy", "atoi", "system", "rand", "assert"):
            self.breaks("io/f.c", source("io/f.c", f'int x = {call}("a");\n'), f"call: {call}")
        self.assertEqual(self.found(files={"io/f.c": source(
            "io/f.c", '/* malloc(1) */\nchar *s = "printf(1)";\nint y = o->free(o);\n')}), "")

    def test_borders(self):
        self.breaks("src/base/a.c", source("base/a.c", '#include "io/f.h"\n'), "none of box/file")
        self.breaks("src/base/b.h", header("base/b.h", '#include "io/f.h"\n'), "base may not")
        self.breaks("io/f.c", source("io/f.c", "#include <hdf5.h>\n"), "hdf5.h belongs to")
        self.breaks("src/odd/x.c", source("odd/x.c"), "odd has no row")
        self.breaks("docs/architecture.md", "nothing\n", "the table of boxes is not there")
        ring = {"src/base/a.h": header("base/a.h", '#include "base/b.h"\n'),
                "src/base/b.c": source("base/b.c", '#include "base/a.h"\n')}
        self.assertIn("a circle of modules: base/a includes base/b", self.found(files=ring))

    def test_listed_and_alone(self):
        self.assertIn("listed", self.found(files={"io/CMakeLists.txt": "xf.c f.cc\n"}))
        self.breaks("src/base/a.h", header("base/a.h", "size_t x(void);\n"), "alone: as c:")
        self.breaks("src/base/a.h", header("base/a.h", "int class;\n"), "alone: as c++:")


if __name__ == "__main__":
    unittest.main()
