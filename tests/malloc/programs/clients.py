# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Four clients of a server at a Unix socket, at once; prints a digest of the answers.

usage: clients.py http SOCKET         pages, ranges, compressed, missing
       clients.py memcached SOCKET    sets, then gets of what is stored at the end
"""
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
    sys.exit("clients.py: no server")


def four_at_once(client, *arguments):
    threads = [threading.Thread(target=client, args=(*arguments, t)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


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


def store(path, thread):
    stream = connect(path).makefile("rwb")
    for i in range(6000):
        value = (f"{thread}-{i}-" * (1 + i * 37 % 300)).encode()
        stream.write(b"set t%d-%d 0 0 %d\r\n%s\r\n" % (thread, i % 400, len(value), value))
        stream.flush()
        if stream.readline() != b"STORED\r\n":
            sys.exit("clients.py: not stored")


def read(stream, key):
    stream.write(b"get %s\r\n" % key)
    stream.flush()
    head = stream.readline().split()
    if head == [b"END"]:
        return b""
    value = stream.read(int(head[3]) + 2)
    stream.readline()
    return value


def main():
    kind, path = sys.argv[1:]
    if kind == "http":
        results = {}
        four_at_once(load, path, results)
        print(sorted(results.items()))
    else:
        four_at_once(store, path)
        stream = connect(path).makefile("rwb")
        digest = hashlib.sha256()
        for thread in range(4):
            for i in range(400):
                digest.update(read(stream, b"t%d-%d" % (thread, i)))
        print(digest.hexdigest())


if __name__ == "__main__":
    main()
