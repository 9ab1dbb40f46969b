"""Serves files over https on localhost, for checks: https-server.py FOLDER CERTIFICATE KEY

Prints the port. The body of a POST request is stored in FOLDER/posted.
"""

import functools
import http.server
import os
import ssl
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(os.path.join(self.directory, "posted"), "wb") as file:
            file.write(body)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


folder, certificate, key = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
