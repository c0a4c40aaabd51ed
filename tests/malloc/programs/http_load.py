# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Load for a web server at a Unix socket: pages, ranges, compressed, missing; prints a digest of the answers."""
import hashlib
import socket
import sys
import threading
import time

REQUESTS = ["GET /a.txt", "GET /b.txt", "GET /r/a.txt", "GET /none", "HEAD /a.txt", "GET /"]
HEADERS = ["", "Accept-Encoding: gzip\r\n", "Range: bytes=100-9000\r\n", "X-Long: " + "y" * 3000 + "\r\n"]


def connect(path):
    for _ in range(1200):
        try:
            client = socket.socket(socket.AF_UNIX)
            client.connect(path)
            return client
        except OSError:
            time.sleep(0.05)
    sys.exit("http_load.py: no server")


def body_of(path, request, header):
    with connect(path) as client:
        client.sendall(f"{request} HTTP/1.1\r\nHost: x\r\n{header}Connection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: client.recv(1 << 16), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0] + body


def load(path, results, thread):
    digest = hashlib.sha256()
    for i in range(300):
        digest.update(body_of(path, REQUESTS[i % len(REQUESTS)], HEADERS[(i + thread) % len(HEADERS)]))
    results[thread] = digest.hexdigest()


def main():
    results = {}
    threads = [threading.Thread(target=load, args=(sys.argv[1], results, t)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sorted(results.items()))


if __name__ == "__main__":
    main()
