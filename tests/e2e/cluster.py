"""A real embedded cluster for end-to-end tests: dtctl up/down, jobs, faults, leftovers."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

BUILD = None  # set by run


class Failed(Exception):
    """A claim of a test that does not hold."""


class Skipped(Exception):
    """A test that cannot run here, with its reason."""


def check(claim, text):
    if not claim:
        raise Failed(text)


def check_equal(got, expected, text):
    if got != expected:
        raise Failed(f"{text}: got {got!r}, expected {expected!r}")


def until(probe, seconds, text):
    """Call probe until it gives a true value; fail after seconds."""
    end = time.monotonic() + seconds
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f"{text}: not within {seconds} s")
        time.sleep(0.05)


def bin_path(name):
    return os.path.join(BUILD, "bin", name)


def pid_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def environ_of(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            items = file.read().split(b"\0")
    except OSError:
        return {}
    pairs = (item.decode(errors="replace").split("=", 1) for item in items if b"=" in item)
    return {key: value for key, value in pairs}


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return [word.decode(errors="replace") for word in file.read().split(b"\0")[:-1]]
    except OSError:
        return []


def processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


class Cluster:
    """dtctl up in a directory of its own. Use as a context manager: down and leak check at exit."""

    count = 0

    def __init__(self, nodes=2, slots=2, env=None, state_dir=None):
        Cluster.count += 1
        self.name = f"e2e-{os.getpid()}-{Cluster.count}"
        self.dir = tempfile.mkdtemp(prefix="dt-e2e-")
        self.nodes, self.slots = nodes, slots
        self.state_dir = state_dir or os.path.join(self.dir, "state")
        self.env = dict(os.environ, XDG_RUNTIME_DIR=os.path.join(self.dir, "run"),
                        XDG_CONFIG_HOME=os.path.join(self.dir, "config"),
                        DT_CONTEXT=self.name, LC_ALL="C", NO_COLOR="1")
        self.env.update(env or {})
        os.makedirs(self.env["XDG_RUNTIME_DIR"], mode=0o700)
        self.work = os.path.join(self.dir, "work")
        os.makedirs(self.work)
        self.run_dir = os.path.join(self.env["XDG_RUNTIME_DIR"], "dt", self.name)

    def __enter__(self):
        done = self.dtctl("up", "--name", self.name, "--nodes", str(self.nodes), "--slots",
                          str(self.slots), "--state-dir", self.state_dir,
                          timeout=40)
        check(done.returncode == 0, f"dtctl up: exit {done.returncode}\n{done.stderr}{done.stdout}")
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is not None and kind is not Skipped:
                self.keep_logs()
            done = self.dtctl("down", "--name", self.name, timeout=60)
            if kind is None:
                check(done.returncode == 0, f"dtctl down: {done.stderr}")
                left = until(lambda: not self.leftovers() or None, 10,
                             f"leftovers: {self.leftovers()}")
                del left
        finally:
            self.kill_leftovers()
            shutil.rmtree(self.dir, ignore_errors=True)

    def keep_logs(self):
        """Copy the run directory's logs where a failed check keeps them."""
        target = os.path.join(BUILD, "e2e-failed", self.name)
        for path in glob.glob(self.run_dir + "/**/*.log", recursive=True) + \
                glob.glob(self.work + "/**/*.log", recursive=True):
            place = os.path.join(target, os.path.relpath(path, self.dir))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy(path, place)

    def mine(self):
        """Pids of processes that belong to this cluster."""
        found = []
        for pid in processes():
            if pid == os.getpid():
                continue
            words = command_of(pid)
            if any(self.dir in word for word in words) or \
                    environ_of(pid).get("XDG_RUNTIME_DIR", "").startswith(self.dir) or \
                    self.dir in environ_of(pid).get("DT_OUTPUT_DIR", ""):
                found.append(pid)
        return found

    def leftovers(self):
        left = [f"process {pid} {' '.join(command_of(pid))[:80]}" for pid in self.mine()
                if pid_alive(pid)]
        left += glob.glob(f"/dev/shm/*{self.name}*")
        return left

    def kill_leftovers(self):
        for pid in self.mine():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass

    def dtctl(self, *words, timeout=30, stdin=None, env=None):
        return subprocess.run([bin_path("dtctl"), *words], env=dict(self.env, **(env or {})),
                              cwd=self.work, capture_output=True, text=True, timeout=timeout,
                              stdin=stdin or subprocess.DEVNULL, errors="replace")

    def submit(self, text, *flags):
        """Submit a job.yaml given as text; returns its id."""
        path = os.path.join(self.work, f"job-{time.monotonic_ns()}.yaml")
        with open(path, "w") as file:
            file.write(text)
        done = self.dtctl("submit", path, *flags)
        check(done.returncode == 0, f"submit: exit {done.returncode}\n{done.stderr}")
        return done.stdout.split()[-1]

    def show(self, job):
        done = self.dtctl("show", job, "-o", "json")
        check(done.returncode == 0, f"show {job}: exit {done.returncode} {done.stderr}")
        return json.loads(done.stdout)

    def state(self, job):
        return self.show(job)["state"]

    def wait(self, job, seconds=40):
        """Exit status of dtctl wait."""
        return self.dtctl("wait", job, "--timeout", f"{seconds}s", timeout=seconds + 10).returncode

    def until_state(self, job, states, seconds=20):
        return until(lambda: self.show(job) if self.state(job) in states else None, seconds,
                     f"{job} in {states}, is {self.state(job)}: {self.show(job).get('result')}")

    def ranks(self, job):
        """{rank: pid} of a job's living ranks."""
        found = {}
        for pid in processes():
            env = environ_of(pid)
            if env.get("DT_JOB_ID") == job and self.dir in env.get("DT_OUTPUT_DIR", "") and \
                    pid_alive(pid) and "DT_RANK" in env:
                rank = int(env["DT_RANK"])
                # a rank's own children carry its environment too: the oldest is the rank
                found[rank] = min(pid, found.get(rank, pid))
        return found

    def until_ranks(self, job, count, seconds=20):
        return until(lambda: (lambda r: r if len(r) == count else None)(self.ranks(job)), seconds,
                     f"{count} ranks of {job}")

    def log(self, job, rank=0):
        return self.dtctl("logs", job, "--rank", str(rank), "--generation", "all").stdout

    def events(self, job):
        return self.dtctl("events", job, "-o", "json").stdout

    def agent_pid(self, node):
        for pid in self.mine():
            words = command_of(pid)
            if words and os.path.basename(words[0]) == "dtagent" and "step" not in words[1:2] \
                    and "--node" in words and words[words.index("--node") + 1] == node:
                return pid
        return None

    def step_pids(self, node):
        """Step processes of a node's agent, found by the node's run directory in their words."""
        agent_dir = None
        words = command_of(self.agent_pid(node)) if self.agent_pid(node) else []
        if "--run-dir" in words:
            agent_dir = words[words.index("--run-dir") + 1]
        found = []
        for pid in self.mine():
            line = command_of(pid)
            if line and os.path.basename(line[0]) == "dtagent" and line[1:2] == ["step"] and \
                    agent_dir and any(agent_dir in word for word in line):
                found.append(pid)
        return found

    def server_pid(self):
        with open(os.path.join(self.run_dir, "ready.json")) as file:
            return json.load(file)["pid"]

    def respawn(self, words, log):
        """Start a daemon again with the words it had."""
        with open(os.path.join(self.dir, log), "ab") as out:
            program = words[0] if "/" in words[0] else bin_path(words[0])
            return subprocess.Popen(words, executable=program, env=self.env, cwd="/", stdin=subprocess.DEVNULL,
                                    stdout=out, stderr=out, start_new_session=True)


def read_metrics(path):
    """[{step, gen, loss, loss_hex}] of metrics.jsonl, newest generation of each step."""
    newest = {}
    with open(path) as file:
        for line in file:
            try:
                item = json.loads(line)
            except ValueError:
                continue  # the line a killed rank was writing
            if "step" in item and "loss_hex" in item:
                newest[item["step"]] = item
    return [newest[step] for step in sorted(newest)]


def version_of(command):
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=10).stdout
    except OSError:
        return None
    found = re.search(r"\d+(\.\d+)+", text)
    return found.group(0) if found else None
