#!/usr/bin/env python3
"""Inference from disk beside the disk: every feature byte read once, the result written once.

usage: infer_vs_disk.py GNNRUN [--folder DIR] [--scale 20] [--edge-factor 16] [--dims 1024,128,128]
                        [--archs gcn,sage,gin,gat] [--repeats 3] [--backend auto] [--json FILE]
                        [--generate 'rmat'] [-- OPTIONS OF INFER ...]

The ceiling of a run is taken beside it: the bytes of the feature array of the same store are read
by O_DIRECT, 8 MiB at a time, one request after another and (`deep`) by eight threads; the bytes of
the result are written by O_DIRECT and synced. The ratios are the stream phase (first read to sealed
result) over the sum of reading, either way, and writing. Needs h5py.
"""
import argparse
import json
import mmap
import os
import statistics
import sys
import tempfile
import threading
import time

from measure import arguments, run

BLOCK = 8 << 20

parser = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('gnnrun')
parser.add_argument('--folder')
parser.add_argument('--scale', type=int, default=20)
parser.add_argument('--edge-factor', type=int, default=16)
parser.add_argument('--dims', default='1024,128,128')
parser.add_argument('--archs', default='gcn,sage,gin,gat')
parser.add_argument('--repeats', type=int, default=3)
parser.add_argument('--backend', default='auto')
parser.add_argument('--trace', action='store_true', help='a trace of the last run beside --json')
parser.add_argument('--json')
args, options = arguments(parser)


def read_direct(path, first, count, threads):
    """Seconds to read `count` bytes of a file at `first`, a multiple of 4096."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    blocks = iter(range(first, first + count, BLOCK))
    lock = threading.Lock()

    def work():
        buffer = mmap.mmap(-1, BLOCK)
        while True:
            with lock:
                at = next(blocks, None)
            if at is None:
                return
            os.preadv(fd, [buffer], at)

    pool = [threading.Thread(target=work) for _ in range(threads)]
    start = time.perf_counter()
    for t in pool:
        t.start()
    for t in pool:
        t.join()
    took = time.perf_counter() - start
    os.close(fd)
    return took


def write_direct(path, count):
    """Seconds to write `count` bytes, rounded up to blocks, and to sync them."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_DIRECT)
    buffer = mmap.mmap(-1, BLOCK)
    buffer.write(os.urandom(1 << 20) * (BLOCK >> 20))
    start = time.perf_counter()
    for _ in range(-(-count // BLOCK)):
        os.write(fd, buffer)
    os.fsync(fd)
    took = time.perf_counter() - start
    os.close(fd)
    os.unlink(path)
    return took


def show(name, values, gb):
    m = statistics.median(values)
    print(f'  {name:10s} {m:8.3f} s [{min(values):.3f} .. {max(values):.3f}]  {gb / m:6.2f} GB/s')
    return {'median': m, 'min': min(values), 'max': max(values), 'runs': values}


def measure(arch, folder, store, features, trace):
    """Runs of one architecture, each with the ceiling taken beside it."""
    model, out = os.path.join(folder, 'm.safetensors'), os.path.join(folder, 'e.h5')
    layers = args.dims.count(',')
    run(args.gnnrun, 'model', '--seeded', arch, '--dims', args.dims, '--out', model,
        *(['--heads', ','.join(['4'] * (layers - 1) + ['1'])] if arch == 'gat' else []))
    figures = {k: [] for k in ('read', 'deep', 'write', 'feature_s', 'stream_s', 'startup_s')}
    for repeat in range(args.repeats):
        more = ['--trace', trace] if trace and repeat + 1 == args.repeats else []
        report = json.loads(run(args.gnnrun, 'infer', store, '--model', model, '--out', out,
                                '--json', '--backend', args.backend, *options, *more))
        result = report['vertices'] * int(args.dims.split(',')[-1]) * 4
        figures['read'].append(read_direct(store, *features, 1))
        figures['deep'].append(read_direct(store, *features, 8))
        figures['write'].append(write_direct(out + '.ceiling', result))
        for k in ('feature_s', 'stream_s', 'startup_s'):
            figures[k].append(report[k])
    gb = features[1] / 1e9
    print(f"{arch}: {report['vertices']} vertices, {report['edges']} edges, {args.dims}, "
          f"{report['backend']}, read {report['read_bytes'] / features[1]:.3f} x features, "
          f"host {report['peak_host_bytes'] / 1e9:.2f} GB, "
          f"device {report['peak_device_bytes'] / 1e9:.2f} GB")
    shown = {k: show(k, v, gb) for k, v in figures.items()}
    for k in ('read', 'deep'):
        ratios = [s / (r + w) for s, r, w in zip(figures['stream_s'], figures[k],
                                                 figures['write'])]
        shown[k + '_ratio'] = ratios
        print(f'  stream phase over {k} + write: {statistics.median(ratios):.3f} '
              f'[{min(ratios):.3f} .. {max(ratios):.3f}]')
    return dict(shown, report=report)


def main():
    results = {}
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        store = os.path.join(folder, 'g.h5')
        run(args.gnnrun, 'generate', 'rmat', store, '--scale', args.scale,
            '--edge-factor', args.edge_factor, '--feat-dim', args.dims.split(',')[0])
        import h5py
        with h5py.File(store) as f:
            features = f['features'].id.get_offset(), f['features'].id.get_storage_size()
        for arch in args.archs.split(','):
            trace = f'{args.json}.{arch}.trace' if args.trace and args.json else None
            results[arch] = measure(arch, folder, store, features, trace)
            if args.json:
                with open(args.json, 'w') as f:
                    json.dump(results, f, indent=1)


sys.exit(main())
