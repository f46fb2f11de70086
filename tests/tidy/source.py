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
        depth, head, current, body = 0, 0, None, 0
        for found in re.finditer(r"[{};]", self.plain):
            at, letter = found.start(), found.group(0)
            if letter == "{":
                if depth == 0:
                    current, body = self._head(head, at), at
                depth += 1
            elif letter == "}":
                depth -= 1
                if depth == 0:
                    if current:
                        name, start, params, is_static = current
                        yield Function(name, self.line_of(start), self.line_of(at), params,
                                       nesting(self.plain[body:at + 1]), is_static)
                    head, current = at + 1, None
            elif depth == 0:
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


TOKEN = re.compile(r"\w+|[^\s\w]")


def nesting(body):
    """Levels of control statements inside a function's body, with braces or without."""
    return Statements(TOKEN.findall(body)).most


class Statements:
    """Walks the statements of one body; most is the deepest level of if, for, while, switch, do."""

    def __init__(self, words):
        self.words, self.at, self.most = words + [""], 0, 0
        self.statement(0)

    def next_is(self, word):
        return self.words[self.at] == word

    def skip_parentheses(self):
        depth = 0
        while self.words[self.at]:
            depth += (self.words[self.at] == "(") - (self.words[self.at] == ")")
            self.at += 1
            if depth == 0:
                return

    def statement(self, level):
        word = self.words[self.at]
        self.most = max(self.most, level)
        if word == "{":
            self.at += 1
            while self.words[self.at] not in ("}", ""):
                self.statement(level)
            self.at += 1
        elif word in ("if", "for", "while", "switch"):
            self.at += 1
            self.skip_parentheses()
            self.statement(level + 1)
            if word == "if" and self.next_is("else"):
                self.at += 1
                self.statement(level if self.next_is("if") else level + 1)
        elif word == "do":
            self.at += 1
            self.statement(level + 1)
            self.at += self.next_is("while")
            self.simple(level)
        elif word in ("case", "default") or (word.isidentifier() and self.words[self.at + 1] == ":"):
            while self.words[self.at] not in (":", ""):
                self.at += 1
            self.at += 1
            if self.words[self.at] not in ("}", ""):
                self.statement(level)
        else:
            self.simple(level)

    def simple(self, level):
        """A declaration or expression up to its semicolon; a macro that heads a block counts as a loop."""
        depth, has_value = 0, False
        while self.words[self.at]:
            word = self.words[self.at]
            if word == "{" and depth == 0 and not has_value and self.words[self.at - 1] == ")":
                self.statement(level + 1)
                return
            has_value |= word in ("=", "return")
            depth += (word in ("(", "[", "{")) - (word in (")", "]", "}"))
            if depth < 0:
                return  # the block's own end: the statement had no semicolon
            self.at += 1
            if word == ";" and depth == 0:
                return
