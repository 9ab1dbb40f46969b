"""A small package index for tests: wheels at /simple/, npm packages at /npm/.

    package_index.py ADDRESS PORT [FOLDER]

With FOLDER it serves the wheels and npm packages in it, else a few of its own.
"""
import base64, hashlib, http.server, io, json, os, re, sys, tarfile, urllib.parse, zipfile

def wheel(name, version, files, *more):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = f"{name}-{version}.dist-info"
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"{line}\n" for line in more))
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return out.getvalue()

def package(name, version, files, **more):
    out = io.BytesIO()
    files = {"package.json": json.dumps({"name": name, "version": version, "main": "index.js", **more}), **files}
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo("package/" + path)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()

def source(folder, files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{folder}/{path}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()

address, port = sys.argv[1], int(sys.argv[2])
WHEELS = {"tiny": {"tiny-1.0-py3-none-any.whl": wheel("tiny", "1.0", {"tiny.py": "WORD = 'from a wheel'\n"})},
          "built": {"built-1.0.tar.gz": b"x"},
          # It depends on a package that is not a wheel and whose build writes a file.
          "direct": {"direct-1.0-py3-none-any.whl": wheel("direct", "1.0", {"direct.py": ""}, f"Requires-Dist: evil @ http://{address}:{port}/files/evil-1.0.tar.gz")},
          "evil": {"evil-1.0.tar.gz": source("evil-1.0", {"pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n", "backend.py": "import os\nos.makedirs('/packages/wheels', exist_ok=True)\nopen('/packages/wheels/ran', 'w').write('')\n"})},
          "elsewhere": {}}
LEAVES = {"greet": package("greet", "1.2.0", {"index.js": "module.exports = () => 'from npm';\n", "run.js": "require('fs').writeFileSync('/tmp/ran', '')"},
                           scripts={"install": "node run.js", "postinstall": "node run.js"}, dependencies={"inner": "^1.0.0"}),
          "fromgit": package("fromgit", "1.0.0", {"index.js": ""}, dependencies={"evil": f"git+http://{address}:{port}/evil.git"}),
          "fromurl": package("fromurl", "1.0.0", {"index.js": ""}, dependencies={"evil": "http://10.88.0.1/evil.tgz"}),
          "inner": package("inner", "1.0.1", {"index.js": "module.exports = 1;\n", "CLAUDE.md": "text"})}

def manifest(data):
    """Reads the package.json of an npm package."""
    archive = tarfile.open(fileobj=io.BytesIO(data))
    member = next(entry for entry in archive.getmembers() if re.fullmatch(r"[^/]+/package\.json", entry.name))
    return json.loads(archive.extractfile(member).read())

if len(sys.argv) > 3:
    WHEELS, LEAVES = {}, {}
    for name in sorted(os.listdir(sys.argv[3])):
        with open(os.path.join(sys.argv[3], name), "rb") as file:
            data = file.read()
        if name.endswith(".whl"):
            WHEELS.setdefault(re.sub(r"[-_.]+", "-", name.split("-")[0]).lower(), {})[name] = data
        elif name.endswith(".tgz"):
            found = manifest(data)
            LEAVES.setdefault(found["name"], {})[found["version"]] = data
else:
    LEAVES = {name: {manifest(data)["version"]: data} for name, data in LEAVES.items()}

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        parts = self.path.strip("/").split("/")
        body = None
        if parts[0] == "simple" and len(parts) == 2 and parts[1] in WHEELS:
            links = "".join(f'<a href="/files/{name}">{name}</a>' for name in WHEELS[parts[1]])
            if parts[1] == "elsewhere":
                links = '<a href="http://10.88.0.1/elsewhere-1.0-py3-none-any.whl">elsewhere-1.0-py3-none-any.whl</a>'
            body = f"<html><body>{links}</body></html>".encode()
        elif parts[0] == "files":
            body = next((files[parts[1]] for files in WHEELS.values() if parts[1] in files), None)
        elif parts[0] == "npm-files" and len(parts) == 3:
            body = LEAVES.get(urllib.parse.unquote(parts[1]), {}).get(parts[2].removesuffix(".tgz"))
        elif parts[0] == "npm":
            name = urllib.parse.unquote("/".join(parts[1:]))
            versions = {version: self.about(name, version, data) for version, data in LEAVES.get(name, {}).items()}
            latest = max(versions, key=lambda text: [int(part) for part in re.findall(r"\d+", text)], default=None)
            body = json.dumps({"name": name, "dist-tags": {"latest": latest}, "versions": versions}).encode() if versions else None
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Length", str(len(body or b"")))
        if parts[0] == "simple":
            self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body or b"")
    def about(self, name, version, data):
        quoted = urllib.parse.quote(name, safe="")
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
        tarball = f"http://{address}:{port}/npm-files/{quoted}/{version}.tgz"
        return {**manifest(data), "dist": {"tarball": tarball, "integrity": integrity}}

    def log_message(self, *args):
        print(self.command, self.path, file=sys.stderr, flush=True)

http.server.ThreadingHTTPServer((address, port), Handler).serve_forever()
