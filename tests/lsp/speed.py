"""Types into a recipe of 3,000 lines, and says how long findings take to come back."""

import json
import subprocess
import sys
import time


def recipe(lines):
    text = ["name: big", "description: many steps", "version: 1.0.0", "context:", "  user: ada", "steps:"]
    number = 0
    while len(text) < lines - 6:
        text += [
            f"  - id: step-{number}",
            "    type: bash",
            "    command: |",
            f"      echo \"{{{{user}}}} {number}\" | grep -c '{{{{user}}}}'",
            f"    output: out_{number}",
            f"    condition: \"{{{{user}}}} == 'ada'\"",
        ]
        number += 1
    return "\n".join(text) + "\n"


class Server:
    def __init__(self, rrc):
        self.child = subprocess.Popen([rrc, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, **message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.child.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.child.stdin.flush()

    def read(self):
        length = 0
        while (line := self.child.stdout.readline().strip()) != b"":
            length = int(line.split(b":")[1])
        return json.loads(self.child.stdout.read(length))

    def wait(self, version):
        while True:
            message = self.read()
            if message.get("params", {}).get("version") == version:
                return message["params"]["diagnostics"]


def main(rrc, edits=500):
    server = Server(rrc)
    server.send(id=1, method="initialize", params={"capabilities": {}})
    server.read()
    server.send(method="initialized", params={})
    uri, text = "file:///big.yaml", recipe(3000)
    document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
    server.send(method="textDocument/didOpen", params={"textDocument": document})
    server.wait(1)
    lines = text.split("\n")
    line = next(at for at in range(1500, 3000) if "echo" in lines[at])
    column = lines[line].index("echo")
    times = []
    for number in range(edits):
        version = number + 2
        place = {"line": line, "character": column}
        # A hole with an unknown name comes and goes.
        change = {"range": {"start": place, "end": place}, "text": "{{nobody}} "}
        if number % 2:
            end = {"line": line, "character": column + 11}
            change = {"range": {"start": place, "end": end}, "text": ""}
        start = time.perf_counter()
        server.send(
            method="textDocument/didChange",
            params={"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]},
        )
        found = server.wait(version)
        times.append((time.perf_counter() - start) * 1000)
        assert any("nobody" in one["message"] for one in found) == (number % 2 == 0), found
    times.sort()
    at = lambda part: times[min(len(times) - 1, int(len(times) * part))]
    size = len(text)
    print(f"{size} bytes: median {at(0.5):.2f} ms, 99 % {at(0.99):.2f} ms, most {times[-1]:.2f} ms")
    server.send(id=2, method="shutdown")
    server.send(method="exit")
    server.child.wait()


if __name__ == "__main__":
    main(sys.argv[1])
