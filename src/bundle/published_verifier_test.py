#!/usr/bin/env python3
"""The published Python SDK verifies a bundle of ours.

Usage: published_verifier_test.py BUNDLE SIGNING_KEY. Exits with 77, "skipped", where the SDK is not
installed, or is one before 2.10, which spelled the canonical form in another way.
"""
import pathlib
import sys

SKIPPED = 77

try:
    from durable_workflow import history_bundle_verify as published
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)
if not published._canonicalize({"text": "\u00e9"}).isascii():
    print("skipped: this SDK is older than 2.10")
    sys.exit(SKIPPED)

bundle, key = sys.argv[1:]
report = published.verify_bundle_json(pathlib.Path(bundle).read_text(encoding="utf-8"), key)
print(report["status"], report["findings"])
sys.exit(0 if report["status"] == "ok" and report["integrity"]["signature_verified"] else 1)
