"""An emulated machine: the distribution's kernel, and what its console says."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading

EMULATOR = "qemu-system-x86_64"


class Skip(Exception):
    """Why the test cannot run here."""


def say(text):
    print(text, flush=True)


def output_of(command, **options):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


# ---- the kernel ----

def kernel_package():
    """The name of the newest kernel for virtual machines, as the distribution says."""
    try:
        said = output_of(["apt-cache", "depends", "linux-image-cloud-amd64"],
                         stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        said = ""
    found = re.search(r"Depends: (linux-image-\S+)", said)
    if not found:
        raise Skip("no package with a kernel: linux-image-cloud-amd64 is not known here")
    return found.group(1)


def fetch_kernel(folder):
    """folder/vmlinuz and folder/modules/NAME.ko: kept, and taken as they are when there."""
    kernel, modules = folder / "vmlinuz", folder / "modules"
    if kernel.exists() and modules.exists():
        return kernel, modules
    folder.mkdir(parents=True, exist_ok=True)
    package = kernel_package()
    with tempfile.TemporaryDirectory(dir=folder) as temp:
        say(f"fetching {package}")
        try:
            subprocess.run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", package],
                           cwd=temp, check=True, stdout=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError):
            raise Skip(f"the package {package} cannot be fetched") from None
        there = pathlib.Path(temp)
        subprocess.run(["dpkg", "-x", next(there.glob("*.deb")), there / "x"], check=True)
        flat = pathlib.Path(temp) / "modules"
        flat.mkdir()
        for found in there.glob("x/lib/modules/*/kernel/**/*.ko"):
            shutil.copy(found, flat / found.name.replace("-", "_"))
        if not (flat / "overlay.ko").exists():
            raise Skip(f"{package} has no overlay.ko")
        shutil.copy(next(there.glob("x/boot/vmlinuz-*")), kernel)
        shutil.rmtree(modules, ignore_errors=True)
        flat.rename(modules)
    return kernel, modules


def with_needed(modules, names):
    """The named modules and what they depend on, in the order in which they load."""
    order = []

    def add(name):
        if name in order or not (modules / f"{name}.ko").exists():
            return  # built in
        needs = re.search(rb"\0depends=([^\0]*)\0", (modules / f"{name}.ko").read_bytes())
        for need in needs.group(1).decode().split(",") if needs else []:
            add(need.replace("-", "_"))
        order.append(name)
    for name in names:
        add(name)
    return order


# ---- the machine ----

def archive(root, path):
    """The tree as a first root file system."""
    names = output_of(["find", "."], cwd=root)
    with open(path, "wb") as out:
        subprocess.run(["cpio", "-o", "-H", "newc", "-R", "0:0", "--quiet"], cwd=root,
                       input=names.encode(), stdout=out, check=True)


def run_machine(kernel, initrd, heard, memory=1024, seconds=1100):
    """Boots it and calls heard(line) for each line of its console, until it is off."""
    command = ["nice", "-n", "10", EMULATOR, "-accel", "tcg", "-m", str(memory), "-smp", "1",
               "-nographic", "-nodefaults", "-serial", "stdio", "-no-reboot", "-kernel", kernel,
               "-initrd", initrd, "-append", "console=ttyS0 loglevel=1 panic=-1 rdinit=/init"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as machine:
        late = threading.Timer(seconds, machine.kill)
        late.start()
        try:
            for line in machine.stdout:
                heard(line.decode(errors="replace").rstrip("\r\n"))
        finally:
            late.cancel()
            machine.kill()
