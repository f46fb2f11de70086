"""submit: files, options, ids, keys, and refusals with their place."""
import json
import os
import socket
import time

import harness
from fake_api import event, job, problem, sse
from harness import check, check_equal, test

TINY = """version: 1
name: tiny
resources:
  nodes: 2
launch: none
env:
  A: "1"
script: |
  echo hi
"""


def take(f):
    """Accept jobs; ids count on, a known key gets its first answer again."""
    answers, state = {}, {"next": 1}

    def post(request):
        key = request.headers["idempotency-key"]
        if key not in answers:
            count = request.json().get("count", 1)
            answers[key] = {"items": [{"id": f"j-{state['next'] + i:06d}"} for i in range(count)]}
            state["next"] += count
        return 201, answers[key]
    f.api.route("POST", "/v1/jobs", post)
    return answers


@test
def submit_prints_the_bare_id(f):
    take(f)
    path = f.write("tiny.yaml", TINY)
    _, out, err = f.run("submit", path, code=0)
    check_equal((out, err), ("j-000001\n", ""))
    body = f.api.seen[0].json()
    check_equal(body["spec"]["resources"], {"nodes": 2})
    check_equal(body["source"], TINY)
    check_equal(body["source_name"], path)
    check_equal(os.path.realpath(body["submit_dir"]), os.path.realpath(f.work))
    check("count" not in body and "dry_run" not in body, str(body))
    check_equal(len(f.api.seen[0].headers["idempotency-key"]), 36)


@test
def submit_says_what_next_on_a_terminal(f):
    take(f)
    code, text = f.terminal("submit", f.write("tiny.yaml", TINY))
    check_equal(code, 0, text)
    f.golden(text)
    check_equal(f.terminal("submit", "-q", f.write("tiny.yaml", TINY))[1], "j-000002\n")


@test
def submit_takes_several_files_and_counts(f):
    take(f)
    a, b = f.write("a.yaml", TINY), f.write("b.yaml", TINY.replace("tiny", "other"))
    check_equal(f.run("submit", a, b, code=0)[1], "j-000001\nj-000002\n")
    check_equal(f.run("submit", a, "--count", "3", code=0)[1], "j-000003\nj-000004\nj-000005\n")
    check_equal(f.api.seen[2].json()["count"], 3)
    made = json.loads(f.run("submit", a, "-o", "json", code=0)[1])
    check_equal(made, {"items": [{"id": "j-000006"}]})


@test
def submit_applies_options_to_the_file(f):
    take(f)
    path = f.write("tiny.yaml", TINY)
    f.run("submit", path, "--set", "resources.nodes=4", "--env", "B=x=y", "--env", "HERE",
          "--name", "renamed", "--after", "prep", "--after", "j-000007:any",
          env={"HERE": "from here"}, code=0)
    spec = f.api.seen[0].json()["spec"]
    check_equal(spec["resources"]["nodes"], 4)
    check_equal(spec["env"], {"A": "1", "B": "x=y", "HERE": "from here"})
    check_equal(spec["name"], "renamed")
    check_equal(spec["after"], [{"job": "prep", "on": "ok"}, {"job": "j-000007", "on": "any"}])
    f.run("submit", path, "--env", "NOT_SET_ANYWHERE", code=2)
    f.run("submit", path, "--env", "=x", code=2)


@test
def submit_names_a_job_after_its_file(f):
    take(f)
    f.run("submit", f.write("My_Job.v2.yaml", TINY.replace("name: tiny\n", "")), code=0)
    check_equal(f.api.seen[0].json()["spec"]["name"], "my-job")


@test
def submit_reads_standard_input(f):
    take(f)
    child = f.start("submit", "-")
    child.communicate()
    with open(f.write("tiny.yaml", TINY)) as file:
        import subprocess
        done = subprocess.run([os.path.join(harness.BUILD, "bin", "dtctl"), "submit", "-"],
                              env=f.env, cwd=f.work, stdin=file, capture_output=True, text=True)
    check_equal((done.returncode, done.stdout), (0, "j-000001\n"), done.stderr)


@test
def submit_refuses_wrong_files_with_their_lines(f):
    path = f.write("job.yaml", TINY.replace("nodes: 2", "nodess: 2\n  gpus_per_node: many"))
    f.run("submit", "job.yaml", code=3)
    f.run("submit", "job.yaml", "-o", "json", code=3)
    f.run("submit", "job.yaml", "--dry-run=client", code=3)
    f.write("tab.yaml", "version: 1\n\tname: x\n")
    f.run("submit", "tab.yaml", code=3)
    f.run("submit", "none.yaml", code=4)
    check_equal(len(f.api.seen), 0, "nothing reaches the server")
    del path
    f.golden()


@test
def submit_sends_nothing_when_one_of_the_files_is_wrong(f):
    take(f)
    f.write("good.yaml", TINY)
    f.write("bad.yaml", TINY.replace("nodes: 2", "nodes: two"))
    f.run("submit", "good.yaml", "bad.yaml", code=3)
    check_equal(len(f.api.seen), 0, "nothing reaches the server")


@test
def submit_wants_required_variables(f):
    take(f)
    f.write("job.yaml", TINY.replace('A: "1"', "A: null\n  B: null"))
    f.run("submit", "job.yaml", "--env", "B=2", code=3)
    f.run("submit", "job.yaml", "--env", "B=2", "--env", "A=1", code=0)
    f.golden()


@test
def submit_maps_refusals_of_the_server_to_lines(f):
    f.write("job.yaml", TINY)
    f.api.route("POST", "/v1/jobs", (422, problem(
        422, "invalid", "the specification has 2 problems", None,
        [{"path": "resources.nodes", "code": "cluster.never-fits", "severity": "error",
          "message": "needs 2 nodes, the fleet has 1", "help": "use 1", "suggestions": ["1"]},
         {"path": "env.A", "code": "x.y", "severity": "error", "message": "not so"}])))
    f.run("submit", "job.yaml", code=3)
    f.run("submit", "job.yaml", "--dry-run=server", code=3)
    check_equal(f.api.seen[1].json()["dry_run"], True)
    f.golden()


@test
def submit_dry_runs(f):
    f.write("job.yaml", TINY)
    f.api.route("POST", "/v1/jobs", (200, {"items": []}))
    f.run("submit", "--dry-run", "client", "job.yaml", code=0)
    check_equal(len(f.api.seen), 0, "the client's check asks nobody")
    f.run("submit", "--dry-run=server", "job.yaml", code=0)
    f.golden()


@test
def submit_if_possible_ends_with_14(f):
    f.write("job.yaml", TINY)
    f.api.route("POST", "/v1/jobs", (503, problem(
        503, "busy", "cannot start now: needs 1 nodes, 0 have room",
        "nothing was submitted; without --if-possible it would wait")))
    f.run("submit", "--if-possible", "job.yaml", code=14)
    check_equal(f.api.seen[0].json()["if_possible"], True)
    f.run("submit", "--if-possible", "--count", "2", "job.yaml", code=2)
    f.run("submit", "--if-possible", "--dry-run=server", "job.yaml", code=2)
    check_equal(len(f.api.seen), 1, "neither is sent")
    f.golden()


@test
def submit_retries_with_the_same_key(f):
    answers = take(f)
    f.write("job.yaml", TINY)
    route = f.api.routes[0][2]
    state = {"calls": 0}

    def lost(request):
        state["calls"] += 1
        answer = route(request)
        return None if state["calls"] <= 3 else answer  # stored, but the answer is lost
    f.api.route("POST", "/v1/jobs", lost)
    check_equal(f.run("submit", "job.yaml", "--retry", "10s", code=0)[1], "j-000001\n")
    check_equal(len(answers), 1, "one job")


@test
def submit_in_doubt_names_its_key(f):
    f.write("job.yaml", TINY)
    f.api.route("POST", "/v1/jobs", None)
    _, out, err = f.run("submit", "job.yaml", code=8)
    check_equal(out, "")
    key = f.api.seen[0].headers["idempotency-key"]
    check(f"--req-id {key}" in err, err)
    take(f)
    check_equal(f.run("submit", "job.yaml", "--req-id", key, code=0)[1], "j-000001\n")
    check_equal(f.api.seen[-1].headers["idempotency-key"], key)


@test
def submit_to_a_dead_controller_fails_within_a_second(f):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(f.socket)
    begin = time.monotonic()
    f.run("submit", f.write("job.yaml", TINY), code=8)
    check(time.monotonic() - begin < 1, "within 1 s")


@test
def submit_wait_returns_the_jobs_code(f):
    take(f)
    f.write("job.yaml", TINY)
    state = {"job": job(1)}
    f.api.route("GET", "/v1/jobs/([^/]+)", lambda request, name: (200, state["job"]))

    def stream(request):
        yield sse(event(8, what="restarted", text="rank 1 was killed"))
        state["job"] = job(1, state="failed")
        yield sse(event(9, what="failed", text="restart.max is reached", state="failed"))
        time.sleep(30)
    f.api.route("GET", "/v1/watch", stream)
    _, out, err = f.run("submit", "job.yaml", "--wait", code=10)
    check_equal(out, "j-000001\n")
    check("j-000001 failed" in err and "restarted" not in err, err)
    state["job"] = job(1)
    _, out, err = f.run("submit", "job.yaml", "--follow", code=10)
    check("restarted: rank 1 was killed" in err, err)


@test
def explain_answers_from_the_same_table(f):
    check("resources" in f.run("explain", code=0)[1], "top")
    check("restart" in f.run("explain", "restart.rules", code=0)[1], "rules")
    f.run("explain", "resources.nodez", code=4)
    schema = json.loads(f.run("explain", "--schema", code=0)[1])
    check("resources" in schema["properties"], "schema")
    check(f.run("explain", "--man", code=0)[1].startswith(".TH"), "man")
