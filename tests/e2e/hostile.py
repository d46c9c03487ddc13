"""What a hostile program tries from inside a container.

Each function below is one program: it runs as an ordinary session, as `python3 -c SOURCE
NAME ARGUMENTS`, tries what it can and prints `OPEN what` for every wall that it found open, then
`TRIED n`.  The test `containers` judges outside, and runs those of OUTSIDE on the bare machine
as root as well: there they must find the doors open, or they prove nothing.

Nothing here harms where it succeeds: files are opened and not written, namespaces are a
child's own.
"""
import ctypes
import errno
import glob
import mmap
import os
import resource
import signal
import socket
import stat
import struct
import subprocess
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
TRIED = 0
NAMESPACES = {"mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000,
              "user": 0x10000000, "pid": 0x20000000, "network": 0x40000000}
NR = {"read": 0, "ptrace": 101, "syslog": 103, "personality": 135, "pivot_root": 155,
      "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166,
      "swapon": 167, "reboot": 169, "sethostname": 170, "iopl": 172, "init_module": 175,
      "quotactl": 179, "clock_settime": 227, "kexec_load": 246, "add_key": 248,
      "request_key": 249, "keyctl": 250, "unshare": 272, "perf_event_open": 298,
      "fanotify_init": 300, "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310,
      "finit_module": 313, "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425,
      "open_tree": 428, "move_mount": 429, "fsopen": 430, "fspick": 433, "pidfd_open": 434,
      "clone3": 435, "pidfd_getfd": 438, "mount_setattr": 442}


def tried(n=1):
    global TRIED
    TRIED += n


def is_open(what, condition):
    """One wall.  It is open where the condition holds."""
    tried()
    if condition:
        print("OPEN", what, flush=True)


def call(name, *args):
    """A system call without the C library between: its value, or the negative errno."""
    ctypes.set_errno(0)
    value = LIBC.syscall(ctypes.c_long(NR.get(name, name)),
                         *(ctypes.c_long(a) if isinstance(a, int) else a for a in args))
    return -ctypes.get_errno() if value < 0 else value


def apart(f):
    """In a child, which may well die of it: whether f() held there."""
    pid = os.fork()
    if pid == 0:
        held = False
        try:
            held = bool(f())
        finally:
            os._exit(77 if held else 0)
    return os.waitpid(pid, 0)[1] == 77 << 8


def opens(path, flags=os.O_RDONLY):
    try:
        fd = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return bool(flags & os.O_ACCMODE) or stat.S_ISDIR(os.fstat(fd).st_mode) and \
            bool(os.listdir(fd)) or len(os.read(fd, 1)) > 0
    except OSError:
        return False
    finally:
        os.close(fd)


def status():
    with open("/proc/self/status", encoding="ascii") as f:
        return {k: v.strip() for k, _, v in (line.partition(":") for line in f)}


# ---- privileges ----

def privileges(planted, uid):
    """Who it is, and what a set-user-id file or one with capabilities would make of it."""
    s = status()
    is_open("not its own user", {*s["Uid"].split(), *s["Gid"].split()} != {uid})
    is_open("groups of somebody else", s["Groups"].split() not in ([], [uid]))
    for which in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        is_open(which, int(s[which], 16) != 0)
    is_open("no system call filter", s["Seccomp"] != "2")
    is_open("privileges can be gained", s["NoNewPrivs"] != "1")
    is_open("core files", resource.getrlimit(resource.RLIMIT_CORE)[1] != 0)
    is_open("set-user-id files count", not os.statvfs("/").f_flag & os.ST_NOSUID)
    for program in ("suid", "caps"):
        try:
            said = subprocess.run([f"{planted}/{program}", "/proc/self/status"],
                                  capture_output=True, text=True, check=False).stdout
        except PermissionError:  # it may have what the process may not: the file counted
            said = ""
        is_open(f"{program} does not even run", "CapEff" not in said)
        is_open(f"{program} raises", "CapEff:\t0000000000000000" not in said)
    for what in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]),
                 lambda: os.setresuid(0, 0, 0), lambda: os.chown("/tmp", 0, 0),
                 lambda: os.nice(-5), lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20,) * 2)):
        try:
            what()
            is_open("became more", True)
        except (OSError, ValueError):
            tried()


def user_of_exec(uid):
    """The same of a command that is run inside later."""
    s = status()
    is_open("not its own user", {*s["Uid"].split(), *s["Gid"].split()} != {uid})
    is_open("groups", s["Groups"].split() not in ([], [uid]))
    is_open("capabilities", any(int(s[c], 16) for c in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")))
    is_open("no system call filter", s["Seccomp"] != "2")
    is_open("privileges can be gained", s["NoNewPrivs"] != "1")
    is_open("core files", resource.getrlimit(resource.RLIMIT_CORE)[1] != 0)


# ---- system calls ----

def system_calls():
    """Kernel code that is not for guests.  Refused is EPERM or ENOSYS: any other error came
    from behind the filter."""
    refused = (-errno.EPERM, -errno.ENOSYS)
    for name, flag in NAMESPACES.items():
        is_open(f"unshare {name}", apart(lambda f=flag: call("unshare", f) == 0))
        def cloned(f=flag):
            pid = call(56, f | signal.SIGCHLD, 0, 0, 0, 0)
            if pid == 0:
                os._exit(0)
            return pid > 0
        is_open(f"clone {name}", apart(cloned))
    args = ctypes.create_string_buffer(struct.pack("<8Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0))
    def cloned3():
        pid = call("clone3", args, 64)
        if pid == 0:
            os._exit(0)
        return pid > 0
    is_open("clone3 with namespaces", apart(cloned3))
    ns = os.open("/proc/self/ns/uts", os.O_RDONLY)
    for name, a in (
            ("setns", (ns, 0)), ("mount", (b"none", b"/nosuch", b"tmpfs", 0, 0)),
            ("umount2", (b"/nosuch", 0)), ("pivot_root", (b"/nosuch", b"/nosuch")),
            ("chroot", (b"/nosuch",)), ("open_tree", (-100, b"/", 1)), ("fsopen", (b"tmpfs", 0)),
            ("fspick", (-100, b"/", 0)), ("move_mount", (-1, b"", -100, b"/nosuch", 4)),
            ("mount_setattr", (-100, b"/nosuch", 0, 0, 0)), ("bpf", (0, 0, 0)),
            ("io_uring_setup", (1, 0)), ("userfaultfd", (0,)),
            ("userfaultfd", (1,)), ("perf_event_open", (0, 0, -1, -1, 0)),
            ("add_key", (b"nosuch", b"x", b"y", 1, -3)), ("request_key", (b"user", b"x", 0, 0)),
            ("keyctl", (0, -3, 0)), ("init_module", (0, 0, b"")), ("finit_module", (-1, b"", 0)),
            ("kexec_load", (0, 0, 0, 1 << 30)), ("reboot", (0, 0, 0)), ("swapon", (b"/nosuch", 0)),
            ("open_by_handle_at", (-1, 0, 0)), ("quotactl", (0, b"/nosuch", 0, 0)),
            ("settimeofday", (1, 0)), ("clock_settime", (0, 1)), ("syslog", (10, 0, 0)),
            ("sethostname", (b"x" * 300, 300)), ("acct", (b"/nosuch",)), ("iopl", (4,)),
            ("fanotify_init", (1 << 30, 0)), ("personality", (0x0040000,))):
        is_open(f"{name} passes the filter", call(name, *a) not in refused)
    for family, name in ((40, "vsock"), (38, "alg"), (17, "packet"), (31, "bluetooth"), (44, "xdp"),
                         (30, "tipc"), (29, "can"), (9, "x25"), (43, "smc"), (21, "rds"), (15, "key")):
        is_open(f"a socket of {name}", call(41, family, 2, 0) not in refused)
        is_open(f"a pair of {name}", call(53, family, 2, 0, ctypes.create_string_buffer(8)) >= 0)
    is_open("a raw socket", call(41, 2, 3, 1) >= 0)
    is_open("system calls of 32 bits", apart(lambda: old_call() > 0))
    is_open("system calls of x32", apart(lambda: call(0x40000000 | 39) > 0))


def old_call():
    """getpid by int 0x80."""
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    at = ctypes.addressof(ctypes.c_char.from_buffer(code))
    return ctypes.CFUNCTYPE(ctypes.c_int)(at)()


# ---- files ----

def secrets(*paths):
    """What of the machine is nobody's business here."""
    for path in (*paths, "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/ssh", "/etc/sudoers",
                 "/etc/ssl/private", "/root", "/root/.ssh", "/root/.bashrc", "/root/.profile", "/home",
                 "/boot", "/var/lib/docker", "/var/lib/containers", "/var/lib/containerd",
                 "/var/lib/rota", "/var/log", "/run/docker.sock", "/run/containerd", "/run/crun",
                 "/run/runc", "/run/podman", "/proc/kcore", "/proc/kmsg", "/proc/keys",
                 "/proc/timer_list", "/proc/sched_debug", "/proc/vmallocinfo", "/proc/kpagecount",
                 "/dev/kmsg", "/dev/mem", "/dev/kvm", "/dev/fuse", "/dev/vda", "/dev/sda",
                 "/sys/firmware", "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security",
                 "/sys/fs/bpf", "/sys/fs/cgroup", "/proc/1/environ", "/proc/1/maps", "/proc/1/mem",
                 "/proc/1/fd", "/proc/1/root/etc/shadow", "/proc/1/cwd", "/proc/1/stack"):
        is_open(path, opens(path))


def writes(*paths):
    """What must not be written: the machine's files, the kernel's knobs, control groups."""
    wanted = [*paths, "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
              "/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger",
              "/sys/kernel/uevent_helper", "/sys/kernel/mm/ksm/run", "/proc/1/oom_score_adj",
              "/proc/1/comm", "/proc/1/mem", "/proc/1/exe", "/proc/1/fd/3", "/proc/1/fd/4",
              "/proc/1/clear_refs", "/proc/1/coredump_filter", "/proc/1/uid_map", "/run/rota-init",
              "/etc/passwd", "/etc/hosts", "/etc/resolv.conf", "/etc/ld.so.preload", "/etc/ld.so.cache",
              "/usr/bin/crun", "/bin/sh", "/proc/irq/default_smp_affinity", "/proc/fs/ext4"]
    for top in ("/proc/sys", "/sys/fs", "/sys/kernel", "/sys/module", "/proc/bus", "/proc/irq"):
        for base, folders, files in os.walk(top):
            wanted += [f"{base}/{f}" for f in files]
            if len(wanted) > 8000:
                folders.clear()
    for path in wanted:
        is_open(f"{path} can be written", opens(path, os.O_WRONLY))
    for folder in ("/", "/etc", "/usr", "/usr/lib", "/run", "/opt", "/dev", "/var", "/proc/1", "/sys/fs/cgroup"):
        name = f"{folder}/hostile-{os.getpid()}"
        try:
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            os.unlink(name)
            is_open(f"files can be made in {folder}", True)
        except OSError:
            tried()
    for what in (lambda: os.unlink("/run/rota-init"), lambda: os.rename("/run/rota-init", "/run/x"),
                 lambda: os.symlink("/tmp", "/run/x"), lambda: os.rename("/dev", "/tmp/dev"),
                 lambda: os.link("/run/rota-init", "/tmp/init")):
        try:
            what()
            is_open("process 1's program can be replaced", True)
        except OSError:
            tried()


def machine_file(path):
    """A file of root's that all may read: through a pipe (CVE-2022-0847) it must stay as it is."""
    a, b = os.pipe()
    size = 65536
    os.write(b, b"x" * size)
    os.read(a, size)
    fd = os.open(path, os.O_RDONLY)
    os.splice(fd, b, 1, offset_src=0)
    os.write(b, b"overwritten")
    with open(path, "rb") as f:
        is_open("the page cache of a file", b"overwritten" in f.read())
    m = mmap.mmap(fd, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    m[0:3] = b"COW"  # ours alone
    with open("/proc/self/mem", "r+b", buffering=0) as mem:
        at = ctypes.addressof(ctypes.c_char.from_buffer(m))
        mem.seek(at)
        mem.write(b"cow")
    with open(path, "rb") as f:
        is_open("a private copy that is not", b"cow" in f.read().lower())
    tried()


def devices(planted):
    """Only the harmless ones open, wherever the node lies, and none can be made."""
    fine = {(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 1), (5, 2)}
    for base, _, files in os.walk("/dev"):
        for name in files:
            path = f"{base}/{name}"
            s = os.lstat(path)
            if not stat.S_ISCHR(s.st_mode) and not stat.S_ISBLK(s.st_mode):
                continue
            number = (os.major(s.st_rdev), os.minor(s.st_rdev))
            if number not in fine and not 136 <= number[0] <= 143:
                is_open(f"{path} {number}", True)
    for path in glob.glob(f"{planted}/node*"):
        tried()
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            is_open(f"{path} opens", True)
        except OSError as e:
            is_open(f"{path}: {e}", e.errno not in (errno.EPERM, errno.EACCES))
    for kind in (stat.S_IFCHR, stat.S_IFBLK):
        for folder in ("/tmp", "/dev/shm"):
            try:
                os.mknod(f"{folder}/made", kind | 0o666, os.makedev(1, 1))
                os.unlink(f"{folder}/made")
                is_open(f"a node in {folder}", True)
            except OSError:
                tried()


# ---- processes ----

def neighbours(host_namespaces):
    """Nobody but its own is there, and process 1 is out of reach."""
    theirs = dict(pair.split("=") for pair in host_namespaces.split(","))
    for name, link in theirs.items():
        is_open(f"the machine's {name} namespace", os.readlink(f"/proc/self/ns/{name}") == link)
    pids = [int(p) for p in os.listdir("/proc") if p.isdigit()]
    is_open(f"processes of others {pids}", len(pids) > 3 or max(pids) > 200)
    with open("/proc/self/cgroup", encoding="ascii") as f:
        for line in f:
            is_open(f"control group {line.strip()}", not line.rstrip().endswith(":/"))
    with open("/proc/self/mountinfo", encoding="ascii") as f:
        for line in f:
            is_open(f"a mount of control groups {line}", " - cgroup" in line)
    fds = sorted(int(f) for f in os.listdir("/proc/self/fd"))
    is_open(f"descriptors are left over: {fds}", any(f > 3 for f in fds))
    is_open("process 1 can be traced", call("ptrace", 0x4206, 1, 0, 0) == 0)
    buf = ctypes.create_string_buffer(8)
    there = (ctypes.c_size_t * 2)(ctypes.addressof(buf), 8)
    is_open("process 1's memory", call("process_vm_readv", 1, there, 1, there, 1, 0) > 0)
    fd = call("pidfd_open", 1, 0)
    for n in range(8):
        is_open(f"descriptor {n} of process 1", fd >= 0 and call("pidfd_getfd", fd, n, 0) >= 0)
    is_open("less likely to be killed", opens("/proc/self/oom_score_adj", os.O_WRONLY) and lower_oom())


def lower_oom():
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as f:
            f.write("-500")
        return True
    except OSError:
        return False


def kills(all_signals):
    """Process 1 stays, whatever it is sent.  What it passes on, its own clock's signal among
    them, is ignored here; nothing that it holds open can be written."""
    more = range(signal.SIGRTMIN, signal.SIGRTMAX + 1) if all_signals == "yes" else ()
    for sig in (signal.SIGKILL, signal.SIGSTOP, *more):
        try:
            if sig in more:
                signal.signal(sig, signal.SIG_IGN)
            os.kill(1, sig)
        except OSError:
            pass
    tried()
    for fd in range(3, 64):
        for text in (b"0\n", b"fenced\n"):
            try:
                os.write(fd, text)
                is_open(f"descriptor {fd} takes what it is given", True)
            except OSError:
                tried()


# ---- others ----

def gateway():
    """Where this container's way out begins, which is the machine's; or its own loopback."""
    with open("/proc/net/route", encoding="ascii") as f:
        for line in f.readlines()[1:]:
            field = line.split()
            if field[1] == "00000000" and field[2] != "00000000":
                return socket.inet_ntoa(struct.pack("<I", int(field[2], 16)))
    return "127.0.0.1"


def net(*targets):
    """Nothing of the machine and of its neighbours answers."""
    for target in targets:
        host, port = target.rsplit(":", 1)
        if host == "gateway":
            host = gateway()
        s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        s.settimeout(1)
        try:
            s.connect((host, int(port)))
            is_open(f"{target} answers", True)
        except OSError:
            tried()
        s.close()


def leave(key):
    """A user's things, for another to look for: memory by key, a queue, files, a port."""
    shm = call(29, int(key), 4096, 0o1666)
    print("made", shm >= 0)
    for folder in ("/tmp", "/dev/shm", "/var/tmp"):
        with open(f"{folder}/of-alice", "w", encoding="ascii") as f:
            f.write("secret")
    s = socket.create_server(("0.0.0.0", 7777))
    a = socket.socket(socket.AF_UNIX)
    a.bind("\0of-alice")
    a.listen()
    LIBC.mq_open(b"/of-alice", os.O_CREAT | os.O_RDWR, 0o666, None)
    print("LEFT", flush=True)
    signal.pause()
    del s


def look(key):
    """Another user's session, while the one above is there."""
    is_open("shared memory by its key", call(29, int(key), 4096, 0) >= 0)
    for folder in ("/tmp", "/dev/shm", "/var/tmp"):
        is_open(f"files in {folder}", os.path.exists(f"{folder}/of-alice"))
    a = socket.socket(socket.AF_UNIX)
    is_open("abstract sockets", a.connect_ex("\0of-alice") == 0)
    is_open("queues", LIBC.mq_open(b"/of-alice", os.O_RDWR) >= 0)
    net("127.0.0.1:7777")
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with open(path, "rb") as f:
            is_open(f"{path} of another", b"leave" in f.read().split(b"\0"))


def cwd(*markers):
    """Where it was started, and above: nothing of the machine (CVE-2024-21626)."""
    at = "."
    for _ in range(12):
        for marker in markers:
            is_open(f"{marker} from the working directory", os.path.exists(f"{at}{marker}"))
        at += "/.."
    is_open("a working directory that is nowhere", not os.getcwd().startswith("/"))


def descriptors(most):
    """As many as it may, and the machine goes on."""
    n, held = 0, []
    try:
        while n <= int(most):
            held.append(os.open("/dev/null", os.O_RDONLY))
            n += 1
    except OSError as e:
        is_open(f"descriptors: {e}", e.errno != errno.EMFILE)
    is_open(f"{n} descriptors", n > int(most))


def shm(most):
    """Memory in /dev/shm ends where it was said to."""
    n = 0
    try:
        with open("/dev/shm/x", "wb", buffering=0) as f:
            while n <= int(most):
                n += f.write(b"x" * 1048576)
    except OSError as e:
        is_open(f"/dev/shm: {e}", e.errno != errno.ENOSPC)
    is_open(f"{n} bytes of /dev/shm", n > int(most))


def memory(most):
    """Never gets that far."""
    held = [bytearray(b"x") * 16777216 for _ in range(int(most) >> 24)]
    is_open(f"{len(held)} times 16 MiB", True)


OUTSIDE = ("privileges", "system_calls", "secrets", "devices", "neighbours", "net", "cwd")

if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
    print("TRIED", TRIED, flush=True)
