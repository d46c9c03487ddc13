#!/usr/bin/env python3
"""images.py DIR - makes an OCI layout with the images that tests run.

As a module: Layout writes any image, hostile ones too.  A layer is a list of
entries (name, what), what being None (a directory), bytes (a file), or a dict
with the fields of a tarfile.TarInfo.
"""
import gzip
import hashlib
import io
import json
import os
import sys
import tarfile

BUSYBOX = "/bin/busybox"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
INDEX = "application/vnd.oci.image.index.v1+json"
KINDS = {"symlink": tarfile.SYMTYPE, "link": tarfile.LNKTYPE, "char": tarfile.CHRTYPE,
         "block": tarfile.BLKTYPE, "fifo": tarfile.FIFOTYPE, "dir": tarfile.DIRTYPE}


def sha(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def machine():
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)


def tar(entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as t:
        for name, what in entries:
            info = tarfile.TarInfo(name)
            info.mode, info.mtime, data = 0o755, 1700000000, None
            if what is None:
                info.type = tarfile.DIRTYPE
            elif isinstance(what, bytes):
                data = what
            else:
                what = dict(what)
                data = what.pop("data", None)
                kind = what.pop("kind", None)
                if kind:
                    info.type = KINDS[kind]
                for key, value in what.items():
                    setattr(info, key, value)
            if data is not None:
                info.size = len(data)
            t.addfile(info, io.BytesIO(data) if data is not None else None)
    return out.getvalue()


class Layout:
    def __init__(self, path):
        self.path, self.manifests = path, []
        os.makedirs(path + "/blobs/sha256", exist_ok=True)

    def blob(self, data, kind):
        digest = sha(data)
        with open(f"{self.path}/blobs/sha256/{digest[7:]}", "wb") as f:
            f.write(data)
        return {"mediaType": kind, "digest": digest, "size": len(data)}

    def layer(self, entries, pack=True):
        raw = entries if isinstance(entries, bytes) else tar(entries)
        if not pack:
            return self.blob(raw, LAYER.replace("+gzip", "")), sha(raw)
        return self.blob(gzip.compress(raw, 6, mtime=0), LAYER), sha(raw)

    def image(self, tag, layers, arch=None, **run):
        config = {"architecture": arch or machine(), "os": "linux", "config": run,
                  "rootfs": {"type": "layers", "diff_ids": [d for _, d in layers]},
                  "history": [{"created_by": "a test", "empty_layer": False}]}
        doc = {"schemaVersion": 2, "mediaType": MANIFEST,
               "config": self.blob(json.dumps(config).encode(), CONFIG),
               "layers": [part for part, _ in layers]}
        part = self.blob(json.dumps(doc).encode(), MANIFEST)
        self.manifests.append({**part, "annotations": {"org.opencontainers.image.ref.name": tag}})
        return part["digest"]

    def write(self):
        for name, doc in (("index.json", {"schemaVersion": 2, "mediaType": INDEX,
                                          "manifests": self.manifests}),
                          ("oci-layout", {"imageLayoutVersion": "1.0.0"})):
            with open(f"{self.path}/{name}", "w", encoding="ascii") as f:
                json.dump(doc, f)


def busybox():
    with open(BUSYBOX, "rb") as f:
        return [("bin", None), ("bin/busybox", f.read()),
                ("bin/sh", {"kind": "link", "linkname": "bin/busybox"})]


def link(name, to):
    return (name, {"kind": "symlink", "linkname": to})


def standard(path):
    """Good images and hostile ones, each under a tag."""
    out = Layout(path)
    base = out.layer(busybox())
    more = out.layer([("data", None), ("data/a", b"a1\n"), ("data/b", b"b1\n"),
                      ("gone", None), ("gone/x", b"x"), ("etc", None),
                      ("etc/passwd", b"root:x:0:0::/:/bin/sh\napp:x:1000:1000::/app:/bin/sh\n")])
    less = out.layer([("data", None), ("data/.wh.a", b""), ("data/b", b"b2\n"),
                      ("gone", None), ("gone/.wh..wh..opq", b""), ("gone/y", b"y")], pack=False)
    out.image("base", [base])
    out.image("layers", [base, more, less], Env=["PATH=/bin", "HOME=/app", "FROM_IMAGE=yes",
                                                 "ROTA_RANK=99"], WorkingDir="/data")
    out.image("command", [base], Entrypoint=["/bin/busybox", "echo"], Cmd=["from", "the image"],
              Env=None, Labels={"a": "b"}, User="1000", ExposedPorts={"80/tcp": {}})
    out.image("twice", [base, more, base])
    out.image("foreign", [base], arch="s390x-not")
    out.image("links", [base, out.layer([link("run", "/etc"), link("tmp", "/proc"),
                                         link("etc", "/"), link("dev", "../../../..")])])
    hostile = {
        "dotdot": [("../../escaped", b"x")],
        "hardlink": [("leak", {"kind": "link", "linkname": "../../../../etc/shadow"})],
        "hardlink-abs": [("leak", {"kind": "link", "linkname": "/etc/shadow"})],
        "nowhere": [link("out", "/tmp"), ("out/escaped-by-link", b"x")],
        "through-link": [("tmp", None), link("out", "/../../tmp"), ("out/escaped-by-link", b"x")],
        "through-file": [("f", b"x"), ("f/below", b"x")],
        "deep": [("/".join(["d"] * 300), b"x")],
    }
    for tag, entries in hostile.items():
        out.image("hostile-" + tag, [base, out.layer(entries)])
    out.image("devices", [base, out.layer([
        ("disk", {"kind": "block", "devmajor": 254, "devminor": 0}),
        ("null", {"kind": "char", "devmajor": 1, "devminor": 3}),
        ("pipe", {"kind": "fifo"}), ("root-sh", {"mode": 0o6755, "data": b"x"})])])
    out.image("bomb", [base, out.layer([("zeros", bytes(256 << 20))])])
    out.image("sparse", [base, out.layer([("huge", {"size": 1 << 50})])])
    out.image("no-archive", [base, out.layer(b"this is no archive" * 100, pack=False)])
    cut, ident = out.layer([("cut", b"x" * 100000)])
    out.image("damaged", [base, (cut, ident)])
    with open(f"{path}/blobs/sha256/{cut['digest'][7:]}", "r+b") as f:
        f.truncate(cut["size"] // 2)
    out.write()


if __name__ == "__main__":
    standard(sys.argv[1])
