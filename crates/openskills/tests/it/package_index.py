"""A small package index for tests: wheels at /simple/, npm packages at /npm/. Usage: registry.py ADDRESS PORT"""
import base64, hashlib, http.server, io, json, sys, tarfile, zipfile

def wheel(name, version, files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = f"{name}-{version}.dist-info"
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
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

address, port = sys.argv[1], int(sys.argv[2])
WHEELS = {"tiny": {"tiny-1.0-py3-none-any.whl": wheel("tiny", "1.0", {"tiny.py": "WORD = 'from a wheel'\n"})},
          "built": {"built-1.0.tar.gz": b"x"},
          "elsewhere": {}}
LEAVES = {"greet": package("greet", "1.2.0", {"index.js": "module.exports = () => 'from npm';\n", "run.js": "require('fs').writeFileSync('/tmp/ran', '')"},
                           scripts={"install": "node run.js", "postinstall": "node run.js"}, dependencies={"inner": "^1.0.0"}),
          "inner": package("inner", "1.0.1", {"index.js": "module.exports = 1;\n", "CLAUDE.md": "text"})}
VERSIONS = {"greet": "1.2.0", "inner": "1.0.1"}

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
        elif parts[0] == "npm" and len(parts) == 2 and parts[1] in LEAVES:
            name, data = parts[1], LEAVES[parts[1]]
            version = VERSIONS[name]
            manifest = json.loads(tarfile.open(fileobj=io.BytesIO(data)).extractfile("package/package.json").read())
            manifest["dist"] = {"tarball": f"http://{address}:{port}/npm/{name}/-/{name}-{version}.tgz",
                                "integrity": "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()}
            body = json.dumps({"name": name, "dist-tags": {"latest": version}, "versions": {version: manifest}}).encode()
        elif parts[0] == "npm" and len(parts) == 4:
            body = LEAVES.get(parts[1])
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Length", str(len(body or b"")))
        if parts[0] == "simple":
            self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body or b"")
    def log_message(self, *args):
        print(self.command, self.path, file=sys.stderr, flush=True)

http.server.ThreadingHTTPServer((address, port), Handler).serve_forever()
