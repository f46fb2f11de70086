#!/usr/bin/env python3
"""Tests of tidy: each rule finds its fault in a small tree made for it, and lets a clean one pass."""
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

here = os.path.dirname(os.path.abspath(__file__))

CLEAN = {
    "include/dt/base/word.h": '/* Words and their lengths. */\n#include <stddef.h>\n\n'
                              '/* Letters of text. O(length). */\nsize_t dt_word_size(const char *text);\n',
    "cli/chain.c": '/* Long, not deep. */\nstatic int chain(int a)\n{\n    for (;;) {\n        int b[] = {1, 2};\n\n'
                   '        if (a)\n            return 1;\n' +
                   '        else if (a > b[0])\n            return 2;\n' * 5 +
                   '        else\n            break;\n    }\nout:\n    return 0;\n}\n',
    "lib/base/word.c": '/* Words and their lengths. */\n#include "dt/base/word.h"\n\n#include <string.h>\n\n'
                       'size_t dt_word_size(const char *text)\n{\n    return strlen(text);\n}\n',
    "cli/main.c": '/* A program that prints nothing. */\n#include "dt/base/word.h"\n\n'
                  'int main(void)\n{\n    return (int)dt_word_size("");\n}\n',
}
LONG = "int long_one(void);\nint long_one(void)\n{\n" + "    ;\n" * 70 + "    return 0;\n}\n"
DEEP = ("int deep(int a);\nint deep(int a)\n{\n" + "".join("    " * i + "if (a) {\n" for i in range(1, 6)) +
        "}" * 5 + "\n    return 0;\n}\n")

# name of the rule, file to add or change, its text, a word the finding must have
CASES = [
    ("includes", "lib/base/bad.c", '/* Reads what it must not. */\n#include "dt/core/core.h"\n', "core"),
    ("includes", "cli/bad.c", '/* Reads another program. */\n#include "server.h"\n', "beside"),
    ("libraries", "cli/bad.c", '/* Reads a library of another file. */\n#include <curl/curl.h>\n', "curl"),
    ("limits", "cli/bad.c", "/* Too long for one look. */\n" + LONG, "long_one has"),
    ("limits", "cli/bad.c", "/* Too deep for one look. */\n" + DEEP, "nesting"),
    ("limits", "cli/bad.c", "/* As deep without braces. */\nvoid f(int a)\n{\n" +
     "    while (a)\n" * 2 + "    switch (a) {\n    case 1:\n    if (a)\n        do\n            a = (int){1};\n"
     "        while (a);\n    }\n}\n", "nesting"),
    ("links", "docs/bad.md", "See [more](more.md).\n", "more.md"),
    ("limits", "cli/bad.c", "/* Too many things at once. */\nvoid f(int a, int b, int c, int d, int e, int g)\n{\n}\n",
     "parameters"),
    ("limits", "cli/bad.c", "/* A line too wide. */\n/* " + "x" * 100 + " */\n", "columns"),
    ("limits", "cli/bad.c", "/* Too many lines. */\n" + "\n" * 700, "lines"),
    ("limits", "cli/bad.h", "/* Too much in a header. */\n" + "int a;\n" * 151, "header"),
    ("first-sentence", "cli/bad.c", "int a;\n", "no first sentence"),
    ("contracts", "cli/bad.h", "/* A promise without words. */\n\nint dt_promise(int a);\n", "dt_promise"),
    ("banned", "cli/bad.c", "/* Calls what is banned. */\nint f(const char *a)\n{\n    return atoi(a);\n}\n", "atoi"),
    ("core-has-no-float", "lib/core/bad.c", "/* Computes with fractions. */\ndouble f(void)\n{\n    return 0;\n}\n",
     "double"),
    ("options", "cli/bad.c", '/* A table with a silent row. */\nstruct dt_opt a[] = {{.name = "x", .type = '
                             'DT_OPT_INT, .arg = "N", .unit = ""}};\n', ".help"),
    ("error-codes", "lib/base/err.c", '/* Codes nobody explains. */\nstruct row rows[] = '
                                      '{[DT_ODD] = {"odd", 1, 500, "Odd."}};\n', "odd"),
    ("finished", "cli/bad.c", "/* Waits for somebody. */\n/* TO" "DO: all of it */\n", "in the tree"),
    ("finished", "deploy/bad", "#!/bin/sh\n# FIX" "ME\n", "in the tree"),
    ("own-paths", "docs/bad.md", "Look into /ro" "ot/dt/log/.\n", "one machine's"),
    ("purity", "lib/base/bad.c", "/* Looks at a clock. */\n#include <time.h>\nlong f(void);\nlong f(void)\n{\n"
                                 "    return time(0);\n}\n", "time"),
    ("public-is-used", "lib/base/bad.c", "/* Offers what nobody wants. */\nint dt_lonely(void)\n{\n    return 1;\n}\n",
     "dt_lonely"),
]


def tidy(files, build=None):
    with tempfile.TemporaryDirectory(prefix="dt-tidy-") as top:
        for path, text in files.items():
            place = os.path.join(top, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w") as file:
                file.write(text)
        made = os.path.join(top, "build")
        os.makedirs(made)
        if build:
            build(top, made)
        done = subprocess.run([sys.executable, os.path.join(here, "run"), made, "--top", top],
                              capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr


def ring(top, made):
    """Two objects that call each other, where a build would put them."""
    folder = os.path.join(made, "cli/CMakeFiles/dtctl.dir")
    os.makedirs(folder)
    for one, other in (("ring_a", "ring_b"), ("ring_b", "ring_a")):
        path = os.path.join(top, "cli", one + ".c")
        with open(path, "w") as file:
            file.write(f"/* Half of a ring. */\nint {other}(void);\nint {one}(void);\n"
                       f"int {one}(void)\n{{\n    return {other}();\n}}\n")
        subprocess.run(["cc", "-c", "-o", os.path.join(folder, one + ".c.o"), path], check=True)


def main():
    failed = 0
    code, text = tidy(CLEAN)
    if code != 0:
        failed += 1
        print(f"FAIL a clean tree passes\n{text}")
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda case: tidy({**CLEAN, case[1]: case[2]}), CASES))
    for (rule, path, content, word), (code, text) in zip(CASES, results):
        line = next((line for line in text.splitlines() if f": {rule}: " in line and word in line), None)
        if code == 0 or not line:
            failed += 1
            print(f"FAIL {rule} finds \"{word}\" in {path}\n{text}")
    code, text = tidy(CLEAN, ring)
    if code == 0 or "a loop between files: cli/ring_a.c, cli/ring_b.c" not in text:
        failed += 1
        print(f"FAIL loops finds a ring\n{text}")
    bad = {**CLEAN, "cli/bad.c": "/* A line too wide. */\n/* " + "x" * 100 + " */\n"}
    code, text = tidy({**bad, "tests/tidy/exceptions": "limits cli/bad.c columns  # a table of digits\n"})
    if code != 0:
        failed += 1
        print(f"FAIL an exception with a reason is taken\n{text}")
    code, text = tidy({**CLEAN, "tests/tidy/exceptions": "limits cli/bad.c columns  # no longer there\n"})
    if code == 0 or "excepts nothing" not in text:
        failed += 1
        print(f"FAIL an exception that excepts nothing is named\n{text}")
    print(f"tests of tidy: {len(CASES) + 4 - failed} right, {failed} wrong")
    return 1 if failed else 0


sys.exit(main())
