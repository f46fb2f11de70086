"""Finding the cluster, help, exit codes, versions, nodes."""
import json
import os
import shutil
import signal
import socket
import subprocess
import time

import harness
from fake_api import node, problem
from harness import check, check_equal, test


@test
def alone_prints_the_first_day(f):
    f.run(code=0)
    f.golden()


@test
def help_lists_all_commands(f):
    f.run("help", code=0)
    f.golden()


@test
def help_of_a_command_in_three_ways(f):
    texts = [f.run(*words, code=0)[1] for words in
             (("help", "nodes", "drain"), ("nodes", "drain", "--help"), ("nodes", "drain", "-h"))]
    check_equal(len(set(texts)), 1, "three ways, one text")
    check(texts[0].startswith("usage: dtctl nodes drain"), texts[0])


@test
def unknown_commands_and_options_are_usage_errors(f):
    f.run("sumbit", code=2)
    f.run("nodes", "dran", code=2)
    f.run("xyzzy", code=2)
    f.run("ls", "--limt", "3", code=2)
    f.run("ls", "--limit", "many", code=2)
    f.run("ls", "extra", code=2)
    f.run("ls", "-o", "xml", code=2)
    f.run("show", code=2)
    f.golden()


@test
def man_and_completion_come_from_the_tables(f):
    man = f.run("--man", code=0)[1]
    check(man.startswith(".TH dtctl 1"), man[:80])
    for shell in ("bash", "zsh", "fish"):
        text = f.run("completion", shell, code=0)[1]
        check("dtctl" in text and "submit" in text, text[:200])
    f.run("completion", "csh", code=2)
    bash = subprocess.run(["bash", "-n"], input=f.run("completion", "bash")[1], text=True,
                          capture_output=True)
    check_equal(bash.returncode, 0, bash.stderr)


@test
def bash_completes_whole_words_only(f):
    script = f.run("completion", "bash", code=0)[1]

    def offered(*words):
        line = " ".join(f"'{word}'" for word in ("dtctl", *words))
        done = subprocess.run(
            ["bash", "--norc", "-c", f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words)}\n"
             "_dtctl; printf '%s\\n' \"${COMPREPLY[@]}\""], text=True, capture_output=True,
            cwd=f.dir)
        check_equal(done.stderr, "", "no complaint")
        return done.stdout.split()
    first = offered("")
    check_equal(first.count("nodes"), 1, str(first))
    check_equal(offered("ex"), ["explain"], "a prefix")
    check("--if-possible" in offered("submit", "--"), "options of submit")
    check("--slots" not in offered("upgrade", "--"), "up is not upgrade")
    check("--slots" in offered("up", "--"), "options of up")
    check("drain" in offered("nodes", ""), "the second word")
    check("--deadline" not in offered("nodes", "ls", "--") and
          "--output" in offered("nodes", "ls", "--"), "options of two words")
    check_equal(offered("ls", "-o", "j"), ["json"], "a closed list of values")


@test
def zsh_reads_its_completion(f):
    if not shutil.which("zsh"):
        raise harness.Skipped("zsh is not installed")
    script = f.run("completion", "zsh", code=0)[1]

    def offered(*words):
        stubs = ("compdef() { }\n_describe() { print -l -- ${(P)2} }\n"
                 "_arguments() { print -r -- \"$CURRENT $words[1] $*\" }\n")
        line = " ".join(f"'{word}'" for word in ("dtctl", *words))
        done = subprocess.run(
            ["zsh", "-f", "-c", f"{stubs}{script}\nwords=({line}); CURRENT={len(words) + 1}\n"
             "_dtctl"], text=True, capture_output=True, cwd=f.dir)
        check_equal(done.stderr, "", "no complaint")
        return done.stdout
    first = offered("")
    check("submit:" in first and first.count("nodes:") == 1, first)
    second = offered("nodes", "dr")
    check("drain:" in second and "submit:" not in second, second)
    check(offered("nodes", "drain", "--").startswith("2 drain "), offered("nodes", "drain", "--"))
    check("--if-possible[" in offered("submit", "--"), offered("submit", "--"))
    check("--slots[" in offered("up", "--"), "options of up")


@test
def manual_page_has_no_lines_lost_to_roff(f):
    page = f.run("--man", code=0)[1]
    for part in (".SH DESCRIPTION", ".B 10\n", ".B 13\n", ".B 130\n", ".B 14\n"):
        check(part in page, part)
    known = (".TH", ".SH", ".SS", ".TP", ".B", ".PP", ".nf", ".fi")
    for line in page.splitlines():
        check(line[:1] not in (".", "'") or line.split()[0] in known, line)


@test
def no_cluster_says_so_and_offers_up(f):
    env = {"DT_CONTEXT": "", "XDG_RUNTIME_DIR": os.path.join(f.dir, "empty")}
    if os.path.exists("/run/dt/api.sock"):
        raise harness.Skipped("a system cluster is here")
    begin = time.monotonic()
    f.run("ls", env=env, code=8)
    f.run("ls", "--context", "nosuch", code=8)
    check(time.monotonic() - begin < 2, "must be quick")
    f.golden()


@test
def dead_controller_is_reported_within_a_second(f):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(f.socket)
    begin = time.monotonic()
    f.run("ls", code=8)
    check(time.monotonic() - begin < 1, "within 1 s")
    f.golden()


@test
def full_backlog_is_reported_within_two_seconds(f):
    with socket.socket(socket.AF_UNIX) as deaf, socket.socket(socket.AF_UNIX) as first, \
            socket.socket(socket.AF_UNIX) as second:
        deaf.bind(f.socket)
        deaf.listen(0)
        first.setblocking(False)
        second.setblocking(False)
        for s in (first, second):
            try:
                s.connect(f.socket)
            except BlockingIOError:
                pass
        begin = time.monotonic()
        f.run("ls", code=8)
        check(time.monotonic() - begin < 2, "within 2 s")


@test
def retry_waits_for_a_controller_that_comes_back(f):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(f.socket)
    child = f.start("ls", "--retry", "10s", "--all")
    time.sleep(0.3)
    os.unlink(f.socket)
    f.api.route("GET", "/v1/jobs", (200, {"items": [], "next": None}))
    out, err = child.communicate(timeout=10)
    check_equal(child.returncode, 0, err.decode())
    check_equal(out, b"", "nothing on stdout")


@test
def directory_open_to_others_is_refused(f):
    f.api.route("GET", "/v1/jobs", (200, {"items": [], "next": None}))
    os.chmod(os.path.dirname(f.socket), 0o755)
    f.run("ls", code=5)
    f.golden()


@test
def several_clusters_must_be_chosen_from(f):
    f.api.route("GET", "/v1/jobs", (200, {"items": [], "next": None}))
    os.makedirs(os.path.join(f.dir, "run", "dt", "other"), mode=0o700)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(os.path.join(f.dir, "run", "dt", "other", "api.sock"))
    f.run("ls", env={"DT_CONTEXT": ""}, code=2)
    f.run("--context", "fake", "ls", env={"DT_CONTEXT": ""}, code=0)
    f.run("ls", "-c", "fake", env={"DT_CONTEXT": ""}, code=0)
    f.golden()


@test
def only_running_cluster_is_found_without_a_name(f):
    f.api.route("GET", "/v1/jobs", (200, {"items": [], "next": None}))
    f.run("ls", env={"DT_CONTEXT": ""}, code=0)


@test
def each_refusal_has_its_exit_code(f):
    rows = [(500, "internal", 1), (400, "usage", 2), (422, "invalid", 3), (404, "not-found", 4),
            (403, "denied", 5), (409, "conflict", 6), (429, "quota", 7), (503, "unreachable", 8),
            (503, "busy", 14), (422, "unsupported", 3), (409, "stale", 6)]
    for status, code, exit_code in rows:
        f.api.route("GET", "/v1/jobs",
                    (status, problem(status, code, f"detail of {code}", "what to do")))
        f.run("ls", code=exit_code)
    f.golden()


@test
def error_pages_that_are_no_json_are_named(f):
    f.api.route("GET", "/v1/jobs", (413, b"<html>too large</html>"))
    f.run("ls", code=3)
    f.api.route("GET", "/v1/jobs", (502, b"<html>bad gateway</html>"))
    f.run("ls", code=8)
    f.golden()


@test
def garbage_instead_of_an_answer_is_no_crash(f):
    for junk in (b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}",
                 b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", b"\0\0\0\0",
                 b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                 b"HTTP/1.1 200 OK\r\n\r\nnot json", b"HTTP/1.1 200 OK\r\n\r\n{\"items\": 7}"):
        f.api.route("GET", "/v1/jobs", junk)
        code, _, err = f.run("ls")
        check(code == 1, f"{junk!r}: exit {code}")
        check(err.startswith("dtctl: "), err)
    f.api.route("GET", "/v1/jobs", None)
    f.run("ls", code=8)
    f.golden()


@test
def version_of_both_sides(f):
    f.api.route("GET", "/v1/version", (200, {"version": "0.1.0", "commit": "abc"}))
    f.run("version", code=0)
    made = json.loads(f.run("version", "-o", "json", code=0)[1])
    check_equal(made["server"]["version"], "0.1.0")
    f.run("version", "--client", code=0)
    f.golden()


@test
def version_without_a_cluster_still_answers(f):
    f.run("version", env={"DT_CONTEXT": "nosuch"}, code=0)
    f.golden()


@test
def nodes_in_tables(f):
    gpu = [{"kind": "gpu", "id": f"GPU-{i}", "type": "a100-80gb-sxm", "domain": "n3",
            "state": "free" if i else "unhealthy", "job": None, "gen": 0} for i in range(4)]
    nodes = [node("n1"), node("n2", state="draining", wish="draining", reason="fan \x1b[31mloud"),
             node("n3", devices=gpu, state="down", heard_ms_ago=90061000)]
    f.api.route("GET", "/v1/nodes", (200, {"items": nodes}))
    f.api.route("GET", "/v1/nodes/n1", (200, nodes[0]))
    f.run("nodes", code=0)
    f.run("nodes", "ls", "-o", "wide", "--sort", "-name", code=0)
    f.run("nodes", "ls", "-o", "name", code=0)
    f.run("nodes", "ls", "--limit", "1", "--no-headers", code=0)
    f.run("nodes", "show", "n1", code=0)
    f.run("nodes", "show", "n9", code=4)
    f.run("nodes", "types", code=0)
    f.run("nodes", "types", "-o", "json", code=0)
    f.golden()


@test
def nodes_take_wishes(f):
    def wish(request, name, word):
        if name == "n9":
            return 404, problem(404, "not-found", "no node n9")
        reason = request.json().get("reason")
        return 200, node(name, state={"cordon": "cordoned", "drain": "draining",
                                      "resume": "up"}[word], reason=reason)
    f.api.route("POST", "/v1/nodes/([^/]+)/(cordon|drain|resume)", wish)
    f.run("nodes", "drain", "n1", "n9", "n2", "--reason", "new fans", code=4)
    f.run("nodes", "cordon", "n1", code=0)
    f.run("nodes", "resume", "n1", code=0)
    check_equal(f.api.seen[0].json(), {"reason": "new fans"})
    check(all("idempotency-key" in seen.headers for seen in f.api.seen), "keys")
    f.golden()


@test
def doctor_checks_and_grades(f):
    f.api.route("GET", "/v1/version", (200, {"version": "0.1.0"}))
    code, out, _ = f.run("doctor", "-o", "json")
    made = json.loads(out)
    check_equal(code, 1 if made["fails"] else 0)
    names = {item["check"]: item for item in made["items"]}
    for name in ("dtserver", "redis-server", "libevent", "cgroup", "/dev/shm", "file limit",
                 "port 7480", "infiniband", "cluster"):
        check(name in names, f"no check {name}")
        check(names[name]["state"] in ("ok", "warn", "fail"), str(names[name]))
    check_equal(names["cluster"]["state"], "ok")
    for item in made["items"]:
        check(item["state"] == "ok" or item["remedy"], f"no remedy: {item}")


@test
def up_with_a_broken_server_shows_its_log(f):
    bin_dir = os.path.join(f.dir, "bin")
    os.makedirs(bin_dir)
    os.link(os.path.join(harness.BUILD, "bin", "dtctl"), os.path.join(bin_dir, "dtctl")) \
        if os.stat(f.dir).st_dev == os.stat(harness.BUILD).st_dev else \
        subprocess.run(["cp", os.path.join(harness.BUILD, "bin", "dtctl"), bin_dir], check=True)
    with open(os.path.join(bin_dir, "dtserver"), "w") as file:
        file.write("#!/bin/sh\necho redis-server is missing: apt-get install redis-server >&2\n"
                   "exit 1\n")
    os.chmod(os.path.join(bin_dir, "dtserver"), 0o755)
    done = subprocess.run([os.path.join(bin_dir, "dtctl"), "up", "--name", "broken",
                           "--state-dir", os.path.join(f.dir, "state")], env=f.env,
                          capture_output=True, text=True, timeout=20)
    check_equal(done.returncode, 1, done.stderr)
    check("redis-server is missing" in done.stderr, done.stderr)
    check("dtserver ended while it started" in done.stderr, done.stderr)


@test
def up_refuses_names_that_are_no_names(f):
    for name in ("", "..", "a/b", "UPPER", "-x", "x" * 41):
        f.run("up", "--name", name, code=2)
    f.run("down", "--name", "nothing-here", code=4)
    f.golden()


@test
def interrupted_pipe_ends_quietly(f):
    f.api.route("GET", "/v1/nodes", (200, {"items": [node(f"n{i}") for i in range(2000)]}))
    child = f.start("nodes", "--limit", "5000")
    child.stdout.close()
    err = child.stderr.read()
    code = child.wait(timeout=10)
    check(code in (141, -signal.SIGPIPE), f"exit {code}")
    check_equal(err, b"", "nothing to say")
