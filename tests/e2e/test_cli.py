"""dtctl against real daemons: over TLS, down after accidents, Ctrl-C."""
import json
import os
import signal
import subprocess
import time

from cluster import Cluster, bin_path, check, check_equal, until

HELLO = """version: 1
name: hello
resources: {nodes: 2}
launch: none
script: |
  echo hello from rank $DT_RANK
  sleep 0.3
"""
SLEEPER = "version: 1\nname: sleeper\nlaunch: none\nscript: |\n  echo up\n  exec sleep 60\n"


def ready(c):
    with open(os.path.join(c.run_dir, "ready.json")) as file:
        return json.load(file)


def contexts(c, **changes):
    """A contexts file with one remote context, tls; returns the environment to use it."""
    info = ready(c)
    fields = {"server": f"https://127.0.0.1:{info['api_port']}", "ca": info["ca_file"],
              "token_file": info["token_file"], **changes}
    folder = os.path.join(c.env["XDG_CONFIG_HOME"], "dt")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "contexts.yaml"), "w") as file:
        file.write("current: tls\ncontexts:\n  tls:\n" + "".join(
            f"    {key}: {value}\n" for key, value in fields.items() if value))
    return {"DT_CONTEXT": ""}


def test_remote_context_does_what_the_socket_does():
    with Cluster(nodes=2, slots=1) as c:
        env = contexts(c)
        path = os.path.join(c.work, "hello.yaml")
        with open(path, "w") as file:
            file.write(HELLO)
        done = c.dtctl("submit", path, "--follow", env=env)
        check_equal(done.returncode, 0, done.stderr)
        job = done.stdout.strip()
        check("succeeded" in done.stderr, done.stderr)
        check_equal(c.dtctl("wait", job, env=env).returncode, 0, "wait")
        log = c.dtctl("logs", job, env=env)
        check_equal(sorted(log.stdout.splitlines()),
                    ["r0 | hello from rank 0", "r1 | hello from rank 1"], log.stderr)
        check_equal(c.dtctl("ls", "--all", "-o", "name", env=env).stdout.split(), [job], "ls")


def test_remote_context_is_refused_without_trust_or_token():
    with Cluster(nodes=1, slots=1) as c:
        done = c.dtctl("ls", env=contexts(c, ca=None))
        check_equal(done.returncode, 5, done.stderr)
        check("certificate" in done.stderr, done.stderr)
        done = c.dtctl("ls", env=contexts(c, token_file=None))
        check_equal(done.returncode, 5, done.stderr)
        done = c.dtctl("ls", env=contexts(c, server="https://127.0.0.1:1"))
        check_equal(done.returncode, 8, done.stderr)


def test_down_after_a_killed_controller_leaves_nothing():
    with Cluster(nodes=1, slots=1) as c:
        job = c.submit(SLEEPER)
        c.until_ranks(job, 1)
        os.kill(c.server_pid(), signal.SIGKILL)
        # the checks at the exit of the cluster find leftovers


def test_up_starts_again_what_died():
    with Cluster(nodes=2, slots=1) as c:
        job = c.submit(SLEEPER)
        ranks = c.until_ranks(job, 1)
        os.kill(c.server_pid(), signal.SIGKILL)
        os.kill(c.agent_pid("n2"), signal.SIGKILL)
        until(lambda: not c.agent_pid("n2") or None, 5, "dead")
        done = c.dtctl("up", "--name", c.name, timeout=40)
        check_equal(done.returncode, 0, done.stderr)
        check("2 nodes with 1 CPU slot each" in done.stdout, done.stdout)
        check_equal(c.state(job), "running", "the job never noticed")
        check_equal(c.ranks(job), ranks, "the same ranks")
        check_equal(c.dtctl("up", "--name", c.name).returncode, 6, "nothing is missing now")
        check_equal(c.dtctl("cancel", job, "--wait", "--grace", "0s").returncode, 0, "cancel")


def test_state_survives_down_and_up():
    with Cluster(nodes=1, slots=1) as c:
        job = c.submit(HELLO.replace("2", "1"))
        check_equal(c.wait(job), 0, "first life")
        check_equal(c.dtctl("nodes", "cordon", "n1").returncode, 0, "cordon")
        check_equal(c.dtctl("down", "--name", c.name, timeout=60).returncode, 0, "down")
        check(not os.path.exists(c.run_dir), "the run directory is gone")
        done = c.dtctl("up", "--name", c.name, "--nodes", "1", "--slots", "1", "--state-dir",
                       os.path.join(c.dir, "state"))
        check_equal(done.returncode, 0, done.stderr)
        check_equal(c.state(job), "succeeded", "history")
        check("cordoned" in c.dtctl("nodes").stdout, "a cordon stays")
        check_equal(c.dtctl("nodes", "resume", "n1").returncode, 0, "resume")
        check(c.submit(HELLO.replace("2", "1")) > job, "ids go on")


def test_ctrl_c_detaches_and_the_job_goes_on():
    with Cluster(nodes=1, slots=1) as c:
        path = os.path.join(c.work, "sleeper.yaml")
        with open(path, "w") as file:
            file.write(SLEEPER)
        child = subprocess.Popen([bin_path("dtctl"), "submit", "--wait", path], env=c.env,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 stdin=subprocess.DEVNULL, cwd=c.work)
        job = child.stdout.readline().strip()
        c.until_ranks(job, 1)
        time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=5)
        check_equal(child.returncode, 130, err)
        check(f"dtctl cancel {job}" in err, err)
        check_equal(c.state(job), "running", "goes on")
        follower = subprocess.Popen([bin_path("dtctl"), "logs", "-f", job], env=c.env,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        check_equal(follower.stdout.readline(), "up\n", "live log")
        check_equal(c.dtctl("cancel", job, "--wait", "--grace", "0s").returncode, 0, "cancel")
        follower.communicate(timeout=10)
        check_equal(follower.returncode, 0, "the follower ends with the job")
        until(lambda: not c.ranks(job) or None, 5, "ranks gone")
