#!/usr/bin/env python3
"""Edges into a store: what an import takes, beside what the disk alone would.

usage: import_bench.py BUILD [--folder DIR] [--scale 21] [--edges 40M] [--npy-edges 40M]
                       [--inputs text,npy] [--repeats 5] [--threads N] [--host-memory SIZE]
                       [--json FILE]

Makes its inputs once a folder (kept when one is given): `gnnrun generate rmat` draws the graph, its
edges are shuffled, and written as text with a SNAP heading and as npy, int32 [2, E]. Each repeat
measures the disk (BUILD/tests/io_bench, direct I/O, 8 MiB at a time, 8 in flight: reads and writes)
and imports each file. Inputs lie in the page cache; outputs are removed before. The floor is the
bytes of the input at the rate of reads and those of the store at the rate of writes. At the end
memory is touched for the first time, 64 MiB at a time, in huge pages: what the import's peak takes
at that rate is told, too. Needs numpy.
"""
import argparse
import json
import mmap
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

parser = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('build')
parser.add_argument('--folder')
parser.add_argument('--scale', type=int, default=21)
parser.add_argument('--edges', default='40M')
parser.add_argument('--npy-edges', default='40M')
parser.add_argument('--inputs', default='text,npy')
parser.add_argument('--repeats', type=int, default=5)
parser.add_argument('--threads')
parser.add_argument('--host-memory')
parser.add_argument('--json')
args = parser.parse_args()
CHUNK = 1 << 20
GNNRUN = os.path.join(args.build, 'gnnrun')


def number(text):
    return int(float(text.rstrip('M')) * (1e6 if text.endswith('M') else 1))


def digits(ids, end):
    """(N, 11) bytes: decimal digits in front of `end`, and which of them count."""
    powers = 10 ** np.arange(9, -1, -1, dtype=np.uint64)
    text = np.full((len(ids), 11), ord(end), np.uint8)
    text[:, :10] = ids[:, None].astype(np.uint64) // powers % 10 + ord('0')
    used = np.ones((len(ids), 11), bool)
    used[:, :9] = ids[:, None] >= powers[:9]
    return text, used


def write_text(path, src, dst):
    with open(path, 'wb') as f:
        f.write(b'# Nodes: %d Edges: %d\n' % (1 << args.scale, len(src)))
        for i in range(0, len(src), CHUNK):
            parts = [digits(src[i:i + CHUNK], '\t'), digits(dst[i:i + CHUNK], '\n')]
            f.write(np.hstack([p[0] for p in parts])[np.hstack([p[1] for p in parts])].tobytes())


def draw(folder):
    """Sources and destinations in no order, as `gnnrun generate` draws them."""
    store, part = os.path.join(folder, 'drawn.h5'), os.path.join(folder, 'part.npy')
    edges = max(number(args.edges), number(args.npy_edges))
    quiet = {'check': True, 'stdout': subprocess.DEVNULL}
    subprocess.run([GNNRUN, 'generate', 'rmat', store, '--scale', str(args.scale), '--edges',
                    str(edges), '--feat-dim', '0', '--classes', '0'], **quiet)
    arrays = []
    for name in ('offsets', 'neighbors'):
        subprocess.run([GNNRUN, 'export', store, part, '--dataset', 'topology/out/' + name],
                       **quiet)
        arrays.append(np.load(part).ravel())
    os.remove(part)
    os.remove(store)
    order = np.random.default_rng(0).permutation(edges)
    src = np.repeat(np.arange(1 << args.scale, dtype=np.int32), np.diff(arrays[0].astype(np.int64)))
    return src[order], arrays[1].astype(np.int32)[order]


def make(folder):
    text, npy = os.path.join(folder, 'edges.txt'), os.path.join(folder, 'edges.npy')
    if not (os.path.exists(text) and os.path.exists(npy)):
        src, dst = draw(folder)
        write_text(text, src[:number(args.edges)], dst[:number(args.edges)])
        np.save(npy, np.stack([src, dst])[:, :number(args.npy_edges)])
    return [path for name, path in (('text', text), ('npy', npy)) if name in args.inputs]


def disk(folder):
    path = os.path.join(folder, 'disk')
    out = subprocess.run([os.path.join(args.build, 'tests/io_bench'), '--file', path, '--bytes',
                          '1G', '--runs', '1', '--request', '8M', '--depth', '8', '--engine',
                          'uring'], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in out.splitlines()[1:]]
    return {row[1]: float(row[4]) * 1e9 for row in rows}


def run(source, store):
    if os.path.exists(store):
        os.remove(store)
    options = [part for name in ('threads', 'host_memory') if getattr(args, name)
               for part in ('--' + name.replace('_', '-'), getattr(args, name))]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run([GNNRUN, 'import', source, store, '--json', '--progress', 'never',
                          *options], check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return dict(json.loads(out), cpu_s=after.ru_utime + after.ru_stime -
                before.ru_utime - before.ru_stime)


def touch(pieces=32, piece=64 << 20):
    """Bytes a second of memory that is touched for the first time, a piece each."""
    memory = mmap.mmap(-1, pieces * piece, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    page = np.frombuffer(memory, np.uint8)[::mmap.PAGESIZE]
    rates = []
    for part in np.split(page, pieces):
        start = time.thread_time()
        part[:] = 1
        rates.append(piece / (time.thread_time() - start))
    return rates


def spread(values, unit=1.0):
    return '%.2f [%.2f .. %.2f]' % tuple(f(values) * unit for f in (statistics.median, min, max))


def main():
    result = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or temporary
        store = os.path.join(folder, 'store.h5')
        files = make(folder)
        for repeat in range(args.repeats + 1):  # the first one warms up
            rate = disk(folder)
            for path in files:
                report = run(path, store)
                floor = (os.path.getsize(path) / rate['read'] +
                         os.path.getsize(store) / rate['write'])
                if repeat > 0:
                    result.setdefault(os.path.basename(path), []).append({
                        'wall_s': report['wall_s'], 'edges': report['edges_read'],
                        'cpu_s': report['cpu_s'], 'bytes': os.path.getsize(path),
                        'peak_mib': report['peak_host_bytes'] / (1 << 20), 'floor_s': floor,
                        'read': rate['read'], 'write': rate['write']})
        os.remove(store)
    touched = touch()
    for name, rows in result.items():
        wall = [r['wall_s'] for r in rows]
        print('%-9s %.0f M edges, %.0f MB: %s s = %s M edges/s; peak %.0f MiB' % (
            name, rows[0]['edges'] / 1e6, rows[0]['bytes'] / 1e6, spread(wall),
            spread([r['edges'] / r['wall_s'] for r in rows], 1e-6),
            max(r['peak_mib'] for r in rows)))
        print('          processor %s ns an edge' % spread(
            [r['cpu_s'] / r['edges'] for r in rows], 1e9))
        print('          disk read %s, write %s GB/s; floor %s s, ratio %s' % (
            spread([r['read'] for r in rows], 1e-9), spread([r['write'] for r in rows], 1e-9),
            spread([r['floor_s'] for r in rows]),
            spread([r['wall_s'] / r['floor_s'] for r in rows])))
        peak = max(r['peak_mib'] for r in rows) * (1 << 20)
        print('          memory touched first at %s GB/s a thread: the peak is %s ns an edge' % (
            spread(touched, 1e-9), spread([peak / t / rows[0]['edges'] for t in touched], 1e9)))
    if args.json:
        with open(args.json, 'w') as f:
            json.dump(result, f, indent='\t')
    return 0


if __name__ == '__main__':
    sys.exit(main())
