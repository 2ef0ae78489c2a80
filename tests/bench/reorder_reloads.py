#!/usr/bin/env python3
"""Reloads of a tiered plan against the span of the order, over intermediate orders of taurus.

usage: reorder_reloads.py GNNRUN [--vertices 20000] [--hot-store 600K] [--chunk-bytes 64K]

An sbm (100 communities, mixing .05) in random order, a GCN of two layers, one budget. R2 is of a
straight line. Counts, so the machine does not matter; seconds are shown and not fitted.
"""
import argparse
import json
import os
import subprocess
import tempfile

JOBS = ('random',), ('atlas',), ('rcm',), *(
    ('taurus', '--bootstrap', b, '--iterations', k) for b in ('original', 'rcm')
    for k in (1, 2, 3, 5))


def r2(points):
    n = len(points)
    mx, my = (sum(p[k] for p in points) / n for k in (0, 1))
    sxy = sum((x - mx) * (y - my) for x, y in points)
    sxx, syy = (sum((p[k] - m) ** 2 for p in points) for k, m in ((0, mx), (1, my)))
    return sxy * sxy / (sxx * syy)


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('gnnrun')
    p.add_argument('--vertices', type=int, default=20000)
    p.add_argument('--hot-store', default='600K')
    p.add_argument('--chunk-bytes', default='64K')
    a = p.parse_args()

    def run(*args):
        out = subprocess.run([a.gnnrun, *map(str, args), '--progress', 'never', '--json'],
                             check=True, capture_output=True, text=True).stdout
        return json.loads(out) if out else None

    points = []
    print('| order | C | reloads | stream, s |\n|---|---|---|---|')
    with tempfile.TemporaryDirectory() as folder:
        store, out, model, result = (os.path.join(folder, n) for n in
                                     ('g.h5', 'o.h5', 'm.safetensors', 'e.h5'))
        run('generate', 'sbm', store, '--vertices', a.vertices, '--feat-dim', 32,
            '--communities', 100)
        run('model', '--seeded', 'gcn', '--dims', '32,64,8', '--out', model)
        for job in JOBS:
            span = run('reorder', store, out, '--order', *job)['span_after']
            said = run('infer', out, '--model', model, '--out', result, '--plan', 'tiered',
                       '--hot-store', a.hot_store, '--chunk-bytes', a.chunk_bytes)
            reloads = sum(layer['reloads'] for layer in said['layers'])
            points.append((span, reloads))
            name = ' '.join(str(x) for x in job if not str(x).startswith('--'))
            print(f'| {name} | {span:.4g} | {reloads:,} | {said["stream_s"]:.2f} |', flush=True)
    print(f'\nR2 of reloads over C: {r2(points):.3f}')


if __name__ == '__main__':
    main()
