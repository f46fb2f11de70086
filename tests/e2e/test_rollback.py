"""A store that was rolled back, or emptied, is noticed before anything is scheduled."""
import os
import shutil
import signal
import subprocess
import time

from cluster import Cluster, bin_path, check, check_equal, until

QUICK = """version: 1
name: quick
launch: none
command: ["true"]
"""


def down(c):
    check_equal(c.dtctl("down", "--name", c.name, timeout=60).returncode, 0, "down")


def up(c):
    return c.dtctl("up", "--name", c.name, "--nodes", "1", "--slots", "1", "--state-dir",
                   c.state_dir, timeout=40)


def serve_once(c):
    """What an operator does: one start that accepts the older store."""
    run_dir = os.path.join(c.dir, "once")
    server = subprocess.Popen([bin_path("dtserver"), "--run-dir", run_dir, "--state-dir",
                               c.state_dir, "--api-port", "0", "--agent-port", "0",
                               "--accept-rollback"], env=c.env, stderr=subprocess.PIPE)
    until(lambda: os.path.exists(os.path.join(run_dir, "ready.json")) or server.poll(), 15,
          "ready")
    time.sleep(0.3)  # it has taken the store over once the first look at its records is done
    server.send_signal(signal.SIGTERM)
    said = server.communicate(timeout=15)[1].decode()
    check_equal(server.returncode, 0, said)


def test_store_rolled_back_is_refused_until_accepted():
    with Cluster(nodes=1, slots=1) as c:
        first = c.submit(QUICK)
        check_equal(c.wait(first), 0, "first life")
        down(c)
        data = os.path.join(c.state_dir, "redis")
        shutil.copytree(data, data + ".old")
        check_equal(up(c).returncode, 0, "second life")
        lost = c.submit(QUICK)
        check_equal(c.wait(lost), 0, "a job that the old copy does not know")
        down(c)
        for what in ("rolled back", "emptied"):
            shutil.rmtree(data)
            if what == "rolled back":
                shutil.copytree(data + ".old", data)
            done = up(c)
            check(done.returncode != 0, f"{what}: must not serve")
            check("rolled back" in done.stderr and "--accept-rollback" in done.stderr, done.stderr)
        shutil.rmtree(data)
        shutil.copytree(data + ".old", data)
        serve_once(c)
        check_equal(up(c).returncode, 0, "accepted once, served since")
        check_equal(c.state(first), "succeeded", "what the copy knows")
        check(c.submit(QUICK) > lost, "an id is never given twice")
