"""Each kind of trouble at the edges has its message and exit status."""
import json
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import urllib.request

from cluster import Cluster, Skipped, bin_path, check, check_equal, until


def run_server(*flags, env=None, timeout=15):
    top = tempfile.mkdtemp(prefix="dt-e2e-")
    os.chmod(top, 0o700)
    try:
        return subprocess.run([bin_path("dtserver"), "--run-dir", top + "/run", "--state-dir",
                               top + "/state", *flags], capture_output=True, text=True,
                              timeout=timeout, env=dict(os.environ, **(env or {})),
                              stdin=subprocess.DEVNULL)
    finally:
        shutil.rmtree(top, ignore_errors=True)


def test_missing_redis_names_the_package():
    done = run_server("--redis", "/no/redis-server", "--api-port", "0", "--agent-port", "0")
    check(done.returncode != 0, "must fail")
    check("redis-server" in done.stderr + done.stdout, f"{done.stderr}{done.stdout}")


def test_port_in_use_is_said():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run_server("--api-port", str(port), "--agent-port", "0")
    check(done.returncode != 0, "must fail")
    check(str(port) in done.stderr + done.stdout, f"{done.stderr}{done.stdout}")


def test_no_cluster_is_said_within_a_second():
    empty = tempfile.mkdtemp()
    env = dict(os.environ, XDG_RUNTIME_DIR=empty, XDG_CONFIG_HOME=empty)
    env.pop("DT_CONTEXT", None)
    done = subprocess.run([bin_path("dtctl"), "ls", "--context", "nosuch"], env=env,
                          capture_output=True, text=True, timeout=5)
    shutil.rmtree(empty)
    check_equal(done.returncode, 8, f"exit status: {done.stderr}")
    check("dtctl up" in done.stderr, done.stderr)


def ready(c):
    with open(os.path.join(c.run_dir, "ready.json")) as file:
        return json.load(file)


def test_wrong_token_and_wrong_ca_are_refused():
    with Cluster(nodes=1, slots=1) as c:
        info = ready(c)
        url = f"https://127.0.0.1:{info['api_port']}/v1/jobs"
        trust = ssl.create_default_context(cafile=info["ca_file"])
        with open(info["token_file"]) as file:
            token = file.read().strip()

        def get(bearer, context):
            request = urllib.request.Request(url)
            if bearer:
                request.add_header("Authorization", f"Bearer {bearer}")
            try:
                with urllib.request.urlopen(request, context=context, timeout=5) as answer:
                    return answer.status
            except urllib.error.HTTPError as error:
                return error.code
        check_equal(get(token, trust), 200, "right token")
        check_equal(get(token[:-1] + ("0" if token[-1] != "0" else "1"), trust), 401, "wrong token")
        check_equal(get(None, trust), 401, "no token")
        try:
            get(token, ssl.create_default_context())
            check(False, "a client with another CA must refuse")
        except urllib.error.URLError as error:
            check("certificate" in str(error).lower(), str(error))


def test_bad_bodies_lose_nothing():
    with Cluster(nodes=1, slots=1) as c:
        path = ready(c)["socket"]

        def raw(text):
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(5)
                s.connect(path)
                s.sendall(text)
                try:
                    return s.recv(4096)
                except (ConnectionError, TimeoutError):
                    return b""
        for body in (b"{", b"[]", b"null", b"{\"spec\": 7}", b"\xff\xfe", b"{\"spec\":{}}"):
            answer = raw(b"POST /v1/jobs HTTP/1.1\r\nHost: dt\r\nContent-Type: application/json\r\n"
                         b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))
            check(b" 4" in answer[:16], f"{body!r}: {answer[:80]!r}")
        answer = raw(b"POST /v1/jobs HTTP/1.1\r\nHost: dt\r\nContent-Length: 2\r\n"
                     b"Content-Length: 5\r\n\r\n{}xxx")
        check(b" 400" in answer[:16] and b"once" in answer, f"two lengths: {answer[:200]!r}")
        raw(b"GET / HTTP/9.9\r\n\r\n")
        raw(b"\x16\x03\x01\x00\x00")
        raw(b"GET /v1/jobs/%00 HTTP/1.1\r\nHost: dt\r\n\r\n")
        job = c.submit("version: 1\nname: x\nlaunch: none\nscript: |\n  true\n")
        check_equal(c.wait(job), 0, "the server still serves")


def test_same_request_id_submits_once():
    with Cluster(nodes=1, slots=1) as c:
        path = os.path.join(c.work, "once.yaml")
        with open(path, "w") as file:
            file.write("version: 1\nname: once\nlaunch: none\nscript: |\n  true\n")
        ids = {c.dtctl("submit", path, "--req-id", "11111111-2222-4333-8444-555555555555").stdout
               for _ in range(3)}
        check_equal(len(ids), 1, f"ids {ids}")
        until(lambda: len(json.loads(c.dtctl("ls", "--all", "-o", "json").stdout)["items"]) == 1
              or None, 5, "one job")


def test_up_twice_with_one_name_is_a_conflict():
    with Cluster(nodes=1, slots=1) as c:
        done = c.dtctl("up", "--name", c.name, "--nodes", "1")
        check_equal(done.returncode, 6, f"exit status: {done.stderr}")


def test_full_disk_refuses_submits_and_recovers_when_space_returns():
    if os.geteuid() != 0:
        raise Skipped("needs root for a small tmpfs")
    top = tempfile.mkdtemp(prefix="dt-e2e-small-")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", top]).returncode != 0:
        os.rmdir(top)
        raise Skipped("no tmpfs can be mounted here")
    try:
        with Cluster(nodes=1, slots=1, state_dir=top + "/state") as c:
            before = c.submit("version: 1\nname: before\nlaunch: none\nscript: |\n  sleep 20\n")
            c.until_state(before, ["running"])
            try:
                with open(top + "/filler", "wb") as filler:
                    while True:
                        filler.write(b"x" * 65536)
                        filler.flush()
            except OSError:
                pass
            path = os.path.join(c.work, "during.yaml")
            with open(path, "w") as file:
                file.write("version: 1\nname: during\nlaunch: none\nscript: |\n  true\n")
            for _ in range(6):  # the first ones may still fit, or wait for space with no answer
                try:
                    done = c.dtctl("submit", path, timeout=4)
                except subprocess.TimeoutExpired:
                    continue
                if done.returncode != 0:
                    break
            check_equal(done.returncode, 14, f"exit status: {done.stderr}")
            check("store-degraded" in done.stderr, f"{done.stderr}")
            check_equal(len(c.ranks(before)), 1, "the running job goes on")
            os.unlink(top + "/filler")
            until(lambda: c.dtctl("submit", path).returncode == 0 or None, 30, "space is back")
            check_equal(c.wait(before, 30), 0, f"{c.show(before).get('result')}")
    finally:
        subprocess.run(["umount", "-l", top])
        os.rmdir(top)


def dial(c, is_tls):
    if not is_tls:
        one = socket.socket(socket.AF_UNIX)
        one.connect(ready(c)["socket"])
        return one
    trust = ssl.create_default_context(cafile=ready(c)["ca_file"])
    plain = socket.create_connection(("127.0.0.1", ready(c)["api_port"]))
    return trust.wrap_socket(plain, server_hostname="localhost")


def is_closed(one):
    """Has the other side ended this connection? Looks without waiting."""
    one.settimeout(0.01)
    try:
        return one.recv(1000) == b""
    except (TimeoutError, ssl.SSLWantReadError):
        return False
    except OSError:
        return True


def test_requests_that_drip_are_cut_off():
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
    with Cluster(nodes=1, slots=1) as c:
        drips = [dial(c, False), dial(c, False), dial(c, True), dial(c, True)]
        for one, first in zip(drips, (b"GET /v1/vers", head) * 2):
            one.sendall(first)
        silent = dial(c, False)

        def all_cut():
            for one in drips:
                if one.fileno() >= 0 and is_closed(one):
                    one.close()
                elif one.fileno() >= 0:
                    try:
                        one.sendall(b"x")
                    except OSError:
                        one.close()
            return all(one.fileno() < 0 for one in drips) or None
        until(all_cut, 30, "each byte must not buy more time")
        check(not is_closed(silent), "one that has not begun may be idle longer")
        silent.close()
        check_equal(c.dtctl("ls").returncode, 0, "others are served")


def test_one_user_cannot_take_all_connections():
    with Cluster(nodes=1, slots=1) as c:
        many = [dial(c, False) for _ in range(200)]
        open_ones = until(lambda: len([1 for one in many if not is_closed(one)]) < 200 or None, 5,
                          "some are closed")
        check(open_ones, "limit")
        open_ones = [one for one in many if not is_closed(one)]
        check(100 < len(open_ones) <= 128, f"{len(open_ones)} stay open")
        for one in many:
            one.close()
        until(lambda: c.dtctl("ls").returncode == 0 or None, 5, "served again")
