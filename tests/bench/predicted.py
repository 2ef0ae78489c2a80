#!/usr/bin/env python3
"""What --explain predicts beside what runs do: bytes and seconds of the plans, in one table.

usage: predicted.py GNNRUN [--folder DIR] [--vertices 200000] [--degree 16] [--width 256]
                    [--repeats 3] [--archs gcn,sage,gat] [--json FILE] [-- OPTIONS OF INFER ...]

Graphs: R-MAT in random order, and an sbm (communities of 1,000, mixing .05) in planted order.
Plans: resident, partitioned in four shards, tiered with a quarter of the states of layer 1 by
belady and by lru. The hidden layer is as wide as the features in the tiered plan and half of them
in the others, the output a sixteenth. A row gives both figures of the whole run; seconds are those
of the layers, medians of the repeats, each with the prediction made in the same run.
"""
import argparse
import json
import os
import statistics
import tempfile

from measure import arguments, run

parser = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('gnnrun')
parser.add_argument('--folder')
parser.add_argument('--vertices', type=int, default=200000)
parser.add_argument('--degree', type=int, default=16)
parser.add_argument('--width', type=int, default=256)
parser.add_argument('--repeats', type=int, default=3)
parser.add_argument('--archs', default='gcn,sage,gat')
parser.add_argument('--json')
args, options = arguments(parser)


def make_stores(folder):
    size = ('--vertices', args.vertices, '--edges', args.vertices * args.degree, '--feat-dim',
            args.width)
    stores = {'R-MAT': os.path.join(folder, 'rmat.h5'), 'sbm': os.path.join(folder, 'sbm.h5')}
    run(args.gnnrun, 'generate', 'rmat', stores['R-MAT'], *size)
    run(args.gnnrun, 'generate', 'sbm', stores['sbm'], *size, '--communities',
        max(args.vertices // 1000, 2), '--no-shuffle')
    return stores


def plans():
    quarter = args.vertices * args.width  # of 4 bytes each
    narrow = (args.width, args.width // 2, args.width // 16)
    wide = (args.width, args.width, args.width // 16)
    yield 'resident', narrow, ('--plan', 'resident')
    yield 'partitioned, 4', narrow, ('--plan', 'partitioned', '--shards', 4)
    for policy in ('belady', 'lru'):
        yield f'tiered, {policy}', wide, ('--plan', 'tiered', '--evict', policy, '--hot-store',
                                          quarter, '--chunk-bytes', '1M')


def measure(folder, arch, store, dims, plan):
    """The reports of the repeats."""
    model = os.path.join(folder, 'm.safetensors')
    heads = ('--heads', '4,1') if arch == 'gat' else ()
    if arch == 'gat':
        dims = (dims[0], dims[1] // 4, dims[2])
    run(args.gnnrun, 'model', '--seeded', arch, '--dims', ','.join(map(str, dims)), *heads,
        '--out', model)
    return [json.loads(run(args.gnnrun, 'infer', store, '--model', model, '--out',
                           os.path.join(folder, 'e.h5'), '--json', '--backend', 'cpu', *plan,
                           *options)) for _ in range(args.repeats)]


def row_of(graph, plan, arch, reports):
    last = reports[-1]
    seconds = [(sum(l['predicted_s'] for l in r['layers']),
                sum(l['wall_s'] for l in r['layers'])) for r in reports]
    said, took = (statistics.median(s[k] for s in seconds) for k in (0, 1))
    bytes_said = last['predicted_read_bytes'] + last['predicted_written_bytes']
    bytes_moved = last['read_bytes'] + last['written_bytes']
    return {'graph': graph, 'plan': plan, 'arch': arch,
            'predicted_read_bytes': last['predicted_read_bytes'],
            'read_bytes': last['read_bytes'],
            'predicted_written_bytes': last['predicted_written_bytes'],
            'written_bytes': last['written_bytes'],
            'bytes_ratio': bytes_moved / bytes_said,
            'predicted_s': said, 's': took, 's_all': [s[1] for s in seconds],
            's_ratio': statistics.median(t / p for p, t in seconds)}


def main():
    rows = []
    print('| graph | plan | conv | read + written MB, predicted | moved | ratio | s, predicted | '
          'taken | ratio |\n|---|---|---|---|---|---|---|---|---|')
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        stores = make_stores(folder)
        for name, dims, plan in plans():
            for graph, store in stores.items():
                if name.startswith('tiered') and graph == 'R-MAT':
                    continue  # in random order nothing stays: the planner takes partitioned
                for arch in args.archs.split(','):
                    r = row_of(graph, name, arch, measure(folder, arch, store, dims, plan))
                    rows.append(r)
                    print(f"| {graph} | {name} | {arch} | {r['predicted_read_bytes'] / 1e6:.1f} + "
                          f"{r['predicted_written_bytes'] / 1e6:.1f} | "
                          f"{r['read_bytes'] / 1e6:.1f} + {r['written_bytes'] / 1e6:.1f} | "
                          f"{r['bytes_ratio']:.3f} | {r['predicted_s']:.2f} | {r['s']:.2f} "
                          f"[{min(r['s_all']):.2f} .. {max(r['s_all']):.2f}] | "
                          f"{r['s_ratio']:.2f} |", flush=True)
    if args.json:
        with open(args.json, 'w') as f:
            json.dump(rows, f, indent=1)


if __name__ == '__main__':
    main()
