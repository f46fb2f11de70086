"""wait, submit --wait and --follow: pushed, with the exit status of the job."""
import signal
import time

from cases_jobs import result
from fake_api import event, instant, job, sse
from harness import check, check_equal, test


def ends(state, **more):
    return job(1, state=state, started=instant(3725), finished=instant(3600), **more)


@test
def wait_tells_each_end_by_its_code(f):
    rows = [(ends("succeeded"), 0),
            (ends("failed", result=result()), 10),
            (ends("cancelled", result=result(cause="cancel", exit=11, reason="by ana")), 11),
            (ends("failed", result=result(cause="time-limit", exit=12, reason="ran 10m")), 12),
            (ends("expired", result=result(cause="queue-time", exit=12, reason="waited")), 12),
            (ends("failed", result=result(cause="node_lost", exit=13, reason="n2 is gone")), 13)]
    for made, code in rows:
        f.api.route("GET", "/v1/jobs/([^/]+)", (200, made))
        f.run("wait", "train", code=code)
        del made["result"]
    f.run("wait", "train", "j-000001", code=10)
    f.golden()


@test
def wait_is_pushed_not_polled(f):
    state = {"job": job(1)}
    f.api.route("GET", "/v1/jobs/([^/]+)", lambda request, name: (200, state["job"]))

    def stream(request):
        yield sse(event(8, what="checkpoint", text="step 150"))
        time.sleep(1.5)
        state["job"] = ends("succeeded")
        yield sse(event(9, what="succeeded", state="succeeded"))
        time.sleep(30)
    f.api.route("GET", "/v1/watch", stream)
    begin = time.monotonic()
    f.run("wait", "j-000001", code=0)
    check(time.monotonic() - begin < 4, "ends with the event")
    asked = [seen.path for seen in f.api.seen]
    check_equal(asked, ["/v1/jobs/j-000001", "/v1/watch", "/v1/jobs/j-000001"])
    check_equal(f.api.seen[1].query, {"job": "j-000001", "from": "7"})


@test
def wait_times_out_with_124(f):
    f.api.route("GET", "/v1/jobs/([^/]+)", (200, job(1)))

    def stream(request):
        time.sleep(30)
        yield b""
    f.api.route("GET", "/v1/watch", stream)
    begin = time.monotonic()
    f.run("wait", "j-000001", "--timeout", "700ms", code=124)
    check(0.6 < time.monotonic() - begin < 3, "after its time")
    f.golden()


@test
def wait_reads_again_after_resync(f):
    state = {"job": job(1)}
    f.api.route("GET", "/v1/jobs/([^/]+)", lambda request, name: (200, state["job"]))

    def stream(request):
        time.sleep(0.3)
        state["job"] = ends("cancelled")
        yield b"event: resync\ndata: {}\n\n"
        time.sleep(30)
    f.api.route("GET", "/v1/watch", stream)
    f.run("wait", "j-000001", code=11, timeout=5)


@test
def wait_survives_a_restart_of_the_controller(f):
    state = {"job": job(1), "streams": 0}
    f.api.route("GET", "/v1/jobs/([^/]+)", lambda request, name: (200, state["job"]))

    def stream(is_last):
        yield b": hello\n\n"
        time.sleep(30 if is_last else 0)

    def watch(request):
        state["streams"] += 1
        if state["streams"] == 3:
            state["job"] = ends("succeeded")
        return stream(state["streams"] == 3)
    f.api.route("GET", "/v1/watch", watch)
    f.run("wait", "j-000001", code=0, timeout=10)
    check(state["streams"] >= 3, "reconnects")


@test
def wait_of_several_gives_the_first_that_did_not_succeed(f):
    states = {"j-000001": "running", "j-000002": "running", "j-000003": "succeeded"}

    def one(request, name):
        return 200, job(int(name[2:]), state=states[name])
    f.api.route("GET", "/v1/jobs/([^/]+)", one)

    def stream(request):
        for seq, name, state in ((8, "j-000002", "cancelled"), (9, "j-000001", "failed")):
            states[name] = state
            yield sse(event(seq, name, state=state))
        time.sleep(30)
    f.api.route("GET", "/v1/watch", stream)
    _, out, _ = f.run("wait", "j-000003", "j-000001", "j-000002", code=10)
    check_equal(out, "j-000003 succeeded\nj-000002 cancelled\nj-000001 failed\n")


@test
def wait_for_an_unknown_job_is_not_found(f):
    f.api.route("GET", "/v1/jobs", (200, {"items": [], "next": None}))
    f.run("wait", "j-000001", code=4)


@test
def wait_detaches_on_ctrl_c(f):
    f.api.route("GET", "/v1/jobs/([^/]+)", (200, job(1)))

    def stream(request):
        time.sleep(30)
        yield b""
    f.api.route("GET", "/v1/watch", stream)
    child = f.start("wait", "j-000001")
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=5)
    f.note(("wait", "j-000001", "(Ctrl-C)"), out.decode(), err.decode(), child.returncode)
    check_equal(child.returncode, 130)
    f.golden()


@test
def wait_shows_a_bar_on_a_terminal(f):
    state = {"step": 10}

    def one(request, name):
        state["step"] += 40
        over = state["step"] > 200
        step = min(state["step"], 200)
        return 200, job(1, state="succeeded" if over else "running",
                        progress={"step": step, "steps": 200, "loss": "2.5",
                                  "tokens": step * 1024, "phase": "train"})
    f.api.route("GET", "/v1/jobs/([^/]+)", one)

    def stream(request):
        time.sleep(30)
        yield b""
    f.api.route("GET", "/v1/watch", stream)
    code, text = f.terminal("wait", "j-000001")
    check_equal(code, 0, text)
    check("step 50/200" in text and "#" in text and "tokens/s" in text, text)
    check("j-000001 succeeded" in text, text)
