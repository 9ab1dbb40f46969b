"""A server of the skills below a folder, made with fastmcp: python3 mcp_real_server.py FOLDER [http]"""

import socket
import sys
from pathlib import Path

from fastmcp import FastMCP
from fastmcp.server.providers.skills import SkillsDirectoryProvider
from fastmcp.skills.extension import SkillsExtension

provider = SkillsDirectoryProvider(roots=Path(sys.argv[1]).resolve(), experimental_skills=True)
server = FastMCP("real")
server.add_provider(provider)
server.add_extension(SkillsExtension(providers=[provider]))
if sys.argv[2:] == ["http"]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    print(f"http://127.0.0.1:{port}/mcp", flush=True)
    server.run(transport="http", host="127.0.0.1", port=port, show_banner=False, log_level="error")
else:
    server.run(show_banner=False, log_level="error")
