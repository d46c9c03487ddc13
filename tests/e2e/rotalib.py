"""What the end-to-end tests share: a system of their own, its API, and a check
that nothing of it is left afterwards.

Every test runs its own roles in a folder under /var/tmp and on four free ports,
on real containers unless it says otherwise.  Nothing here sleeps to be in step
with something: it polls for what it waits for, with a limit.
"""
import contextlib
import glob
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Failure(Exception):
    """What the test checks does not hold."""


def check(condition, text):
    if not condition:
        raise Failure(text)


def find_build():
    build = pathlib.Path(os.environ.get("ROTA_BUILD", ROOT / "build"))
    if "ROTA_BUILD" not in os.environ and not (build / "rota").exists():
        done = subprocess.run(["make", "-C", str(ROOT), "build"], stdout=subprocess.DEVNULL)
        check(done.returncode == 0, "make build failed")
    return build


def program(name):
    build = find_build()
    for folder in (build / "src/programs", build / "src/shim", build):
        if (folder / name).exists():
            return str(folder / name)
    raise Failure(f"{name} is not in {build}: run `make build`")


def sanitized():
    """Built to find errors: then it is neither small nor quick."""
    return b"__asan_init" in pathlib.Path(program("rotad")).read_bytes()


def wait_for(what, condition, seconds=30, step=0.02):
    """Polls until condition() is true; returns its value.  No answer is not yet."""
    end = time.monotonic() + seconds
    while True:
        value, last = None, ""
        try:
            value = condition()
        except (OSError, http.client.HTTPException) as e:
            last = f" ({e})"
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {seconds} s{last}")
        time.sleep(step)


def free_ports(n=4):
    """The first of n neighbours that are free, below the range of outgoing connections."""
    for _ in range(1000):
        base = random.randrange(12000, 30000)
        with contextlib.ExitStack() as stack:
            try:
                for i in range(n):
                    s = stack.enter_context(socket.socket())
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    s.bind(("127.0.0.1", base + i))
            except OSError:
                continue
            return base
    raise Failure("no free ports")


class Forwarder(threading.Thread):
    """Passes TCP on; can swallow what one side says, as a broken network would."""

    def __init__(self, to_port):
        super().__init__(daemon=True)
        self.to_port = to_port
        self.swallow = False
        self.bytes = 0  # that came, both ways
        self.pairs = []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            try:
                up = socket.create_connection(("127.0.0.1", self.to_port))
            except OSError:
                client.close()
                continue
            self.pairs.append((client, up))
            for a, b, upward in ((client, up, True), (up, client, False)):
                threading.Thread(target=self.copy, args=(a, b, upward), daemon=True).start()

    def copy(self, a, b, upward):
        try:
            while True:
                data = a.recv(65536)
                if not data:
                    break
                self.bytes += len(data)
                if not (upward and self.swallow):
                    b.sendall(data)
        except OSError:
            pass
        if not (upward and self.swallow):
            for s in (a, b):
                with contextlib.suppress(OSError):
                    s.shutdown(socket.SHUT_RDWR)

    def cut(self):
        """Drops every connection without another byte."""
        for pair in self.pairs:
            for s in pair:
                with contextlib.suppress(OSError):
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    s.close()
        self.pairs = []


class System:
    """Roles in a folder of their own.  `dev=True`: kept alive by `rotad dev`; else
    each role is a child of this test, started and killed by name."""

    def __init__(self, dev=True, cpus=None, mem=None, gpus=0, driver="crun", through=False,
                 roles=("manager", "agent", "proxy")):
        self.dir = tempfile.mkdtemp(prefix="rota-e2e-", dir="/var/tmp")
        os.chmod(self.dir, 0o755)
        self.base = free_ports()
        self.dev_mode, self.driver = dev, driver
        self.cpus, self.mem, self.gpus = cpus, mem, gpus
        self.first_roles = roles
        self.roles = {}
        self.dev = None
        self.reports = ""
        self.forwarder = Forwarder(self.base + 1) if through else None
        self.env = dict(os.environ, HOME=self.dir, ROTA_URL=f"http://127.0.0.1:{self.base}",
                        ROTA_TOKEN_FILE=f"{self.dir}/manager/admin.token", NO_COLOR="1")
        self.env.pop("ROTA_TOKEN", None)
        self.env.pop("ROTA_CONFIG", None)
        self.env.pop("XDG_CONFIG_HOME", None)

    # ---- starting and ending ----

    def __enter__(self):
        try:
            if self.dev_mode:
                self.start_dev()
            else:
                for role in self.first_roles:
                    self.start(role)
                if "agent" in self.first_roles:
                    self.wait_node()
            return self
        except BaseException:
            self.show_logs()
            self.end()
            raise

    def __exit__(self, kind, value, trace):
        if kind is not None:
            self.show_logs()
            if "ROTA_KEEP" in os.environ:  # a folder to copy the state to, for a look
                shutil.copytree(self.dir, os.environ["ROTA_KEEP"], dirs_exist_ok=True,
                                symlinks=True, ignore=shutil.ignore_patterns("sock", "*.fifo"))
            self.end()
            return False
        self.end()
        check(not self.reports, f"a sanitizer says: {self.reports}")
        self.check_nothing_left()
        return False

    def dev_command(self):
        command = [program("rotad"), "dev", "--dir", self.dir, "--port", str(self.base),
                   "--driver", self.driver]
        if self.cpus:
            command += ["--cpus", str(self.cpus)]
        if self.mem:
            command += ["--mem", str(self.mem)]
        if self.gpus:
            command += ["--simulated-gpus", str(self.gpus)]
        return command

    def start_dev(self):
        log = open(f"{self.dir}/dev.out", "ab")
        self.dev = subprocess.Popen(self.dev_command(), stdout=log, stderr=log,
                                    stdin=subprocess.DEVNULL, start_new_session=True)
        log.close()

        def ready():
            check(self.dev.poll() is None, "rotad dev ended: " + self.read("dev.out"))
            return "is ready" in self.read("dev.out")
        wait_for("rotad dev ready", ready, 60)

    def command(self, role):
        b, d = self.base, self.dir
        base = [program("rotad"), role, "--dir", f"{d}/{role}"]
        if role == "manager":
            return base + ["--listen", f"127.0.0.1:{b}", "--agent-listen", f"127.0.0.1:{b + 1}",
                           "--proxy-url", f"http://127.0.0.1:{b + 2}"]
        token = f"{d}/{role}.token"
        if not os.path.exists(f"{d}/{role}/identity.json"):
            status, answer = self.api("POST", "/api/v1/tokens/join", {})
            check(status in (200, 201), f"join token: {status} {answer}")
            with open(os.open(token, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as f:
                f.write(answer["token"] + "\n")
        to = self.forwarder.port if self.forwarder and role == "agent" else b + 1
        base += ["--manager", f"https://127.0.0.1:{to}", "--join-token-file", token]
        if role == "proxy":
            return base + ["--listen", f"127.0.0.1:{b + 2}"]
        base += ["--data-listen", f"127.0.0.1:{b + 3}", "--driver", self.driver,
                 "--shim", program("rota-shim")]
        if self.cpus:
            base += ["--cpus", str(self.cpus)]
        if self.mem:
            base += ["--mem", str(self.mem)]
        if self.gpus:
            base += ["--simulated-gpus", str(self.gpus)]
        return base

    def start(self, role):
        os.makedirs(f"{self.dir}/run", exist_ok=True)
        with open(f"{self.dir}/run/{role}.log", "ab") as log:
            self.roles[role] = subprocess.Popen(self.command(role), stdout=log, stderr=log,
                                                stdin=subprocess.DEVNULL)
        if role == "manager":
            def ready():
                check(self.roles[role].poll() is None,
                      "the manager ended: " + self.read("run/manager.log")[-2000:])
                with contextlib.suppress(OSError, http.client.HTTPException):
                    return self.api("GET", "/readyz")[0] == 200
                return False
            wait_for("manager ready", ready)

    def start_node(self, name, cpus, mem, **flags):
        """One more machine: an agent whose containers exist in memory alone."""
        role = f"node-{name}"
        status, answer = self.api("POST", "/api/v1/tokens/join", {})
        check(status in (200, 201), f"join token: {status} {answer}")
        token = f"{self.dir}/{role}.token"
        with open(os.open(token, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as f:
            f.write(answer["token"] + "\n")
        command = [program("rotad"), "agent", "--dir", f"{self.dir}/{role}", "--driver", "fake",
                   "--manager", f"https://127.0.0.1:{self.base + 1}", "--join-token-file", token,
                   "--data-listen", f"127.0.0.1:{free_ports(1)}", "--shim", program("rota-shim"),
                   "--name", name, "--cpus", str(cpus), "--mem", mem]
        for flag, value in flags.items():
            command += ["--" + flag.replace("_", "-"), str(value)]
        os.makedirs(f"{self.dir}/run", exist_ok=True)
        with open(f"{self.dir}/run/{role}.log", "ab") as log:
            self.roles[role] = subprocess.Popen(command, stdout=log, stderr=log,
                                                stdin=subprocess.DEVNULL)

        def ready():
            check(self.roles[role].poll() is None,
                  f"{name} ended: " + self.read(f"run/{role}.log")[-2000:])
            return self.api("GET", f"/api/v1/nodes/{name}")[1].get("state") == "ready"
        wait_for(f"{name} ready", ready)

    def wait_node(self):
        def ready():
            for role in self.roles:
                check(self.roles[role].poll() is None,
                      f"the {role} ended: " + self.read(f"run/{role}.log")[-2000:])
            nodes = self.api("GET", "/api/v1/nodes")[1].get("items", [])
            return any(n["state"] == "ready" for n in nodes)
        wait_for("node ready", ready)

    def role_pid(self, role):
        """Of a child of `rotad dev`, or None while it is away."""
        if not self.dev_mode:
            p = self.roles.get(role)
            return p.pid if p and p.poll() is None else None
        with contextlib.suppress(OSError):
            children = self.read_file(f"/proc/{self.dev.pid}/task/{self.dev.pid}/children").split()
            for pid in children:
                with contextlib.suppress(OSError):
                    argv = self.read_file(f"/proc/{pid}/cmdline").split("\0")
                    if len(argv) > 1 and argv[1] == role:
                        return int(pid)
        return None

    def kill(self, role, signum=signal.SIGKILL):
        pid = self.role_pid(role)
        if pid is None:
            return False
        os.kill(pid, signum)
        if not self.dev_mode and signum in (signal.SIGKILL, signal.SIGTERM):
            self.roles[role].wait(20)
        return True

    def end(self):
        for p in self.roles.values():
            if p.poll() is None:
                p.send_signal(signal.SIGCONT)
        if self.dev is None:  # containers of separate roles: let dev find and end them
            for p in self.roles.values():
                if p.poll() is None:
                    p.terminate()
            for p in self.roles.values():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    p.wait(15)
                p.kill()
                p.wait()
            os.makedirs(f"{self.dir}/run", mode=0o700, exist_ok=True)
            with open(f"{self.dir}/run/dev.json", "w", encoding="utf-8") as f:
                json.dump({"dir": self.dir, "port": self.base, "driver": self.driver}, f)
        # Twice: what the roles say when they end can only be read before the folder goes.
        for more in ([], ["--purge"]):
            result = subprocess.run([program("rotad"), "dev", "stop", "--dir", self.dir, "--grace",
                                     "1s", *more], capture_output=True, text=True, timeout=150)
            if self.dev is not None and self.dev.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.dev.wait(20)
                self.dev.kill()
                self.dev.wait()
            self.note_reports(result.stderr)
            if result.returncode != 0:
                print("rotad dev stop:", result.stderr.strip() or result.stdout.strip(),
                      file=sys.stderr)
                print(f"left for a look: {self.dir}", file=sys.stderr)
                break

    def note_reports(self, text=""):
        """What sanitizers have said, if the build has them."""
        for path in glob.glob(f"{self.dir}/run/*.log") + [f"{self.dir}/dev.out"]:
            with contextlib.suppress(OSError):
                text += self.read_file(path)
        found = re.search(r"(ERROR: \w+Sanitizer|runtime error:)[^\n]*", text)
        if found and not self.reports:
            at = text.index(found.group(0))
            self.reports = text[at:at + 3000]

    def check_nothing_left(self):
        check(not os.path.exists(self.dir), f"{self.dir} is still there")
        mounts = [m for m in self.read_file("/proc/self/mountinfo").splitlines() if self.dir in m]
        check(not mounts, f"mounts are left: {mounts[:2]}")
        tag = 2166136261  # the agent's control groups are named by its folder, FNV-1a
        for c in f"{self.dir}/agent".encode():
            tag = (tag ^ c) * 16777619 & 0xffffffff
        groups = glob.glob(f"/sys/fs/cgroup/*/rota/{tag:08x}") + glob.glob(
            f"/sys/fs/cgroup/rota/{tag:08x}")
        check(not groups, f"control groups are left: {groups[:3]}")
        left = []
        for cmdline in glob.glob("/proc/[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if self.dir in self.read_file(cmdline) and f"/{os.getpid()}/" not in cmdline:
                    left.append(self.read_file(cmdline).replace("\0", " "))
        check(not left, f"processes are left: {left[:3]}")

    def show_logs(self):
        for path in sorted(glob.glob(f"{self.dir}/run/*.log")) + [f"{self.dir}/dev.out"]:
            with contextlib.suppress(OSError):
                text = self.read_file(path)
                print(f"--- end of {path}\n{text[-3000:]}", file=sys.stderr)

    # ---- reading ----

    @staticmethod
    def read_file(path):
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def read(self, name):
        with contextlib.suppress(OSError):
            return self.read_file(f"{self.dir}/{name}")
        return ""

    # ---- the command line and the API ----

    def rota(self, *args, code=0, timeout=60, **kw):
        """Runs rota; code None: any exit code will do."""
        kw.setdefault("stdin", None if "input" in kw else subprocess.DEVNULL)
        if kw["stdin"] is None:
            del kw["stdin"]
        kw.setdefault("text", True)
        done = subprocess.run([program("rota"), *map(str, args)], env=self.env, timeout=timeout,
                              capture_output=True, **kw)
        if code is not None:
            check(done.returncode == code, f"rota {' '.join(map(str, args))}: exit code "
                  f"{done.returncode}, expected {code}; {done.stdout[-500:]!r} "
                  f"{done.stderr[-800:]!r}")
        return done

    def popen(self, *args, **kw):
        kw.setdefault("stdin", subprocess.DEVNULL)
        kw.setdefault("stdout", subprocess.PIPE)
        kw.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen([program("rota"), *map(str, args)], env=self.env, **kw)

    def submit(self, *args):
        return self.rota("run", "-d", *args).stdout.strip()

    def show(self, session):
        return json.loads(self.rota("show", session, "-o", "json").stdout)

    def why(self, session):
        return json.loads(self.rota("why", session, "-o", "json").stdout)

    def wait_state(self, session, *states, seconds=30):
        def there():
            view = self.api("GET", f"/api/v1/sessions/{session}")[1]
            return view if view.get("state") in states else None
        return wait_for(f"{session} {' or '.join(states)}", there, seconds)

    def token(self):
        return self.read("manager/admin.token").strip()

    def api(self, method, path, body=None, headers=None, timeout=30):
        connection = http.client.HTTPConnection("127.0.0.1", self.base, timeout=timeout)
        try:
            all_headers = {"Authorization": f"Bearer {self.token()}", **(headers or {})}
            data = None
            if body is not None:
                data = body if isinstance(body, (bytes, str)) else json.dumps(body)
                all_headers.setdefault("Content-Type", "application/json")
            connection.request(method, path, data, all_headers)
            answer = connection.getresponse()
            raw = answer.read()
            kind = answer.headers.get("Content-Type", "")
            text = raw.decode("utf-8", "replace")
            return answer.status, json.loads(text) if "json" in kind and text else text
        finally:
            connection.close()


def main(run):
    """Runs a test; its value is the figure, printed as the last line."""
    name = pathlib.Path(sys.argv[0]).name
    if os.geteuid() != 0:
        print(f"{name}: containers need root", file=sys.stderr)
        return 1
    if shutil.which("crun") is None:
        print(f"{name}: crun is missing: run `make deps`", file=sys.stderr)
        return 1
    began = time.monotonic()
    try:
        figure = run()
    except Failure as e:
        print(f"{name}: FAILED: {e}", file=sys.stderr)
        return 1
    print(f"{name}: {figure} ({time.monotonic() - began:.1f} s in all)")
    return 0
