#!/usr/bin/env python3
"""Where the time of a run goes: the spans of a --trace, summed by thread and name.

usage: trace_table.py TRACE.json

A row has how many spans of a name a thread had, their seconds, the longest, and when the first
began and the last ended, in seconds since the first span of the trace. Spans lie within each other,
so seconds of a thread do not add up: a stage's own span is its life.
"""
import argparse
import json


def load(path):
    """Names of threads, and spans; a trace may end in the middle."""
    with open(path, encoding='utf-8') as f:
        text = f.read().rstrip().rstrip(',')
    events = json.loads(text if text.endswith(']') else text + ']')
    names = {e['tid']: e['args']['name'] for e in events if e['name'] == 'thread_name'}
    return names, [e for e in events if e['ph'] == 'X']


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('trace')
    names, spans = load(p.parse_args().trace)
    begin = min(e['ts'] for e in spans)
    rows = {}
    for e in spans:
        rows.setdefault((names.get(e['tid'], e['tid']), e['name']), []).append(e)
    print('| thread | span | count | s | longest | from | to |\n|---|---|---|---|---|---|---|')
    for (thread, name), found in rows.items():
        seconds = [e['dur'] * 1e-6 for e in found]
        first = (min(e['ts'] for e in found) - begin) * 1e-6
        last = (max(e['ts'] + e['dur'] for e in found) - begin) * 1e-6
        print(f'| {thread} | {name} | {len(found)} | {sum(seconds):.3f} | {max(seconds):.4f} | '
              f'{first:.3f} | {last:.3f} |')


if __name__ == '__main__':
    main()
