"""C sources as tidy sees them: text without comments and strings, functions, prototypes."""
import os
import re

BLANK = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "do", "else"}


def blank(text, keeps_strings=False):
    """Comments (and what stands in quotes) as blanks; lines and columns stay."""
    def empty(found):
        word = found.group(0)
        if word[0] in "\"'":
            return word if keeps_strings else word[0] + " " * (len(word) - 2) + word[0]
        return re.sub(r"[^\n]", " ", word)
    return BLANK.sub(empty, text)


class Function:
    def __init__(self, name, line, line_end, params, nesting, is_static):
        self.name, self.line, self.line_end = name, line, line_end
        self.params, self.nesting, self.is_static = params, nesting, is_static

    @property
    def lines(self):
        return self.line_end - self.line + 1


class Source:
    def __init__(self, top, path):
        self.path = path
        with open(os.path.join(top, path), encoding="utf-8") as file:
            self.text = file.read()
        self.lines = self.text.splitlines()
        self.code = blank(self.text)
        # no preprocessor lines (with their continuations)
        self.plain = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group(0)),
                            self.code, flags=re.M)
        self._functions = None

    @property
    def is_header(self):
        return self.path.endswith(".h")

    def line_of(self, at):
        return self.text.count("\n", 0, at) + 1

    def includes(self):
        """(line, kind, name) of each include; kind is a quote or an angle bracket."""
        for found in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', self.text, re.M):
            yield self.line_of(found.start()), found.group(1), found.group(2)

    def code_lines(self):
        return sum(1 for line in self.code.splitlines() if line.strip())

    def functions(self):
        if self._functions is None:
            self._functions = list(self._find_functions())
        return self._functions

    def _find_functions(self):
        depth, head, current, control, stack = 0, 0, None, 0, []
        for at, letter in enumerate(self.plain):
            if letter == "{":
                if depth == 0:
                    current = self._head(head, at)
                    control = most = 0
                else:
                    before = self.plain[:at].rstrip()[-6:]
                    is_control = before.endswith(")") or re.search(r"\b(else|do)$", before)
                    stack.append(bool(is_control))
                    control += bool(is_control)
                    most = max(most, control)
                depth += 1
            elif letter == "}":
                depth -= 1
                if depth == 0:
                    if current:
                        name, start, params, is_static = current
                        yield Function(name, self.line_of(start), self.line_of(at), params, most,
                                       is_static)
                    head, current = at + 1, None
                elif stack:
                    control -= stack.pop()
            elif letter == ";" and depth == 0:
                head = at + 1

    def _head(self, start, end):
        """(name, start, parameters, is_static) when the text before a brace heads a function."""
        text = self.plain[start:end]
        text = re.sub(r"__attribute__\s*\(\(.*?\)\)", lambda m: " " * len(m.group(0)), text)
        if "=" in text or not text.rstrip().endswith(")"):
            return None
        close, depth = len(text.rstrip()) - 1, 0
        for at in range(close, -1, -1):
            depth += (text[at] == ")") - (text[at] == "(")
            if depth == 0:
                break
        found = re.search(r"(\w+)\s*$", text[:at])
        if not found or found.group(1) in KEYWORDS:
            return None
        inside = text[at + 1:close].strip()
        params = 0 if inside in ("", "void") else split_params(inside)
        return (found.group(1), start + len(text) - len(text.lstrip()), params,
                re.search(r"\bstatic\b", text) is not None)

    def prototypes(self):
        """(name, offset) of each function declared in this header."""
        depth, start = 0, 0
        for at, letter in enumerate(self.plain):
            if letter == "{":
                depth += 1
            elif letter == "}":
                depth -= 1
                start = at + 1 if depth == 0 else start
            elif letter == ";" and depth == 0:
                text = self.plain[start:at]
                begin = start + len(text) - len(text.lstrip())
                text = re.sub(r"(__attribute__|DT_PRINTF)\s*\(.*\)\s*$", "", text.strip(), flags=re.S)
                found = re.match(r"(?!typedef|struct\s+\w+\s*$)[\w\s\*]+?(\w+)\s*\(", text)
                if found and "(*" not in text.split(")")[0] and "=" not in text:
                    yield found.group(1), begin
                start = at + 1


def split_params(text):
    depth, count = 0, 1
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        count += letter == "," and depth == 0
    return count
