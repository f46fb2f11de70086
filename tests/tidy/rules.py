"""The house rules of docs (style, rooms) as checks. Each yields (file, line, text, remedy)."""
import fnmatch
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

LIB = {"base", "shape", "ckpt", "plan", "core", "wire", "os", "net"}
MAY_INCLUDE = {
    "base": {"base"}, "shape": {"shape", "base"}, "ckpt": {"ckpt", "shape", "base"},
    "plan": {"plan", "shape", "base"}, "core": {"core", "base"},
    "wire": {"wire", "core", "base"}, "os": {"os", "base"},
    "net": {"net", "os", "base", "wire/frame.h"},  # docs/adr/0005
    "server": LIB, "agent": LIB,
    "agent/step": LIB - {"plan"},
    "cli": LIB - {"net"},
    "trainer": {"base", "shape", "ckpt", "os/file.h", "os/proc.h", "rank_env.h"},
}
PURE = ("base", "shape", "ckpt", "core", "plan", "wire")

# A third-party header and the files that may include it.
OWNER = [
    ("yaml.h", ["cli/yaml*.c"]),
    ("curl/*", ["tests/bench/load.c"]),
    ("libsmartcols/*", ["cli/render.c"]),
    ("jansson.h", ["lib/base/json.c"]),
    ("event2/*", ["lib/net/*", "server/http.c", "server/guests.*", "server/redis_link.c"]),
    ("openssl/*", ["lib/net/*", "server/keys.c", "cli/client_remote.c"]),
    ("hiredis/*", ["server/redis_link.c", "server/redis_value.c"]),
    ("hwloc*", ["agent/node.c"]),
    ("nvml.h", ["agent/gpu.c"]),
    ("pmix*", ["agent/step/pmix*.c"]),
    ("cblas*", ["trainer/op_cpu*.c"]),
    ("mpi.h", ["trainer/comm_mpi.c", "tests/*"]),
    ("nccl.h", ["trainer/comm_nccl.c"]),
    ("cuda*", ["trainer/*.cu", "trainer/*_cuda*"]),
    ("CUnit/*", ["tests/test.c"]),
]

# What objects of the pure rooms may call.
ALLOWED = re.compile(
    r"^(malloc|calloc|realloc|free|abort|qsort|bsearch|__assert_fail|__stack_chk_fail|"
    r"mem\w+|str(?!error|ftime|ptime|signal)\w+|v?snprintf|__(mem|str)\w+_chk|__v?snprintf_chk|"
    r"__isoc23_strto\w+|_GLOBAL_OFFSET_TABLE_|__cpu_model|__errno_location|__(u?div|u?mod)ti3)$")
ALLOWED_JANSSON = re.compile(r"^json\w*$")
ALLOWED_LIBM = re.compile(r"^(exp|log|log2|log10|log1p|expm1|pow|sqrt|fabs|floor|ceil|round|fmin|fmax|"
                          r"erf|tanh|cbrt|lround|llround|fmod|trunc)f?$")
BANNED = ("strcpy strcat strncpy sprintf strtok gets atoi localtime system popen alloca").split()


def room_of(path):
    parts = path.split("/")
    if parts[0] == "lib":
        return parts[1]
    if parts[0] == "include":
        return parts[2] if len(parts) > 3 else None
    if parts[:2] == ["agent", "step"]:
        return "agent/step"
    return parts[0] if parts[0] in MAY_INCLUDE else None


def rule_includes(tree):
    """A room includes only what it may."""
    for source in tree.sources:
        room = room_of(source.path)
        if not room:
            continue
        may = MAY_INCLUDE[room]
        for line, kind, name in source.includes():
            if kind != '"':
                continue
            if name.startswith("dt/"):
                target = name[3:]
                if target not in may and target.split("/")[0] not in may:
                    yield (source.path, line, f"{room} may not include {name}",
                           "move the code to the room that may, or ask for the value as an argument")
            elif not tree.has(os.path.join(os.path.dirname(source.path), name)) and \
                    not (room == "agent/step" and tree.has("agent/" + name)):
                yield (source.path, line, f"{name} is not beside this file",
                       "programs do not include each other; shared code lives in lib")


def rule_libraries(tree):
    """One third-party library, one file."""
    for source in tree.sources:
        for line, _, name in source.includes():
            for pattern, owners in OWNER:
                if fnmatch.fnmatch(name, pattern) and \
                        not any(fnmatch.fnmatch(source.path, owner) for owner in owners):
                    yield (source.path, line, f"<{name}> belongs to {', '.join(owners)}",
                           "call that file's functions instead")


def rule_limits(tree):
    """Function 60 lines, 5 parameters, nesting 4; .c 700 lines; header 150; line 100 columns."""
    for source in tree.sources:
        for number, line in enumerate(source.lines, 1):
            if len(line) > 100:
                yield source.path, number, f"{len(line)} columns", "100 is the limit: break the line"
        if source.is_header and source.code_lines() > 150:
            yield (source.path, 1, f"{source.code_lines()} code lines in a header",
                   "150 is the limit: two nouns, two headers")
        if not source.is_header and len(source.lines) > 700:
            yield (source.path, 1, f"{len(source.lines)} lines",
                   "700 is the limit: split it by nouns")
        for function in source.functions():
            for value, most, what in ((function.lines, 60, "lines"),
                                      (function.params, 5, "parameters"),
                                      (function.nesting, 4, "levels of nesting")):
                if value > most:
                    yield (source.path, function.line, f"{function.name} has {value} {what}",
                           f"{most} is the limit: give a part a name of its own")


def rule_first_sentence(tree):
    """Each file begins with one sentence that says what it is for."""
    for source in tree.sources:
        found = re.match(r"\s*/\*\s*(.*?)\*/", source.text, re.S)
        text = re.sub(r"\s*\n\s*\*?\s*", " ", found.group(1)).strip() if found else ""
        if not found or len(text) < 15 or not text.endswith((".", ":", "?")):
            yield (source.path, 1, "no first sentence",
                   "begin the file with /* What this file is for. */")


def rule_contracts(tree):
    """A contract comment stands above each prototype in a header."""
    for source in tree.sources:
        if not source.is_header or source.path.startswith("tests/"):
            continue
        for name, at in source.prototypes():
            # prototypes right below each other share the comment above the first
            block = source.text[:at].rsplit("\n\n", 1)[-1]
            if "*/" not in block:
                yield (source.path, source.line_of(at), f"{name} has no contract",
                       "say above it: what, units, ownership, errors, cost")


def rule_banned(tree):
    """Calls that are never right here."""
    pattern = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
    for source in tree.sources:
        for found in pattern.finditer(source.plain):
            yield (source.path, source.line_of(found.start()), f"{found.group(1)} is banned",
                   "snprintf, memcpy, dt_parse_int, dt_proc_spawn do it within bounds")


def rule_core_has_no_float(tree):
    """The core computes with integers only."""
    for source in tree.sources:
        if room_of(source.path) != "core":
            continue
        for found in re.finditer(r"\b(float|double)\b", source.plain):
            yield (source.path, source.line_of(found.start()), f"{found.group(1)} in core",
                   "integers with a unit in the name, or decimal text")


def rule_options(tree):
    """Each option row has help, and a word for its value."""
    for source in tree.sources:
        if source.path.startswith("tests/unit"):
            continue
        text = re.sub(r"/\*.*?\*/", "", source.text, flags=re.S).replace("\\\n", " \n")
        for found in re.finditer(r"\{\s*\.name\s*=\s*\"[^\"]+\"[^{}]*\.type\s*=\s*(DT_OPT_\w+)[^{}]*\}",
                                 text):
            row = found.group(0)
            words = [".help"] + ([] if found.group(1) == "DT_OPT_FLAG" else [".arg", ".unit"])
            for word in words:
                if word not in row:
                    yield (source.path, text.count("\n", 0, found.start()) + 1,
                           f"an option without {word}", "every row of a table tells what it is")


def rule_error_codes(tree):
    """docs/errors.md has the row of every error code as lib/base/err.c has it."""
    path = os.path.join(tree.top, "lib/base/err.c")
    if not os.path.exists(path):
        return
    with open(path) as file:
        rows = re.findall(r"\[DT_\w+\]\s*=\s*\{\"([\w-]+)\",\s*(\d+),\s*(\d+),\s*\"([^\"]*)\"\}",
                          file.read())
    doc = os.path.join(tree.top, "docs/errors.md")
    text = open(doc).read() if os.path.exists(doc) else ""
    for code, status, http, help_text in rows:
        if f"| `{code}` | {http} | {status} | {help_text} |" not in text:
            yield ("docs/errors.md", 1, f"code {code} is not documented as lib/base/err.c has it",
                   f"write its row: | `{code}` | {http} | {status} | {help_text} |")


def texts(tree):
    """(path, text) of every file that people write: sources, scripts, pages, tables."""
    for folder, folders, names in os.walk(tree.top):
        folders[:] = sorted(name for name in folders
                            if name not in ("build", ".git", "dt-out", "corpus", "golden", "tidy"))
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.islink(path) or name == ".git" or os.path.getsize(path) > 1 << 20:
                continue
            with open(path, encoding="utf-8", errors="replace") as file:
                yield os.path.relpath(path, tree.top), file.read()


def rule_finished(tree):
    """Nothing says that it is unfinished: what is missing stands in docs/status.md."""
    for path, text in texts(tree):
        for found in re.finditer(r"\b(TODO|FIXME)\b", text):
            yield (path, text.count("\n", 0, found.start()) + 1, f"{found.group(1)} in the tree",
                   "do it, or say it in docs/status.md")


def rule_own_paths(tree):
    """No path of the machine somebody worked on."""
    for path, text in texts(tree):
        for found in re.finditer(r"(?<![\w.$}/-])/(?:work|root|Users|home/(?!ana\b))/?[\w.-]+/", text):
            yield (path, text.count("\n", 0, found.start()) + 1, f"{found.group(0)} is one machine's",
                   "a path relative to the tree, an option or an environment variable")


def rule_links(tree):
    """What a page links to is there."""
    for path, text in texts(tree):
        for found in re.finditer(r"\]\(([^)#:\s]+)", text) if path.endswith(".md") else ():
            target = os.path.join(tree.top, os.path.dirname(path), found.group(1))
            if not os.path.exists(target):
                yield (path, text.count("\n", 0, found.start()) + 1,
                       f"the link to {found.group(1)} leads nowhere", "write the page, or take the link out")


def compile_pure(tree):
    """Plain -O1 objects of the pure rooms: {path: object}."""
    folder = os.path.join(tree.build, "tidy")
    os.makedirs(folder, exist_ok=True)
    newest = max([os.path.getmtime(os.path.join(tree.top, source.path)) for source in tree.sources
                  if source.is_header] + [os.path.getmtime(__file__)])

    def one(source):
        target = os.path.join(folder, source.path.replace("/", "__") + ".o")
        changed = max(newest, os.path.getmtime(os.path.join(tree.top, source.path)))
        if os.path.exists(target) and os.path.getmtime(target) > changed:
            return source.path, target, ""
        made = subprocess.run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-c", "-I",
                               os.path.join(tree.top, "include"), "-o", target,
                               os.path.join(tree.top, source.path)],
                              capture_output=True, text=True)
        return source.path, target if made.returncode == 0 else None, made.stderr
    files = [source for source in tree.sources
             if source.path.startswith("lib/") and source.path.endswith(".c")]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, files))


def symbols(path):
    """(defined, undefined) global symbols of an object."""
    defined, undefined = set(), set()
    for line in subprocess.run(["nm", "-g", path], capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if len(words) >= 2:
            (undefined if words[-2] in "Uw" else defined).add(words[-1])
    return defined, undefined


def rule_purity(tree):
    """Objects of the pure rooms call no clock, file, environment or log."""
    defined = set()
    rows = []
    for path, target, trouble in tree.objects():
        if not target:
            yield path, 1, "does not compile alone: " + trouble.splitlines()[0], "mend it"
            continue
        made, wanted = symbols(target)
        defined |= made
        rows.append((path, wanted))
    for path, wanted in rows:
        room = room_of(path)
        if room not in PURE:
            continue
        for symbol in sorted(wanted - defined):
            is_fine = ALLOWED.match(symbol) or \
                (path == "lib/base/json.c" and ALLOWED_JANSSON.match(symbol)) or \
                (room == "plan" and ALLOWED_LIBM.match(symbol))
            if not is_fine:
                yield (path, 1, f"{room} is pure and calls {symbol}",
                       "let the caller pass what it yields")


def dependencies(tree):
    """{file: set of files whose symbols it uses} from the objects of the build."""
    owner, wanted = {}, {}
    for folder, _, names in os.walk(tree.build):
        for name in names:
            path = os.path.join(folder, name)
            # cli/CMakeFiles/dtctl_parts.dir/where.c.o, CMakeFiles/base.dir/lib/base/buf.c.o
            found = re.search(r"(?:^|/)((?:\w+/)*?)CMakeFiles/[\w-]+\.dir/(.+\.c)\.o$",
                              os.path.relpath(path, tree.build))
            if not found or "tidy/" in path:
                continue
            source = found.group(1) + found.group(2)
            if not tree.has(source) or source.startswith("tests/"):
                continue
            made, uses = symbols(path)
            for symbol in made:
                owner.setdefault(symbol, set()).add(source)
            wanted.setdefault(source, set()).update(uses)
    graph = {}
    for source, uses in wanted.items():
        graph[source] = {target for symbol in uses for target in owner.get(symbol, ())
                         if target != source and
                         (len(owner[symbol]) == 1 or
                          os.path.dirname(target) == os.path.dirname(source))}
    return graph


def cycles(graph):
    """Groups of files that use each other, smallest name first (Tarjan, without recursion)."""
    index, low, on, stack, found, count = {}, {}, set(), [], [], 0
    for root in sorted(graph):
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        index[root] = low[root] = count
        count += 1
        stack.append(root)
        on.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = count
                    count += 1
                    stack.append(target)
                    on.add(target)
                    work.append((target, iter(sorted(graph.get(target, ())))))
                    break
                if target in on:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while True:
                        item = stack.pop()
                        on.discard(item)
                        group.append(item)
                        if item == node:
                            break
                    if len(group) > 1:
                        found.append(sorted(group))
    return found


def rule_loops(tree):
    """No two files call each other, directly or in a ring."""
    for group in cycles(tree.graph()):
        yield (group[0], 1, "a loop between files: " + ", ".join(group),
               "move what both need into a third, or pass a function")


def rule_public_is_used(tree):
    """A public function is used by another file (or a test)."""
    words = {source.path: set(re.findall(r"\bdt_\w+", source.code)) |
             set(re.findall(r'"(dt_\w+)"', source.text)) for source in tree.sources}
    for source in tree.sources:
        if source.is_header or source.path.startswith("tests/"):
            continue
        for function in source.functions():
            name = function.name
            if function.is_static or not name.startswith("dt_"):
                continue
            if not any(name in used for path, used in words.items()
                       if path != source.path and not path.endswith(".h")):
                yield (source.path, function.line, f"{name} is used by no other file",
                       "make it static, or take it out")


RULES = [value for name, value in list(globals().items()) if name.startswith("rule_")]
