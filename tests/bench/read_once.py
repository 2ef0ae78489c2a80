#!/usr/bin/env python3
"""Bytes that all ranks of an inference read together, beside those that one reads, in every plan.

usage: read_once.py GNNRUN [--folder DIR] [--vertices 2000000] [--edge-factor 4] [--feat-dim 512]
                    [--dims 512,16,4] [--arch sage] [--ranks 2,4] [--most 1.02]
                    [--launch 'mpirun ...'] [--json FILE] [-- OPTIONS OF infer ...]

The graph is an sbm in planted order; 2,000,000 vertices of 512 features are 4.1 GB. Plans:
resident, partitioned in two shards, tiered with room for all states, and tiered with stores for an
eighth of the states of layer 1, each rank's for an eighth of its own. Ends with 1 when any number
of ranks reads more than --most times as much.
"""
import argparse
import json
import os
import shlex
import sys
import tempfile

from measure import arguments, run

parser = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('gnnrun')
parser.add_argument('--folder')
parser.add_argument('--vertices', type=int, default=2000000)
parser.add_argument('--edge-factor', type=int, default=4)
parser.add_argument('--feat-dim', type=int, default=512)
parser.add_argument('--dims', default='512,16,4')
parser.add_argument('--arch', default='sage')
parser.add_argument('--ranks', default='2,4')
parser.add_argument('--most', type=float, default=1.02)
parser.add_argument('--launch', default='mpirun --oversubscribe --bind-to none' + (
    ' --allow-run-as-root' if os.geteuid() == 0 else ''))
parser.add_argument('--json')
args, options = arguments(parser)


def plans(ranks):
    states = args.vertices * int(args.dims.split(',')[1]) * 4
    yield 'resident', ('--plan', 'resident')
    yield 'partitioned, 2 shards', ('--plan', 'partitioned', '--shards', 2)
    yield 'tiered', ('--plan', 'tiered')
    yield 'tiered, an eighth', ('--plan', 'tiered', '--hot-store', states // 8 // ranks,
                                '--chunk-bytes', '1M')


def measure(folder, ranks, plan):
    words = [args.gnnrun, 'infer', os.path.join(folder, 'g.h5'), '--model',
             os.path.join(folder, 'm.safetensors'), '--out', os.path.join(folder, 'e.h5'),
             '--json', '--backend', 'cpu', *plan, *options]
    if ranks > 1:
        words = [*shlex.split(args.launch), '-np', ranks, *words]
    return json.loads(run(*words))


def main():
    rows = []
    print('| plan | ranks | features | read | of one rank | evictions | peak of a rank |\n'
          '|---|---|---|---|---|---|---|')
    with tempfile.TemporaryDirectory(prefix='gnnrun-read-once-', dir=args.folder) as folder:
        run(args.gnnrun, 'generate', 'sbm', os.path.join(folder, 'g.h5'), '--vertices',
            args.vertices, '--edge-factor', args.edge_factor, '--feat-dim', args.feat_dim,
            '--no-shuffle')
        run(args.gnnrun, 'model', '--seeded', args.arch, '--dims', args.dims, '--out',
            os.path.join(folder, 'm.safetensors'))
        one = {}
        for ranks in (1, *map(int, args.ranks.split(','))):
            for name, plan in plans(ranks):
                r = measure(folder, ranks, plan)
                one.setdefault(name, r['read_bytes'])
                rows.append({'plan': name, 'ranks': ranks, 'read_bytes': r['read_bytes'],
                             'feature_bytes': r['feature_bytes'],
                             'of_one': r['read_bytes'] / one[name],
                             'evictions': sum(x['evictions'] for x in r['layers']),
                             'peak_host_bytes': r['peak_host_bytes']})
                last = rows[-1]
                print(f"| {name} | {ranks} | {last['feature_bytes'] / 1e9:.2f} GB | "
                      f"{last['read_bytes']:,} | {last['of_one']:.4f} | {last['evictions']:,} | "
                      f"{last['peak_host_bytes'] / 1e6:.0f} MB |", flush=True)
    if args.json:
        with open(args.json, 'w', encoding='utf-8') as f:
            json.dump(rows, f, indent=1)
    return any(r['of_one'] > args.most for r in rows)


if __name__ == '__main__':
    sys.exit(main())
