#!/usr/bin/env python3
"""Runs an example against a development server of its own, twice: the second time it must find what
the first recorded.

Usage: run_with_server.py DW PROGRAM TEXT. PROGRAM gets the server's address and must print TEXT.
"""
import re
import subprocess
import sys


def main(dw: str, program: str, text: str) -> int:
    server = subprocess.Popen([dw, "server:dev", "--ephemeral", "--port", "0"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        url = re.search(r"(http://\S+)/api", server.stdout.readline()).group(1)
        for _ in range(2):
            ran = subprocess.run([program, url], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, timeout=100)
            print(ran.stdout)
            if ran.returncode != 0 or text not in ran.stdout:
                print(f"it ended with {ran.returncode} and did not print '{text}'")
                return 1
        return 0
    finally:
        server.terminate()
        server.wait(60)
        server.stdout.close()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
