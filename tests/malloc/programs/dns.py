# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A name server for its standard input's life: answers each question with an address made from a sum of the question.

usage: dns.py FILE     writes its port to FILE
"""
import socket
import sys
import zlib
from pathlib import Path

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
Path(sys.argv[1]).write_text(f"{server.getsockname()[1]}\n")
while True:
    query, client = server.recvfrom(4096)
    end = query.index(b"\0", 12) + 5
    if query[12:].startswith(b"\4stop"):
        break
    record = b"\xc0\x0c\0\1\0\1\0\0\x0e\x10\0\4" + zlib.crc32(query[12:end]).to_bytes(4, "big")
    server.sendto(query[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + query[12:end] + record, client)
