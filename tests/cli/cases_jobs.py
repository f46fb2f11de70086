"""ls, show, describe, why, cancel, events, logs."""
import json
import time

from fake_api import DAY, event, instant, job, problem, sse
from harness import check, check_equal, test

HOSTILE = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b31m\u202eevil\u2066\r\n"


def result(**changes):
    made = {"cause": "exit", "code": 1, "signal": 0, "rank": 1, "node": "n2",
            "reason": "rank 1 on n2 exited with 1", "excerpt": "Traceback\nValueError: x",
            "exit": 10}
    made.update(changes)
    return made


def some_jobs():
    failed = job(3, name="eval", state="failed", reason="exit", gen=3,
                 finished=instant(3 * DAY), result=result(),
                 restarts={"total": 2, "counted": 2, "max": 10})
    pending = job(2, name="big", state="pending", reason="resources", gen=0, nodes=64, ranks=512,
                  started=None, progress=None, checkpoint=None, members=[],
                  submitted=instant(5 * DAY + 1900))
    return [job(1), pending, failed]


def serve_jobs(f, jobs):
    def listed(request):
        states = request.query.get("state")
        items = [one for one in jobs if not states or one["state"] in states.split(",")]
        start, limit = int(request.query.get("cursor", 0)), int(request.query["limit"])
        more = len(items) > start + limit
        return 200, {"items": items[start:start + limit],
                     "next": str(start + limit) if more else None}

    def one(request, name):
        found = [item for item in jobs if name in (item["id"], item["name"])]
        if not found:
            return 404, problem(404, "not-found", f"no job \"{name}\"", "all jobs: dtctl ls --all")
        return 200, found[-1]
    f.api.route("GET", "/v1/jobs", listed)
    f.api.route("GET", "/v1/jobs/([^/]+)", one)


@test
def ls_draws_a_table(f):
    serve_jobs(f, some_jobs())
    f.run("ls", code=0)
    f.run("ls", "--all", code=0)
    f.run("ls", "-a", "-o", "wide", code=0)
    f.run("ls", "-a", "-o", "name", code=0)
    f.run("ls", "-a", "--no-headers", "--sort", "-age", code=0)
    f.run("ls", "-a", "--sort", "state", code=0)
    f.run("ls", "-a", "--sort", "colour", code=2)
    f.golden()


@test
def ls_speaks_json_and_yaml(f):
    serve_jobs(f, some_jobs())
    made = json.loads(f.run("ls", "--all", "-o", "json", code=0)[1])
    check_equal([item["id"] for item in made["items"]], ["j-000001", "j-000002", "j-000003"])
    check_equal(made["next"], None)
    f.text = ""
    f.run("ls", "--state", "failed", "-o", "yaml", code=0)
    f.golden()


@test
def ls_says_when_it_is_cut_and_reads_pages(f):
    serve_jobs(f, [job(number) for number in range(1, 2502)])
    _, out, err = f.run("ls", "--limit", "3", "--no-headers", code=0)
    check_equal(len(out.splitlines()), 3)
    check("only the first 3" in err, err)
    _, out, err = f.run("ls", "--limit", "2400", "--no-headers", code=0)
    check_equal(len(out.splitlines()), 2400)
    _, out, err = f.run("ls", "--limit", "9000", "-o", "name", code=0)
    check_equal(len(out.splitlines()), 2501)
    check_equal(err, "", "complete")


@test
def ls_without_jobs_says_where_to_look(f):
    serve_jobs(f, [])
    f.run("ls", code=0)
    f.run("ls", "--all", code=0)
    f.run("ls", "-o", "json", code=0)
    f.golden()


@test
def ls_neutralises_names_in_tables(f):
    serve_jobs(f, [job(1, name=HOSTILE, reason="two\nlines")])
    out = f.run("ls", code=0)[1]
    check_equal(len(out.splitlines()), 2, "one line a job")
    for bad in ("\x1b", "\x9b", "\u202e", "\u2066", "\x07", "\r"):
        check(bad not in out, f"{bad!r} in {out!r}")
    f.golden()


@test
def ls_is_the_same_under_the_c_locale(f):
    serve_jobs(f, some_jobs())
    utf = f.run("ls", "--all", code=0)[1]
    plain = f.run("ls", "--all", env={"LC_ALL": "C"}, code=0)[1]
    comma = f.run("ls", "--all", env={"LC_ALL": "de_DE.UTF-8"}, code=0)[1]
    check_equal(plain, utf, "C")
    check_equal(comma, utf, "a locale with decimal commas")


@test
def ls_keeps_letters_of_other_alphabets(f):
    serve_jobs(f, [job(1, reason="größer als √2"), job(2)])
    f.run("ls", code=0)
    f.run("ls", env={"LC_ALL": "C"}, code=0)
    f.golden()


@test
def ls_is_never_cut_in_a_pipe(f):
    long = "x" * 60
    serve_jobs(f, [job(1, name=long, reason="y" * 100)])
    out = f.run("ls", env={"COLUMNS": "20"}, code=0)[1]
    check(long in out and "y" * 100 in out, out)


@test
def ls_has_colours_only_on_a_terminal(f):
    serve_jobs(f, some_jobs())
    check("\x1b[" in f.terminal("ls", "--all")[1], "colours on a terminal")
    check("\x1b[" not in f.terminal("ls", "--all", env={"NO_COLOR": "1"})[1], "NO_COLOR")
    check("\x1b[" not in f.terminal("ls", "--all", env={"TERM": "dumb"})[1], "dumb terminal")
    check("\x1b[" not in f.run("ls", "--all")[1], "pipe")


@test
def show_takes_ids_and_names(f):
    serve_jobs(f, some_jobs())
    f.run("show", "j-000001", "eval", code=0)
    f.run("show", "nosuch", "j-000002", code=4)
    made = json.loads(f.run("show", "train", "-o", "json", code=0)[1])
    check_equal(made["id"], "j-000001")
    f.text = f.text[:f.text.index("$ dtctl show train")]
    f.golden()


@test
def show_prints_the_job_file(f):
    resolved = {"version": 1, "name": "train", "resources": {"nodes": 2, "gpu_type": []},
                "script": "echo hi\nexit 0\n", "env": {"A": "1", "B": "yes"},
                "trainer": {"optimizer": {"lr": 0.003}, "betas": [0.9, 0.95]},
                "restart": {"rules": [{"on": "xid", "codes": [48, 64]}, {"on": "exit"}]}}
    source = "version: 1  # mine\nname: train\n"
    f.api.route("GET", "/v1/jobs/([^/]+)/spec", lambda request, name: (
        200, {"resolved": resolved, "source": source if "source" in request.query else None}))
    f.run("show", "j-000001", "-o", "yaml", code=0)
    f.run("show", "j-000001", "--source", code=0)
    f.golden()


WHY = {"schema_version": 1, "job": "j-000002", "state": "pending", "since": "2026-12-01T08:00:12Z",
       "primary": "topology",
       "funnel": [{"step": "all nodes", "nodes": 128}, {"step": "gpu_type gb200-nvl72", "nodes": 96},
                  {"step": "healthy", "nodes": 90, "lost": {"drained": 4, "quarantined": 2}},
                  {"step": "free or free by backfill", "nodes": 41},
                  {"step": "largest group in one NVLink domain (rack)", "nodes": 6, "needed": 8}],
       "blockers": [{"code": "topology", "text": "a TP32 group needs 8 four-GPU trays"},
                    {"code": "quota", "text": "project holds 480 of 512 GPUs", "over_by": 32}],
       "ahead": {"jobs": 3, "gpus": 192},
       "eta": {"earliest": "2026-12-01T10:10:00Z", "basis": "time limits", "confidence": "low"},
       "would_start_now_with": [{"set": ["resources.nodes=8", "topology.mode=prefer"]}],
       "evaluated_at": "2026-12-01T08:31:07Z", "cycle": 90211}


@test
def why_explains_waiting_and_failing(f):
    jobs = some_jobs()
    serve_jobs(f, jobs)
    f.api.route("GET", "/v1/jobs/(?:big|j-000002)/why", (200, WHY))
    f.api.route("GET", "/v1/jobs/(?:eval|j-000003)/why",
                (200, {"job": "j-000003", "state": "failed", "blockers": [], "funnel": []}))
    f.run("why", "big", code=0)
    f.run("why", "j-000003", code=0)
    f.run("why", "nosuch", code=4)
    check_equal(json.loads(f.run("why", "big", "-o", "json", code=0)[1]), WHY)
    f.text = f.text[:f.text.index("$ dtctl why big -o")]
    f.golden()


@test
def describe_is_one_page(f):
    jobs = some_jobs()
    jobs[2]["labels"] = {"team": "pre\x1b[31m", "run": "a"}
    serve_jobs(f, jobs)
    f.api.route("GET", "/v1/jobs/([^/]+)/why", lambda request, name: (
        200, {"job": name, "state": "failed", "blockers": [], "funnel": []}))
    f.api.route("GET", "/v1/jobs/([^/]+)/events", lambda request, name: (
        200, {"items": [event(seq, name) for seq in range(1, 13)], "next": None}))
    f.run("describe", "j-000001", code=0)
    f.run("describe", "eval", code=0)
    f.golden()


@test
def cancel_reports_each_job(f):
    def cancel(request, name):
        if name == "j-000009":
            return 404, problem(404, "not-found", "no job j-000009")
        if name == "twin":
            return 409, problem(409, "conflict", "two live jobs are named \"twin\"",
                                "j-000004, j-000005")
        return 202, job(int(name[2:]), state="stopping")
    f.api.route("POST", "/v1/jobs/([^/]+)/cancel", cancel)
    f.run("cancel", "j-000001", code=0)
    f.run("cancel", "j-000001", "j-000009", "j-000002", "--grace", "5s", code=4)
    f.run("cancel", "twin", code=6)
    check_equal(f.api.seen[1].json(), {"grace_ms": 5000})
    check_equal(f.api.seen[0].json(), {})
    check(all("idempotency-key" in seen.headers for seen in f.api.seen), "keys")
    f.golden()


@test
def cancel_asks_only_on_a_terminal(f):
    f.api.route("POST", "/v1/jobs/([^/]+)/cancel",
                lambda request, name: (202, job(int(name[2:]), state="stopping")))
    code, text = f.terminal("cancel", "j-000001", keys=(b"[y/N]", b"n\n"))
    check_equal(code, 130, text)
    check_equal(len(f.api.seen), 0, "nothing was sent")
    code, text = f.terminal("cancel", "j-000001", keys=(b"[y/N]", b"y\n"))
    check_equal(code, 0, text)
    code, text = f.terminal("cancel", "--yes", "j-000001")
    check("[y/N]" not in text, text)


def serve_events(f, count=12):
    items = [event(seq, gen=1 + seq // 8, what="progress" if seq % 2 else "started",
                   text=f"word {seq}") for seq in range(1, count + 1)]

    def page(request, name):
        start, limit = int(request.query.get("from", 0)), int(request.query.get("limit", 100))
        found = [item for item in items if int(item["seq"]) >= start][:limit]
        more = found and int(found[-1]["seq"]) < count
        return 200, {"items": found, "next": str(int(found[-1]["seq"]) + 1) if more else None}
    f.api.route("GET", "/v1/jobs/([^/]+)/events", page)
    return items


@test
def events_in_their_forms(f):
    serve_events(f)
    f.run("events", "j-000001", code=0)
    f.run("events", "j-000001", "--limit", "2", "-o", "wide", code=0)
    f.run("events", "j-000001", "--limit", "1", "-o", "json", code=0)
    check_equal(len(json.loads(f.run("events", "x", "-o", "json", code=0)[1])["items"]), 12)
    f.text = f.text[:f.text.index("$ dtctl events x")]
    f.golden()


@test
def events_follow_until_interrupted(f):
    serve_events(f, 2)

    def stream():
        yield b": hello\n\n"
        yield sse(event(3, what="finished", text="well"))
        time.sleep(30)
    f.api.route("GET", "/v1/watch", lambda request: stream())
    child = f.start("events", "-f", "j-000001", "--no-headers")
    time.sleep(1)
    child.terminate()
    out, _ = child.communicate(timeout=10)
    check_equal(child.returncode, 143)
    check(b"finished: well" in out, out.decode())
    check_equal(f.api.seen[-1].query, {"job": "j-000001", "from": "2"})


def serve_logs(f, texts, gen=1):
    """texts: {(gen, rank): bytes}"""
    def logs(request, name):
        key = int(request.query["gen"]), int(request.query["rank"])
        if key not in texts:
            return 404, problem(404, "not-found", f"no log of rank {key[1]}, generation {key[0]}")
        data = texts[key]
        start = int(request.query.get("offset", 0))
        if "tail" in request.query:
            lines = data.splitlines(True)
            count = int(request.query["tail"])
            start = len(data) - sum(map(len, lines[len(lines) - count:])) if count else len(data)
        piece = data[start:start + min(int(request.query["limit"]), 1000)]
        end = start + len(piece)
        return 200, piece, {"Dt-Offset": start, "Dt-Next": end, "Dt-Gen": key[0],
                            "Dt-Rank": key[1], "Dt-Eof": int(end >= len(data))}
    serve_jobs(f, [job(1, gen=gen)])
    f.api.route("GET", "/v1/jobs/([^/]+)/logs", logs)


@test
def logs_of_one_rank_are_the_bytes_as_written(f):
    data = b"first\nsecond \xff\x1b[31m\r\nno end" + b"x" * 3000
    serve_logs(f, {(1, 0): data, (1, 1): b"other\n"})
    child = f.start("logs", "train", "--rank", "0")
    out, err = child.communicate(timeout=10)
    check_equal((child.returncode, out, err), (0, data, b""))


@test
def logs_of_several_ranks_have_prefixes(f):
    serve_logs(f, {(1, 0): b"a\nb\nc\n", (1, 1): b"x\nloss 3\n",
                   (2, 0): b"again\n", (2, 1): b"again, too"}, gen=2)
    f.run("logs", "train", code=0)
    f.run("logs", "train", "--generation", "1", code=0)
    f.run("logs", "train", "--generation", "all", code=0)
    f.run("logs", "train", "-g", "1", "--tail", "1", "--no-prefix", code=0)
    f.run("logs", "train", "-g", "1", "--grep", "^(a|loss)", code=0)
    f.run("logs", "train", "-g", "3", code=4)
    f.run("logs", "train", "--rank", "2", code=4)
    f.run("logs", "train", "--rank", "x", code=2)
    f.run("logs", "train", "--grep", "(", code=2)
    f.golden()


@test
def logs_before_the_start_are_not_found(f):
    serve_logs(f, {}, gen=0)
    f.run("logs", "j-000001", code=4)
    f.golden()


@test
def logs_are_harmless_on_a_terminal(f):
    data = ("\x1b]52;c;ZXZpbA==\x07 osc52\n\x1b]8;;http://x\x1b\\ osc8\n\x1b]0;title\x07\n"
            "\x1b[?1049h decset\n\u009b31m c1\n\u202e bidi \u2066\nbar 1\rbar 2\r\nend\n").encode()
    serve_logs(f, {(1, 0): data + b"\x9b raw c1 \xff\n" + b"y" * 1000000 + b"\n"})
    code, text = f.terminal("logs", "train", "--rank", "0")
    check_equal(code, 0)
    for bad in ("\x1b", "\x9b", "\u202e", "\u2066", "\x07", "\r"):
        check(bad not in text, f"{bad!r} reaches the terminal")
    check("bar 1\nbar 2\nend" in text, "a carriage return ends a line")
    check(text.count("y") >= 1000000, "a line of 1 MB comes whole")
    f.golden(text[:text.index("yyy")])
    check("\x1b]52" in f.terminal("logs", "train", "--rank", "0", "--raw")[1], "--raw opts out")


@test
def logs_follow_into_the_next_generation_and_end_with_the_job(f):
    texts = {(1, 0): b"one\n"}
    serve_logs(f, texts)
    state = {"job": job(1, ranks=1)}
    f.api.route("GET", "/v1/jobs/([^/]+)", lambda request, name: (200, state["job"]))
    child = f.start("logs", "-f", "train", "--rank", "0")
    time.sleep(0.4)
    texts[(1, 0)] += b"two\n"
    time.sleep(1.2)
    texts[(2, 0)] = b"three\n"
    state["job"] = job(1, ranks=1, gen=2)
    time.sleep(1.2)
    texts[(2, 0)] += b"four"
    state["job"] = job(1, ranks=1, gen=2, state="succeeded")
    out, err = child.communicate(timeout=10)
    check_equal(child.returncode, 0, err.decode())
    check_equal(out, b"one\ntwo\nthree\nfour")
    check(b"generation 2" in err, err.decode())


@test
def logs_follow_detaches_on_ctrl_c(f):
    serve_logs(f, {(1, 0): b"one\n"})
    code, text = f.terminal("logs", "-f", "train", "--rank", "0", keys=(b"one", b"\x03"))
    check_equal(code, 130, text)
    check("still running" in text and "dtctl cancel j-000001" in text, text)


@test
def logs_of_many_ranks_show_the_first_and_the_failed(f):
    serve_logs(f, {(1, rank): f"rank {rank}\n".encode() for rank in range(100)})
    f.api.route("GET", "/v1/jobs/([^/]+)", (200, job(1, ranks=100, result=result(rank=42))))
    f.run("logs", "train", code=0)
    f.run("logs", "train", "--rank", "3,7-9", code=0)
    f.golden()


