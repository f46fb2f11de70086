"""What a test of dtctl uses: a directory of its own, the stand-in API, runs, golden files."""
import difflib
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

from fake_api import FakeApi

BUILD, UPDATE = None, False
TESTS = []
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "cli")


class Failed(Exception):
    """A claim that does not hold."""


class Skipped(Exception):
    """Cannot run here, with the reason."""


def test(function):
    TESTS.append(function)
    return function


def check(claim, text):
    if not claim:
        raise Failed(text)


def check_near(got, expected, tolerance):
    check(abs(got - expected) <= tolerance, f"got {got}, expected {expected} within {tolerance}")


def check_equal(got, expected, text=""):
    if got != expected:
        raise Failed(f"{text}: got {got!r}, expected {expected!r}")


class Fixture:
    def __init__(self, name):
        self.name = name
        self.dir = tempfile.mkdtemp(prefix="dt-cli-")
        run = os.path.join(self.dir, "run")
        os.makedirs(os.path.join(run, "dt", "fake"), mode=0o700)
        os.chmod(os.path.join(run, "dt"), 0o700)
        self.socket = os.path.join(run, "dt", "fake", "api.sock")
        self.env = {"PATH": os.environ["PATH"], "HOME": self.dir, "XDG_RUNTIME_DIR": run,
                    "XDG_CONFIG_HOME": os.path.join(self.dir, "config"), "TZ": "UTC",
                    "LC_ALL": "C.UTF-8", "TERM": "xterm", "DT_CONTEXT": "fake"}
        self.work = os.path.join(self.dir, "work")
        os.makedirs(self.work)
        self.made = None
        self.text = ""

    @property
    def api(self):
        """Started when a test first asks for it."""
        if not self.made:
            self.made = FakeApi(self.socket)
        return self.made

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.made:
            self.made.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def write(self, name, text):
        path = os.path.join(self.work, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def start(self, *words, env=None, **more):
        return subprocess.Popen([os.path.join(BUILD, "bin", "dtctl"), *words],
                                env={**self.env, **(env or {})}, cwd=self.work,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **more)

    def run(self, *words, env=None, timeout=20, code=None):
        """Run to the end; adds to the golden text. Returns (code, stdout, stderr) as text."""
        child = self.start(*words, env=env)
        try:
            out, err = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            raise Failed(f"dtctl {' '.join(words)} did not end in {timeout} s\n"
                         f"{out.decode(errors='replace')}\n{err.decode(errors='replace')}")
        out, err = (data.decode(errors="backslashreplace") for data in (out, err))
        self.note(words, out, err, child.returncode)
        if code is not None and child.returncode != code:
            raise Failed(f"dtctl {' '.join(words)}: exit {child.returncode}, expected {code}\n"
                         f"{out}\n{err}")
        return child.returncode, out, err

    def note(self, words, out, err, code):
        self.text += f"$ dtctl {' '.join(words)}\n{out}"
        self.text += "" if not out or out.endswith("\n") else "\n"
        self.text += "".join(f"! {line}\n" for line in err.splitlines())
        self.text += f"= {code}\n"

    def terminal(self, *words, env=None, timeout=20, keys=None, width=100):
        """Run with stdout and stderr on a terminal. Returns (code, text)."""
        pid, fd = pty.fork()
        if pid == 0:
            try:
                os.chdir(self.work)
                os.execve(os.path.join(BUILD, "bin", "dtctl"), ["dtctl", *words],
                          {**self.env, "COLUMNS": str(width), **(env or {})})
            finally:
                os._exit(99)
        end, data = time.monotonic() + timeout, b""
        while time.monotonic() < end:
            ready, _, _ = select.select([fd], [], [], 0.1)
            if keys and keys[0] in data:
                os.write(fd, keys[1])
                keys = None
            if not ready:
                continue
            try:
                piece = os.read(fd, 65536)
            except OSError:
                break
            if not piece:
                break
            data += piece
        else:
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        os.close(fd)
        text = data.decode(errors="backslashreplace").replace("\r\n", "\n")
        return os.waitstatus_to_exitcode(status), text

    def golden(self, text=None):
        """Compare what run noted (or text) with tests/golden/cli/NAME.txt."""
        text = self.text if text is None else text
        text = text.replace(self.dir, "DIR")
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>", text)
        path = os.path.join(GOLDEN, self.name + ".txt")
        if UPDATE:
            with open(path, "w") as file:
                file.write(text)
            return
        if not os.path.exists(path):
            raise Failed(f"no golden file {path}; make it with --update and read it\n{text}")
        with open(path) as file:
            expected = file.read()
        if text != expected:
            raise Failed("".join(difflib.unified_diff(
                expected.splitlines(True), text.splitlines(True), "expected", "got")))
