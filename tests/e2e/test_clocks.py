"""A wall clock that is off is said, and changes nothing else: leases and order do not use it."""
import glob
import json
import os
import re

from cluster import Cluster, Skipped, bin_path, check, check_equal
from test_cli import HELLO, contexts


def shifted(**seconds):
    """Environment in which the clocks of the named programs are off by so many seconds."""
    if not os.path.exists(bin_path("clock_shift.so")):
        raise Skipped("bin/clock_shift.so is not built")
    return {"LD_PRELOAD": bin_path("clock_shift.so"),
            "CLOCK_SHIFT": " ".join(f"{name}={value}" for name, value in seconds.items()),
            "ASAN_OPTIONS": "verify_asan_link_order=0"}


def agent_logs(c):
    text = ""
    for path in glob.glob(os.path.join(c.run_dir, "n*.log")):
        with open(path) as file:
            text += file.read()
    return text


def works_with_agents_off(seconds):
    with Cluster(nodes=2, slots=1, env=shifted(dtagent=seconds)) as c:
        job = c.submit(HELLO)
        check_equal(c.wait(job), 0, "a job runs")
        said = re.search(r"clock is (-?[0-9]+) s off", agent_logs(c))
        check(said and abs(int(said.group(1)) - seconds) < 60, agent_logs(c)[-600:])
        check_equal([node["state"] for node in json.loads(
            c.dtctl("nodes", "-o", "json").stdout)["items"]], ["up", "up"], "leases hold")
        times = [event["at"] for event in json.loads(
            c.dtctl("events", job, "-o", "json").stdout)["items"]]
        check_equal(times, sorted(times), "time goes forward in what users see")


def test_agents_an_hour_behind_work_and_say_so():
    works_with_agents_off(-3600)


def test_agents_an_hour_ahead_work_and_say_so():
    works_with_agents_off(3600)


def test_a_client_with_a_wrong_clock_is_told():
    with Cluster(nodes=1, slots=1) as c:
        done = c.dtctl("doctor", env=shifted(dtctl=3600))
        check("3600" in done.stdout and "off the controller" in done.stdout, done.stdout)
        env = contexts(c)
        check_equal(c.dtctl("ls", env=dict(env, **shifted(dtctl=-7200))).returncode, 0,
                    "hours behind")
        done = c.dtctl("ls", env=dict(env, **shifted(dtctl=-200000)))
        check_equal(done.returncode, 5, done.stderr)
        check("not yet valid" in done.stderr and "clock" in done.stderr, done.stderr)
