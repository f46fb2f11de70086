"""Recovery, first form: ranks, agents, nodes, the controller and Redis die; jobs go on."""
import os
import signal
import time

from cluster import (Cluster, bin_path, check, check_equal, command_of, environ_of, pid_alive,
                     read_metrics, until)
from test_jobs import ring, train

LONG = """version: 1
name: long
resources: {nodes: 2, ranks_per_node: 2}
launch: torch
script: |
  echo "gen $DT_GENERATION rank $RANK"
  sleep %d
"""


def losses(cluster, job):
    return [item["loss_hex"] for item in read_metrics(cluster.show(job)["dirs"]["metrics"])]


def until_step(cluster, job, step, seconds=30):
    def probe():
        path = cluster.show(job)["dirs"]["metrics"]
        if not os.path.exists(path):
            return None
        items = read_metrics(path)
        return items and items[-1]["step"] >= step
    until(probe, seconds, f"{job} at step {step}")


def test_killed_rank_resumes_bit_identically():
    with Cluster() as c:
        calm = c.submit(train(c, steps=120, every=10))
        check_equal(c.wait(calm, 60), 0, "undisturbed run")
        hit = c.submit(train(c, steps=120, every=10))
        until_step(c, hit, 25)
        os.kill(c.until_ranks(hit, 2)[1], signal.SIGKILL)
        check_equal(c.wait(hit, 60), 0, f"disturbed run: {c.show(hit).get('result')}")
        check_equal(c.show(hit)["gen"], 2, "generation after one kill")
        check_equal(len(losses(c, hit)), 120, "steps")
        check_equal(losses(c, hit) == losses(c, calm), True, "losses bit for bit")
        check("rank-exit" in c.events(hit) or "signal" in c.events(hit), c.events(hit))


def test_stopped_rank_is_a_hang_and_training_resumes():
    with Cluster() as c:
        calm = c.submit(train(c, steps=60, every=10))
        check_equal(c.wait(calm, 60), 0, "undisturbed run")
        hit = c.submit(train(c, steps=60, every=10) + "health: {hang_timeout: 3s}\n")
        until_step(c, hit, 15)
        os.kill(c.until_ranks(hit, 2)[1], signal.SIGSTOP)
        check_equal(c.wait(hit, 60), 0, "it goes on in a new generation")
        check_equal(c.show(hit)["gen"], 2, "one restart")
        events = c.dtctl("events", hit).stdout
        check("hang" in events and "no progress for 3s" in events, events)
        same = dict(zip([item["step"] for item in read_metrics(c.show(hit)["dirs"]["metrics"])],
                        losses(c, hit)))
        check_equal([same[step] for step in sorted(same)], losses(c, calm), "losses")


def test_killed_rank_of_any_program_starts_generation_two():
    with Cluster() as c:
        job = c.submit(LONG % 4)
        c.until_state(job, ["running"])
        ranks = c.until_ranks(job, 4)
        os.kill(ranks[2], signal.SIGKILL)
        until(lambda: c.show(job)["gen"] == 2 or None, 10, "generation 2")
        check_equal(c.wait(job), 0, f"{c.show(job).get('result')}")
        check("gen 2 rank 0" in c.log(job, 0), c.log(job, 0))
        check(not any(pid_alive(pid) for pid in ranks.values()), "generation 1 is gone")


def test_agent_restart_is_not_noticed():
    with Cluster() as c:
        job = c.submit(train(c, steps=400, every=50))
        until_step(c, job, 10)
        before = c.until_ranks(job, 2)
        pid = c.agent_pid("n2")
        words = command_of(pid)
        os.kill(pid, signal.SIGKILL)
        time.sleep(1)
        check(all(pid_alive(p) for p in before.values()), "ranks live without their agent")
        c.respawn(words, "n2-again.log")
        until(lambda: c.agent_pid("n2") or None, 5, "agent is back")
        check_equal(c.wait(job, 60), 0, f"{c.show(job).get('result')}")
        check_equal(c.show(job)["gen"], 1, "ranks never noticed")


def test_damaged_ledger_entry_is_kept_aside_and_its_ranks_end():
    with Cluster() as c:
        job = c.submit(LONG % 6)
        c.until_state(job, ["running"])
        before = c.until_ranks(job, 4)
        pid = c.agent_pid("n2")
        words = command_of(pid)
        ledger = os.path.join(words[words.index("--state-dir") + 1], "ledger")
        name = next(name for name in os.listdir(ledger) if name.endswith(".json"))
        os.kill(pid, signal.SIGKILL)
        until(lambda: not pid_alive(pid) or None, 5, "agent is dead")
        with open(os.path.join(ledger, name), "r+b") as file:
            file.truncate(40)
        c.respawn(words, "n2-again.log")
        until(lambda: c.show(job)["gen"] == 2 or None, 15, "generation 2")
        check_equal(c.wait(job), 0, f"{c.show(job).get('result')}")
        check(not any(pid_alive(rank) for rank in before.values()), "generation 1 is gone")
        check(os.path.exists(os.path.join(ledger, "damaged", name)), "the entry is kept aside")
        check("ledger entry was damaged" in c.events(job), c.events(job))


def test_lost_ledger_entry_lets_nothing_run_on():
    with Cluster() as c:
        job = c.submit(LONG % 6)
        c.until_state(job, ["running"])
        before = c.until_ranks(job, 4)
        pid = c.agent_pid("n2")
        words = command_of(pid)
        ledger = os.path.join(words[words.index("--state-dir") + 1], "ledger")
        mine = [p for p in before.values() if "n2" in environ_of(p)["DT_METRICS_SOCKET"]]
        check_equal(len(mine), 2, f"ranks on n2 of {before}")
        os.kill(pid, signal.SIGKILL)
        until(lambda: not pid_alive(pid) or None, 5, "agent is dead")
        for name in os.listdir(ledger):
            os.unlink(os.path.join(ledger, name))
        c.respawn(words, "n2-again.log")
        until(lambda: not any(pid_alive(rank) for rank in mine) or None, 5, "strays are killed")
        check_equal(c.wait(job), 0, f"{c.show(job).get('result')}")
        check(c.show(job)["gen"] > 1, "a new generation did the work")


def test_controller_restart_is_not_noticed():
    with Cluster() as c:
        job = c.submit(train(c, steps=400, every=50))
        queued = c.submit(ring())
        until_step(c, job, 10)
        before = c.until_ranks(job, 2)
        pid = c.server_pid()
        words = command_of(pid)
        os.kill(pid, signal.SIGKILL)
        until(lambda: not pid_alive(pid) or None, 5, "server is dead")
        time.sleep(0.5)
        check(all(pid_alive(p) for p in before.values()), "ranks live without the controller")
        c.respawn(words, "server-again.log")
        until(lambda: c.dtctl("ls").returncode == 0 or None, 10, "server is back")
        check_equal(c.show(job)["gen"], 1, "generation")
        check_equal(c.wait(job, 60), 0, f"{c.show(job).get('result')}")
        check_equal(c.show(job)["gen"], 1, "ranks never noticed")
        check_equal(c.wait(queued, 60), 0, f"a queued job survives: {c.show(queued).get('result')}")


def kill_node(c, node):
    """An agent dies with its step processes and ranks, all at once."""
    agent = c.agent_pid(node)
    steps = c.step_pids(node)
    for pid in [agent, *steps]:
        os.kill(pid, signal.SIGKILL)
    return agent


def test_dead_node_moves_its_job_elsewhere():
    with Cluster(nodes=3, slots=2) as c:
        job = c.submit(train(c, steps=300, every=20))
        until_step(c, job, 25)
        used = [member["node"] for member in c.show(job)["members"]]
        check_equal(len(used), 2, "members")
        kill_node(c, used[1])
        until(lambda: c.show(job)["gen"] == 2 or None, 30, "generation 2")
        c.until_state(job, ["running", "succeeded"], 20)
        now = [member["node"] for member in c.show(job)["members"]]
        check(used[1] not in now and used[0] in now, f"moved from {used} to {now}")
        check_equal(c.wait(job, 60), 0, f"{c.show(job).get('result')}")
        check_equal(len(losses(c, job)), 300, "every step once")


def test_cancel_while_recovering_is_final():
    with Cluster() as c:
        job = c.submit(LONG % 60)
        ranks = c.until_ranks(job, 4)
        os.kill(ranks[0], signal.SIGKILL)
        check_equal(c.dtctl("cancel", job, "--yes").returncode, 0, "cancel")
        check_equal(c.wait(job, 20), 11, "cancelled")
        time.sleep(0.5)
        check_equal(c.ranks(job), {}, "nothing runs")
        check_equal(c.state(job), "cancelled", "stays cancelled")


def test_restart_budget_ends_a_crash_loop():
    with Cluster(nodes=1, slots=1) as c:
        job = c.submit("""version: 1
name: loop
launch: none
restart: {max: 2, window: 1d, backoff: {initial: 100ms, max: 200ms}}
script: |
  exit 9
""")
        check(c.wait(job, 30) in (10, 13), "ends failed")
        check(c.show(job)["gen"] <= 3, f"generations {c.show(job)['gen']}")
        check_equal(c.show(job)["result"]["code"], 9, "result names the cause")


def test_killed_redis_is_started_again():
    with Cluster() as c:
        job = c.submit(train(c, steps=300, every=50))
        until_step(c, job, 5)
        redis = [pid for pid in c.mine() if "redis" in os.path.basename(command_of(pid)[0])]
        check_equal(len(redis), 1, "one Redis child")
        os.kill(redis[0], signal.SIGKILL)
        check_equal(c.wait(job, 60), 0, f"{c.show(job).get('result')}")
        again = c.submit(ring())
        check_equal(c.wait(again, 40), 0, "new jobs run")


def test_dead_step_process_takes_its_ranks_and_the_job_goes_on():
    with Cluster() as c:
        job = c.submit(train(c, steps=200, every=10))
        until_step(c, job, 15)
        ranks = c.until_ranks(job, 2)
        with open(f"/proc/{ranks[1]}/stat") as file:
            step = int(file.read().rsplit(")", 1)[1].split()[1])
        check_equal(command_of(step)[1:2], ["step"], "parent of a rank")
        os.kill(step, signal.SIGKILL)
        check_equal(c.wait(job, 60), 0, f"{c.show(job).get('result')}")
        check(c.show(job)["gen"] >= 2, "a new generation")


def test_controller_restart_while_ranks_join_mpi():
    with Cluster() as c:
        job = c.submit(f"""version: 1
name: slowring
resources: {{nodes: 2, ranks_per_node: 1}}
launch: mpi
restart: {{max: 0}}
command: ["bash", "-c", "sleep $((DT_RANK * 2)); exec {bin_path('mpi_ring')}"]
""")
        c.until_ranks(job, 2)
        time.sleep(0.8)  # rank 0 waits in its first fence
        pid = c.server_pid()
        words = command_of(pid)
        os.kill(pid, signal.SIGKILL)
        until(lambda: not pid_alive(pid) or None, 5, "server is dead")
        c.respawn(words, "server-again.log")
        until(lambda: c.dtctl("ls").returncode == 0 or None, 10, "server is back")
        check_equal(c.wait(job, 20), 0, f"{c.show(job).get('result')}")
        check_equal(c.show(job)["gen"], 1, "ranks never noticed")


def test_ranks_stop_when_the_controller_is_silent_for_long():
    with Cluster(nodes=1, slots=1) as c:
        job = c.submit("version: 1\nname: fenced\nlaunch: none\nscript: sleep 60\n"
                       "on_control_loss: {stop: 2s}\n")
        rank = c.until_ranks(job, 1)[0]
        os.kill(c.server_pid(), signal.SIGKILL)
        until(lambda: not pid_alive(rank) or None, 15, "stopped by its node")
        check_equal(c.dtctl("up", "--name", c.name, timeout=40).returncode, 0, "up again")
        until(lambda: c.show(job)["gen"] == 2 or None, 10, "it goes on")
        events = c.dtctl("events", job).stdout
        check("on_control_loss" in events, events)
        check_equal(c.dtctl("cancel", job, "--wait", "--grace", "0s").returncode, 0, "cancel")


def test_cancel_reaches_the_program_inside_a_script():
    with Cluster(nodes=1, slots=1) as c:
        job = c.submit("""version: 1
name: saver
launch: none
limits: {grace: 10s}
script: |
  python3 -c "
  import signal, sys, time
  def stop(*_):
      time.sleep(0.5); open('saved', 'w').write('yes'); sys.exit(75)
  signal.signal(signal.SIGTERM, stop)
  open('ready', 'w')
  time.sleep(60)"
  echo after
""")
        until(lambda: os.path.exists(os.path.join(c.work, "ready")) or None, 10, "program runs")
        check_equal(c.dtctl("cancel", job, "--yes").returncode, 0, "cancel")
        check_equal(c.wait(job, 8), 11, "cancelled before the grace is over")
        check(os.path.exists(os.path.join(c.work, "saved")), "the program saved on SIGTERM")


def test_hostile_children_do_not_outlive_their_generation():
    with Cluster(nodes=1, slots=1) as c:
        job = c.submit("""version: 1
name: hostile
resources: {nodes: 1, ranks_per_node: 1}
launch: none
script: |
  cat "$DT_HOSTFILE"
  ls /proc/self/fd | tr '\\n' ' '
  (trap '' TERM HUP INT; setsid sh -c 'trap "" TERM; sleep 301 & sleep 302' & ) &
  sh -c 'kill -STOP $$' &
  head -c 1000000 /dev/zero | tr '\\0' x
  head -c 100000 /dev/urandom
  sleep 0.5
  echo the end
""")
        check_equal(c.wait(job), 0, f"{c.show(job).get('result')} {c.log(job)[-300:]!r}")
        log = c.log(job)
        check(" slots=1\n" in log, f"host file: {log[:200]!r}")
        check("0 1 2 3 " in log and "0 1 2 3 4" not in log, f"open files: {log[:200]!r}")
        check("x" * 100000 in log.replace("\n", ""), "a line of a megabyte")
        check("the end" in log[-200:], log[-200:])
        until(lambda: not [pid for pid in c.mine() if "DT_JOB_ID" in environ_of(pid)] or None, 3,
              "nothing of the rank is left")
