#!/usr/bin/env python3
"""Adds up ctest's JUnit files: why tests were skipped, which failed, and the closing line.

usage: summary.py JUNIT.xml ...

Exit status 1 when a test failed or none passed.
"""
import sys
import xml.etree.ElementTree as tree


def reason(case):
    """The last line that the test printed, or what ctest says."""
    lines = [line.strip() for line in (case.findtext("system-out") or "").split("\n")]
    # Google Test prints the place and the reason between these two marks.
    lines = [line for line in lines if line and not line.startswith("[")]
    told = [line for line in lines if "skip" in line.lower()] or lines[-1:]
    skipped = case.find("skipped")
    return told[-1] if told else skipped.get("message", "") if skipped is not None else ""


def main():
    count = {"run": 0, "fail": 0, "skip": 0}
    for path in sys.argv[1:]:
        for case in tree.parse(path).getroot().iter("testcase"):
            status = case.get("status")
            kind = status if status in ("run", "fail") else "skip"
            count[kind] += 1
            if kind != "run":
                text = f": {reason(case)}" if kind == "skip" else ""
                print(f"{'skipped' if kind == 'skip' else 'FAILED '} {case.get('name')}{text}")
    print(f"{count['run']} passed, {count['fail']} failed, {count['skip']} skipped")
    return 1 if count["fail"] or not count["run"] else 0


if __name__ == "__main__":
    sys.exit(main())
