#!/usr/bin/env python3
"""docker_engine.py podman|dockerd TEST... - runs tests against a container engine of their own.

Starts it on directories of its own, gives it one small image (busybox), tells the tests where
it listens, and ends it.  What is left afterwards, a container or a process, is a failure.
Ends with 77 where the engine is not installed or we are not root.
"""
import contextlib
import gzip
import hashlib
import http.client
import io
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

IMAGE = "rota-test:latest"  # Podman knows no other tag of what it imports
PATIENCE = int(os.environ.get("ROTA_TEST_PATIENCE", "1"))
CONF = """[containers]
default_ulimits = ["nofile=20000:20000","nproc=20000:20000"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


class Unix(http.client.HTTPConnection):
    """An HTTP connection over a unix socket."""

    def __init__(self, path):
        super().__init__("engine", timeout=60 * PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask(path, method, target, body=None, kind="application/json"):
    """One call: status and text."""
    conn = Unix(path)
    try:
        conn.request(method, target, body, {"Content-Type": kind} if body else {})
        answer = conn.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    finally:
        conn.close()


def image_tar():
    """A root with busybox alone."""
    out = io.BytesIO()
    box = "/bin/busybox"
    names = subprocess.run([box, "--list"], capture_output=True, text=True, check=True).stdout
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, mode in (("bin", 0o755), ("etc", 0o755), ("tmp", 0o1777), ("usr", 0o755),
                           ("usr/bin", 0o755), ("home", 0o755), ("home/me", 0o777),
                           ("root", 0o700), ("var", 0o755)):
            info = tarfile.TarInfo(name)
            info.type, info.mode = tarfile.DIRTYPE, mode
            tar.addfile(info)
        tar.add(box, "bin/busybox")
        for name in names.split():
            if name == "busybox":
                continue
            info = tarfile.TarInfo(f"bin/{name}")
            info.type, info.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(info)
        for name, text in (("etc/passwd", "root:x:0:0::/root:/bin/sh\n"),
                           ("etc/group", "root:x:0:\n")):
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(text), 0o644
            tar.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


class Engine:
    """Podman's service or dockerd, with everything it has below one directory."""

    def __init__(self, name):
        self.name = name
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="rota-engine-"))
        self.socket = str(self.dir / "sock")
        self.process = None
        self.stopping = False
        (self.dir / "containers.conf").write_text(CONF)

    def command(self):
        d = self.dir
        if self.name == "podman":
            return ["podman", "--root", f"{d}/root", "--runroot", f"{d}/run",
                    "--cgroup-manager=cgroupfs", "system", "service", "--time=0",
                    f"unix://{self.socket}"]
        return ["dockerd", "--data-root", f"{d}/root", "--exec-root", f"{d}/run", "-p",
                f"{d}/pid", "-H", f"unix://{self.socket}", "--bridge=none", "--iptables=false",
                "--ip-forward=false", "--userland-proxy=false", "--config-file", f"{d}/none"]

    def start(self):
        pathlib.Path(self.socket).unlink(missing_ok=True)
        (self.dir / "pid").unlink(missing_ok=True)
        # Of a dockerd that was killed: its containerd died with it, but may not be reaped yet.
        (self.dir / "run/containerd/containerd.pid").unlink(missing_ok=True)
        (self.dir / "run/containerd/containerd.sock").unlink(missing_ok=True)
        (self.dir / "none").write_text("{}")
        command = self.command()
        if os.path.ismount("/sys/fs/cgroup/unified") and self.name == "podman":
            # crun refuses to work for podman where version 2 is mounted beside version 1.
            command = ["unshare", "-m", "--propagation", "slave", "sh", "-c",
                       'umount /sys/fs/cgroup/unified && exec "$@"', "sh", *command]
        env = dict(os.environ, CONTAINERS_CONF=str(self.dir / "containers.conf"))
        with open(self.dir / "log", "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env=env, start_new_session=True)
        until = time.monotonic() + 60 * PATIENCE
        while time.monotonic() < until:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if ask(self.socket, "GET", "/_ping")[0] == 200:
                    # Renamed, so that a test that reads it never sees half of it.
                    new = self.dir / "new"
                    new.write_text(str(self.process.pid))
                    new.rename(f"{self.socket}.pid")
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        sys.exit(f"{self.name} does not start: {self.log()}")

    def log(self):
        return (self.dir / "log").read_text(errors="replace")[-3000:]

    def load(self):
        status, text = ask(self.socket, "POST", "/images/create?fromSrc=-&repo=rota-test&tag=latest",
                           image_tar(), "application/x-tar")
        if status != 200:
            sys.exit(f"{self.name} takes no image: {status} {text}")

    def watch(self):
        """Starts it again whenever a test has killed it."""
        while not self.stopping:
            if self.process.poll() is not None:
                self.start()
            time.sleep(0.1)

    def layout(self):
        """The same image as an OCI layout; its directory."""
        where = self.dir / "layout"
        blobs = where / "blobs/sha256"
        blobs.mkdir(parents=True)

        def put(data):
            digest = hashlib.sha256(data).hexdigest()
            (blobs / digest).write_bytes(data)
            return {"digest": f"sha256:{digest}", "size": len(data)}

        layer = image_tar()
        config = put(json.dumps({
            "architecture": "amd64", "os": "linux", "config": {},
            "rootfs": {"type": "layers",
                       "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]}}).encode())
        config["mediaType"] = "application/vnd.oci.image.config.v1+json"
        packed = put(gzip.compress(layer, 1))
        packed["mediaType"] = "application/vnd.oci.image.layer.v1.tar+gzip"
        manifest = put(json.dumps({"schemaVersion": 2, "config": config,
                                   "layers": [packed]}).encode())
        manifest["mediaType"] = "application/vnd.oci.image.manifest.v1+json"
        manifest["annotations"] = {"org.opencontainers.image.ref.name": "1"}
        (where / "index.json").write_text(json.dumps({"schemaVersion": 2,
                                                      "manifests": [manifest]}))
        (where / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
        return str(where)

    def left(self):
        """Names of containers that nobody has removed."""
        status, text = ask(self.socket, "GET", "/containers/json?all=1")
        return [c["Names"] for c in json.loads(text)] if status == 200 else [text]

    def stop(self):
        self.stopping = True
        if self.process is None:
            return
        group = self.process.pid
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)  # dockerd's containerd, where it was killed
        for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):  # what keeps containers alive without it
                if f"{self.dir}/".encode() in entry.read_bytes():
                    os.kill(int(entry.parent.name), signal.SIGKILL)

    def remove(self):
        for line in reversed(pathlib.Path("/proc/self/mountinfo").read_text().splitlines()):
            where = line.split()[4]
            if where.startswith(f"{self.dir}/"):
                subprocess.run(["umount", "-l", where], check=False)
        shutil.rmtree(self.dir, ignore_errors=True)


def main():
    name, tests = sys.argv[1], sys.argv[2:]
    for need in (name, "/bin/busybox"):
        if os.geteuid() != 0 or shutil.which(need) is None:
            print(f"skipped: needs root and {need}")
            sys.exit(77)
    engine, failed = Engine(name), []
    try:
        engine.start()
        engine.load()
        env = dict(os.environ, ROTA_TEST_ENGINE=f"unix://{engine.socket}",
                   ROTA_TEST_IMAGE=f"docker://{IMAGE}", ROTA_TEST_LAYOUT=engine.layout() + ":1")
        threading.Thread(target=engine.watch, daemon=True).start()
        for test in tests:
            sys.stdout.flush()
            done = subprocess.run([test], env=env, check=False)
            if done.returncode != 0:
                failed.append(f"{os.path.basename(test)}: {done.returncode}")
        try:
            failed += [f"{c} is left" for c in engine.left()]
        except OSError as why:
            failed.append(f"does not answer: {why}")
        if failed:
            print(engine.log())
    finally:
        engine.stop()
        engine.remove()
    for line in failed:
        print(f"failed: {name}: {line}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
