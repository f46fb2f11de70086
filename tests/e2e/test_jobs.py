"""Jobs of every launch kind on a quiet cluster."""
import json
import os
import shutil

from cluster import (BUILD, Cluster, Skipped, bin_path, check, check_equal,  # noqa: F401
                     read_metrics, until)

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(os.path.dirname(HERE), "programs")

RING = """version: 1
name: ring
resources: {{nodes: 2, ranks_per_node: 2}}
launch: mpi
command: ["{ring}"]
"""

TRAIN = """version: 1
name: train
resources: {{nodes: 2, ranks_per_node: 1}}
trainer:
  model: {{preset: llama-nano}}
  data: {{text: ["{text}"]}}
  seq_len: 32
  micro_batch: 2
  global_batch: 4
  steps: {steps}
  precision: fp32
  optimizer: {{name: adamw, lr: 3e-3}}
  seed: 7
checkpoint: {{every: {{steps: {every}}}, keep: 2}}
"""


def make_text(cluster, size=200000):
    path = os.path.join(cluster.work, "corpus.txt")
    if not os.path.exists(path):
        words = "the rank that died was replaced and training went on as if nothing had happened "
        with open(path, "w") as file:
            number = 1
            written = 0
            while written < size:
                number = (number * 1103515245 + 12345) % 2147483648
                line = words[number % 40:] + str(number) + "\n"
                file.write(line)
                written += len(line)
    return path


def train(cluster, steps=30, every=10):
    return TRAIN.format(text=make_text(cluster), steps=steps, every=every)


def ring(extra=""):
    return RING.format(ring=bin_path("mpi_ring")) + extra


def test_launch_kinds_run_a_real_program_each():
    with Cluster(nodes=2, slots=2) as c:
        job = c.submit(ring())
        check_equal(c.wait(job), 0, f"MPI ring: {c.show(job).get('result')} {c.log(job)}")
        check("size 4" in c.log(job) or "of 4" in c.log(job), f"ring log: {c.log(job)!r}")
        job = c.submit(f"""version: 1
name: torchenv
resources: {{nodes: 2, ranks_per_node: 2}}
launch: torch
command: ["python3", "{PROGRAMS}/check_torch_env.py"]
""")
        check_equal(c.wait(job), 0, f"torch variables: {c.show(job).get('result')} {c.log(job)}")
        job = c.submit("""version: 1
name: plain
resources: {nodes: 2, ranks_per_node: 1}
launch: none
script: |
  echo "node $DT_NODE_RANK of $DT_NNODES"
""")
        check_equal(c.wait(job), 0, f"none: {c.show(job).get('result')}")
        check("node 0 of 2" in c.log(job, 0), f"script log {c.log(job, 0)!r}")
        check("node 1 of 2" in c.log(job, 1), f"script log {c.log(job, 1)!r}")


def test_lean_mpi_leaves_settings_of_the_user_alone():
    with Cluster(nodes=2, slots=2) as c:
        job = c.submit(f"""version: 1
name: lean
resources: {{nodes: 2, ranks_per_node: 2}}
launch: mpi
mpi: lean
env: {{OMPI_MCA_coll: "^han", OMPI_MCA_shmem: posix, HWLOC_PLUGINS_PATH: /mine}}
command: ["bash", "-c", "env; exec {bin_path('mpi_ring')}"]
""")
        check_equal(c.wait(job), 0, f"lean ring: {c.show(job).get('result')} {c.log(job)}")
        words = c.log(job).split("\n")
        for word in ("OMPI_MCA_coll=^han", "OMPI_MCA_shmem=posix", "HWLOC_PLUGINS_PATH=/mine",
                     "OMPI_MCA_pml=ob1", "OMPI_MCA_ess=pmi"):
            check(any(line.endswith(word) for line in words), f"{word} in {words}")


def test_trainer_trains_on_two_nodes():
    with Cluster() as c:
        job = c.submit(train(c))
        check_equal(c.wait(job), 0, f"trainer: {c.show(job).get('result')} {c.log(job)}")
        shown = c.show(job)
        steps = read_metrics(shown["dirs"]["metrics"])
        check_equal(len(steps), 30, "steps in metrics.jsonl")
        check(float(steps[-1]["loss"]) < float(steps[0]["loss"]) - 1, "the loss fell")
        check_equal(shown["gen"], 1, "one generation")
        check(shown["checkpoint"] and shown["checkpoint"]["step"] == 30, f"checkpoint {shown['checkpoint']}")


def test_failing_program_fails_the_job_with_its_reason():
    with Cluster() as c:
        job = c.submit("""version: 1
name: seven
resources: {nodes: 2, ranks_per_node: 1}
launch: none
restart: {max: 0}
script: |
  echo "about to fail on $DT_NODE_RANK"
  if [ "$DT_NODE_RANK" = 1 ]; then exit 7; fi
  sleep 20
""")
        check_equal(c.wait(job), 10, "exit status of wait")
        result = c.show(job)["result"]
        check_equal((result["cause"], result["code"], result["rank"]), ("exit", 7, 1), "result")
        check("about to fail on 1" in result["excerpt"], f"excerpt {result['excerpt']!r}")
        job = c.submit("""version: 1
name: nosuch
resources: {nodes: 1}
launch: none
restart: {max: 0}
command: ["/no/such/program"]
""")
        check_equal(c.wait(job), 10, "missing program")
        check("/no/such/program" in json.dumps(c.show(job)["result"]), f"{c.show(job)['result']}")


def test_program_that_never_joins_mpi_is_called_a_singleton():
    with Cluster() as c:
        job = c.submit("""version: 1
name: single
resources: {nodes: 2, ranks_per_node: 1}
launch: mpi
restart: {max: 0}
command: ["/bin/true"]
""")
        check_equal(c.wait(job), 10, "a rank that never connected must fail the job")
        check("singleton" in json.dumps(c.show(job)["result"]), f"{c.show(job)['result']}")


def test_bad_data_says_what_and_where():
    with Cluster() as c:
        text = train(c).replace(make_text(c), c.work + "/absent-*.txt")
        job = c.submit(text + "restart: {max: 0}\n")
        check_equal(c.wait(job), 10, "absent data")
        check_equal(c.show(job)["result"]["code"], 20, "dttrain's exit code")
        check("absent-" in json.dumps(c.show(job)["result"]), f"{c.show(job)['result']}")
        small = os.path.join(c.work, "small.txt")
        with open(small, "w") as file:
            file.write("too small")
        job = c.submit(train(c).replace(make_text(c), small))
        check_equal(c.wait(job), 10, "data smaller than a batch")
        check_equal(c.show(job)["result"]["code"], 20, "dttrain's exit code")


def test_cancel_leaves_nothing():
    with Cluster() as c:
        job = c.submit("""version: 1
name: stubborn
resources: {nodes: 2, ranks_per_node: 2}
launch: torch
limits: {grace: 1s}
script: |
  trap '' TERM INT
  setsid sleep 300 &
  (sleep 300; true) &
  while :; do sleep 1; done
""")
        c.until_state(job, ["running"])
        c.until_ranks(job, 4)
        done = c.dtctl("cancel", job, "--yes")
        check_equal(done.returncode, 0, f"cancel: {done.stderr}")
        check_equal(c.wait(job, 20), 11, "exit status of wait after cancel")
        check_equal(c.ranks(job), {}, "processes after CANCELLED")
        pending = c.submit(ring("").replace("nodes: 2", "nodes: 2"))
        c.wait(pending)


def test_pytorch_ddp_over_gloo():
    import subprocess
    probe = subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True)
    if probe.returncode != 0:
        raise Skipped("python3-torch is not installed")
    program = os.path.join(PROGRAMS, "ddp_gloo.py")
    with Cluster() as c:
        job = c.submit(f"""version: 1
name: ddp
resources: {{nodes: 2, ranks_per_node: 1}}
launch: torch
command: ["/usr/bin/python3", "{program}"]
""")
        check_equal(c.wait(job, 90), 0, f"DDP: {c.show(job).get('result')} {c.log(job)}")


def test_two_clusters_do_not_collide():
    with Cluster(nodes=1, slots=1) as a, Cluster(nodes=1, slots=1) as b:
        text = "version: 1\nname: x\nlaunch: none\nscript: |\n  echo here\n"
        first, second = a.submit(text), b.submit(text)
        check_equal((a.wait(first), b.wait(second)), (0, 0), "both run")


def test_logs_keep_escapes_off_the_terminal_table():
    with Cluster(nodes=1, slots=1) as c:
        job = c.submit("""version: 1
name: escape
launch: none
script: |
  printf 'a\\033]0;title\\007b\\n'
""")
        check_equal(c.wait(job), 0, "wait")
        check(shutil.which("true"), "a shell tool")
        check("b" in c.log(job), f"log {c.log(job)!r}")


def test_job_that_can_never_run_is_refused_at_submit():
    with Cluster(nodes=2, slots=2) as c:
        path = os.path.join(c.work, "big.yaml")
        with open(path, "w") as file:
            file.write("version: 1\nname: big\nresources: {nodes: 100}\nlaunch: none\n"
                       "command: [\"true\"]\n")
        done = c.dtctl("submit", path)
        check(done.returncode not in (0, 1), f"exit {done.returncode}")
        check("100" in done.stderr and "2" in done.stderr, f"counts in: {done.stderr}")


def test_gang_waits_whole_and_why_says_so():
    with Cluster(nodes=2, slots=2) as c:
        hold = c.submit("""version: 1
name: hold
resources: {nodes: 1, ranks_per_node: 2}
launch: torch
script: |
  sleep 60
""")
        c.until_state(hold, ["running"])
        both = c.submit(ring())
        until(lambda: c.state(both) == "pending" or None, 5, "the gang waits")
        why = c.dtctl("why", both)
        check("resources" in why.stdout, f"why: {why.stdout}{why.stderr}")
        check_equal(c.ranks(both), {}, "no rank of a waiting gang")
        check_equal(c.dtctl("cancel", hold, "--yes").returncode, 0, "cancel")
        check_equal(c.wait(both), 0, "the gang runs when room is there")
