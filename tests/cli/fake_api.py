"""A small stand-in for dtserver's API on a Unix socket, whose answers a test writes down."""
import json
import os
import re
import socket
import threading
import time
import urllib.parse


NOW = time.time()  # one moment for all, so that ages are equal where they should be


def instant(seconds_ago):
    """RFC 3339 of a moment in the past."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(NOW - seconds_ago))


DAY = 86400


def job(number, **changes):
    """One job object as docs/api.md has it."""
    made = {
        "id": f"j-{number:06d}", "name": "train", "user": "ana", "uid": 1000, "project": None,
        "queue": "default", "priority": 0, "labels": {}, "state": "running", "reason": None,
        "gen": 1, "nodes": 2, "ranks": 2, "launch": "mpi", "submitted": instant(3 * DAY + 7300),
        "started": instant(3 * DAY + 7200), "finished": None, "since": instant(3 * DAY + 7200),
        "restarts": {"total": 0, "counted": 0, "max": 10}, "result": None,
        "progress": {"step": 120, "steps": 200, "loss": "2.345678", "tokens": 122880,
                     "step_ms": 12.5, "phase": "train"},
        "checkpoint": {"step": 100, "path": "/out/ckpt/step-000100"},
        "members": [{"node": "n1", "rank_first": 0, "ranks": 1, "devices": ["cpu-0"]},
                    {"node": "n2", "rank_first": 1, "ranks": 1, "devices": ["cpu-0"]}],
        "dirs": {"output": "/out", "checkpoint": "/out/ckpt", "logs": "/out/logs",
                 "metrics": "/out/metrics.jsonl"},
        "seq": "7", "version": "3",
    }
    made.update(changes)
    return made


def node(name, **changes):
    made = {
        "name": name, "state": "up", "wish": "up", "reason": None, "host": "box",
        "version": "0.1.0", "boot_id": "0b0b", "user": "ana", "cpus": 8,
        "memory_bytes": 16 << 30, "addresses": ["127.0.0.1"],
        "devices": [
            {"kind": "cpu", "id": "cpu-0", "type": "", "domain": name, "state": "held",
             "job": "j-000001", "gen": 1},
            {"kind": "cpu", "id": "cpu-1", "type": "", "domain": name, "state": "free",
             "job": None, "gen": 0}],
        "heard_ms_ago": 400,
    }
    made.update(changes)
    return made


def event(seq, job_id="j-000001", **changes):
    made = {"seq": str(seq), "at": f"2026-12-01T08:00:{seq:02d}Z", "job": job_id, "gen": 1,
            "what": "started", "text": "2 ranks on n1, n2", "node": None, "rank": None,
            "state": "running"}
    made.update(changes)
    return made


class Request:
    def __init__(self, method, target, headers, body):
        parts = urllib.parse.urlsplit(target)
        self.method, self.path = method, urllib.parse.unquote(parts.path)
        self.query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        self.headers, self.body = headers, body

    def json(self):
        return json.loads(self.body)


class FakeApi:
    """Routes are (method, regular expression, function(request, *groups) -> answer).

    An answer is (status, object), (status, object, headers), bytes (sent as they are, then
    closed), None (closed without a word), or a generator of bytes (a stream).
    """

    def __init__(self, path):
        self.path, self.routes, self.seen = path, [], []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        self.is_over = False
        threading.Thread(target=self.accept, daemon=True).start()

    def route(self, method, pattern, answer):
        self.routes.insert(0, (method, re.compile(pattern + r"\Z"), answer))

    def close(self):
        self.is_over = True
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        if os.path.exists(self.path):
            os.unlink(self.path)

    def accept(self):
        while not self.is_over:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(conn,), daemon=True).start()

    def serve(self, conn):
        try:
            with conn, conn.makefile("rb") as lines:
                while self.one(conn, lines):
                    pass
        except OSError:
            pass

    def one(self, conn, lines):
        first = lines.readline().decode()
        if not first:
            return False
        method, target, _ = first.split(" ", 2)
        headers = {}
        while (line := lines.readline().decode().strip()):
            key, value = line.split(":", 1)
            headers[key.lower()] = value.strip()
        body = lines.read(int(headers.get("content-length", 0)))
        request = Request(method, target, headers, body)
        self.seen.append(request)
        return self.answer(conn, self.find(request))

    def find(self, request):
        for method, pattern, answer in self.routes:
            found = pattern.match(request.path)
            if method == request.method and found:
                return answer(request, *found.groups()) if callable(answer) else answer
        return 404, problem(404, "not-found", f"no {request.path}")

    @staticmethod
    def answer(conn, answer):
        if answer is None:
            return False
        if isinstance(answer, bytes):
            conn.sendall(answer)
            return False
        if not isinstance(answer, tuple):
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                         b"Transfer-Encoding: chunked\r\n\r\n")
            for piece in answer:
                conn.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            conn.sendall(b"0\r\n\r\n")
            return False
        status, value, extra = (*answer, {})[:3]
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(data)}\r\n"
        head += "".join(f"{key}: {item}\r\n" for key, item in extra.items())
        conn.sendall(head.encode() + b"\r\n" + data)
        return True


def problem(status, code, detail, hint=None, errors=None):
    made = {"type": "about:blank", "title": code, "status": status, "code": code,
            "detail": detail, "hint": hint}
    if errors:
        made["errors"] = errors
    return made


def sse(item):
    """One event of the watch stream."""
    return f"id: {item['seq']}\ndata: {json.dumps(item)}\n\n".encode()
