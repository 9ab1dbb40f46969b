"""A fake MCP server: lists come from list.json, single skills from get.json, files from files.json. The methods of all
requests are written to asked.txt."""

import json
import os
import sys

for line in sys.stdin:
    message = json.loads(line)
    with open("asked.txt", "a") as asked:
        asked.write(message["method"] + " " + json.dumps(message.get("params", {}).get("uri", "")) + "\n")
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    params = message.get("params") or {}
    if message["method"] == "initialize":
        extensions = json.load(open("extensions.json"))
        capabilities = {"resources": {}, "extensions": extensions}
        answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": {"name": "liar", "version": "1"}}
    elif message["method"] == "skills/list":
        answer["result"] = json.load(open("list.json"))
    elif message["method"] == "skills/get":
        known = json.load(open("get.json")) if os.path.exists("get.json") else {}
        found = known.get(params["uri"], {"code": -32602, "message": "there is no such skill"})
        if "code" in found:
            answer["error"] = found
        else:
            answer["result"] = {"resultType": "complete", "skill": found, "ttlMs": 0, "cacheScope": "private"}
    elif message["method"] == "resources/read":
        text = json.load(open("files.json")).get(params["uri"])
        if text is None:
            answer["error"] = {"code": -32602, "message": "there is no such file"}
        else:
            contents = text if isinstance(text, list) else [{"uri": params["uri"], "text": text}]
            answer["result"] = {"contents": contents}
    else:
        answer["error"] = {"code": -32601, "message": "there is no such method"}
    print(json.dumps(answer), flush=True)
