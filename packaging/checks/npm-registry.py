"""Serves npm packages from a folder, like a registry: npm-registry.py FOLDER

Prints the port.
"""

import base64
import hashlib
import http.server
import io
import json
import os
import sys
import tarfile
import urllib.parse

folder = sys.argv[1]
packages = {}
files = {}
for file in os.listdir(folder):
    if file.endswith(".tgz"):
        with open(os.path.join(folder, file), "rb") as content:
            files[file] = content.read()
        with tarfile.open(fileobj=io.BytesIO(files[file])) as archive:
            packages[file] = json.load(archive.extractfile("package/package.json"))


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = urllib.parse.unquote(self.path.split("?")[0]).lstrip("/")
        if path.startswith("files/"):
            return self.answer(files.get(path.removeprefix("files/")))
        for file, manifest in packages.items():
            if manifest["name"] == path:
                version = manifest["version"]
                digest = base64.b64encode(hashlib.sha512(files[file]).digest()).decode()
                url = f"http://127.0.0.1:{self.server.server_port}/files/{file}"
                manifest = manifest | {"dist": {"tarball": url, "integrity": f"sha512-{digest}"}}
                document = {"name": path, "dist-tags": {"latest": version}, "versions": {version: manifest}}
                return self.answer(json.dumps(document).encode())
        return self.answer(None)

    def answer(self, body):
        self.send_response(404 if body is None else 200)
        body = body or b"{}"
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
