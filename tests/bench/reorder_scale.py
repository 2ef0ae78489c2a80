#!/usr/bin/env python3
"""What a reordering costs: seconds of each phase, memory and disk.

usage: reorder_scale.py GNNRUN [--folder DIR] [--scale 24] [--edge-factor 16] [--feat-dim 32]
                        [--memory 8G] [--orders taurus,rcm,atlas] [--bootstrap original]
                        [--threads N] [--backend cpu] [--iterations 5]

An sbm of 2^SCALE vertices in random order (200 vertices a community, mixing .05), features of f32.
Written to DIR and removed: two stores and the runs between them. Memory is the process's largest
resident set, page cache not counted. Load is the machine's before each run: what another program
takes is missing here. How far a run is goes to standard error.
"""
import argparse
import os
import tempfile

from measure import run_watched


def run(*args):
    """The JSON object that the program prints, and its largest resident set in GB."""
    report, usage = run_watched(*args, '--json')
    return report, usage.ru_maxrss / 1e6


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('gnnrun')
    p.add_argument('--folder')
    p.add_argument('--scale', type=int, default=24)
    p.add_argument('--edge-factor', type=int, default=16)
    p.add_argument('--feat-dim', type=int, default=32)
    p.add_argument('--memory', default='8G')
    p.add_argument('--orders', default='taurus')
    p.add_argument('--bootstrap', default='original')
    p.add_argument('--iterations', type=int, default=5)
    p.add_argument('--threads', type=int)
    p.add_argument('--backend', default='cpu')
    a = p.parse_args()
    vertices = 1 << a.scale
    common = ['--threads', a.threads] if a.threads else []
    with tempfile.TemporaryDirectory(dir=a.folder) as folder:
        store, out = (os.path.join(folder, n) for n in ('g.h5', 'o.h5'))
        run(a.gnnrun, 'generate', 'sbm', store, '--vertices', vertices, '--edge-factor',
            a.edge_factor, '--communities', vertices // 200, '--feat-dim', a.feat_dim,
            '--classes', 0, *common)
        print('| order | backend | load | order s | of it bootstrap | an iteration | rows s | '
              'edges s | write s | all s | GB resident | GB scratch | C |')
        print('|---' * 13 + '|')
        for order in a.orders.split(','):
            options = ['--bootstrap', a.bootstrap, '--iterations', a.iterations]
            load = os.getloadavg()[0]
            r, resident = run(a.gnnrun, 'reorder', store, out, '--order', order,
                              '--host-memory', a.memory, '--backend', a.backend, *common,
                              *(options if order == 'taurus' else ()))
            steps = [x['wall_s'] for x in r['iterations']]
            name = f'taurus from {a.bootstrap}' if order == 'taurus' else order
            boot = r['bootstrap']['wall_s'] if order == 'taurus' else 0
            each = sum(steps) / len(steps) if steps else 0
            print(f'| {name} | {r["backend"]} | {load:.1f} | {r["order_s"]:.1f} | {boot:.1f} | '
                  f'{each:.2f} | {r["rows_s"]:.1f} | {r["edges_s"]:.1f} | {r["write_s"]:.1f} | '
                  f'{r["wall_s"]:.1f} | {resident:.2f} | {r["scratch_bytes"] / 1e9:.2f} | '
                  f'{100 * (r["span_after"] / r["span_before"] - 1):+.1f} % |', flush=True)
        size = os.path.getsize(store) / 1e9
        print(f'\n{r["vertices"]:,} vertices, {r["edges"]:,} edges, {size:.1f} GB a store, '
              f'--host-memory {a.memory}')


if __name__ == '__main__':
    main()
