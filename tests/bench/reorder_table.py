#!/usr/bin/env python3
"""Spans of all orders on real and generated graphs, as the tables of docs/performance.md.

usage: reorder_table.py GNNRUN [--data DIR] [--folder DIR] [--iterations 10] [--vertices 200000]
                        [--scale 17] [--only TEXT] [--json FILE]

Every graph is taken in random order first (generated ones are drawn so), real ones also as they are
given: `given`. Figures are spans C in percent of the random order's; a rise from one iteration of
taurus to the next is shown as it is. R2 is of a straight line of C over J through all iterations
of both bootstraps.
"""
import argparse
import glob
import json
import os
import sys
import tempfile

from measure import run

MIXINGS = .02, .05, .1, .2
ORDERS = (('rcm', ()), ('atlas', ()), ('taurus', ('--bootstrap', 'rcm')),
          ('taurus', ('--bootstrap', 'original')))


def import_folder(gnnrun, folder, store):
    text = [f for f in glob.glob(os.path.join(folder, '*.txt')) if 'label' not in f]
    if text:
        run(gnnrun, 'import', text[0], store, '--remap')
    else:
        run(gnnrun, 'import', os.path.join(folder, 'edges.npy'), store)


def graphs(a):
    """(name, how to make its store)."""
    for folder in sorted(glob.glob(os.path.join(a.data, '*', ''))):
        yield os.path.basename(folder[:-1]), lambda s, f=folder: import_folder(a.gnnrun, f, s)
    for m in MIXINGS:
        yield f'sbm, mixing {m}', lambda s, m=m: run(
            a.gnnrun, 'generate', 'sbm', s, '--vertices', a.vertices, '--edge-factor', 16,
            '--communities', 1000, '--mixing', m, '--feat-dim', 0, '--classes', 0)
    yield f'R-MAT, scale {a.scale}', lambda s: run(
        a.gnnrun, 'generate', 'rmat', s, '--scale', a.scale, '--feat-dim', 0, '--classes', 0)


def r2(points):
    n = len(points)
    mx, my = (sum(p[k] for p in points) / n for k in (0, 1))
    sxy = sum((x - mx) * (y - my) for x, y in points)
    sxx, syy = (sum((p[k] - m) ** 2 for p in points) for k, m in ((0, mx), (1, my)))
    return float('nan') if sxx == 0 or syy == 0 else sxy * sxy / (sxx * syy)


def reorder(a, store, out, order, options=()):
    if order == 'taurus':
        options = (*options, '--iterations', a.iterations)
    return json.loads(run(a.gnnrun, 'reorder', store, out, '--json', '--progress', 'never',
                          '--order', order, *options))


def measure(a, name, make, folder):
    given, out = (os.path.join(folder, f'{n}.h5') for n in ('given', 'out'))
    make(given)
    random = reorder(a, given, out, 'random')
    row = {'graph': name, 'vertices': random['vertices'], 'edges': random['edges'],
           'random': random['span_after'], 'given': random['span_before'], 'iterations': {}}
    points = []
    for order, options in ORDERS:
        key = ' from '.join([order, *options[1:]])
        said = reorder(a, given, out, order, options)
        row[key] = said['span_after']
        steps = [said['bootstrap'], *said['iterations']] if order == 'taurus' else []
        if steps:
            row['iterations'][options[1]] = [s['span'] for s in steps]
            points += [(s['dispersion'], s['span']) for s in steps]
    row['r2'] = r2(points)
    return row


def percent(row, span):
    return f'{100 * span / max(row["random"], 1):.1f}'


def print_tables(rows):
    keys = ['given', *(' from '.join([o, *x[1:]]) for o, x in ORDERS)]
    print('| graph | vertices | edges | C, random | ' + ' | '.join(keys) + ' | R2 of C over J |')
    print('|---' * (len(keys) + 5) + '|')
    for r in rows:
        print(f'| {r["graph"]} | {r["vertices"]:,} | {r["edges"]:,} | {r["random"]:.4g} | ' +
              ' | '.join(percent(r, r[k]) for k in keys) + f' | {r["r2"]:.3f} |')
    print('\n| graph | bootstrap | C after 0, 1, 2 ... iterations, % of random |\n|---|---|---|')
    for r in rows:
        for bootstrap, spans in r['iterations'].items():
            print(f'| {r["graph"]} | {bootstrap} | ' + ' '.join(percent(r, s) for s in spans) +
                  ' |')


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    here = os.path.dirname(os.path.realpath(__file__))
    p.add_argument('gnnrun')
    p.add_argument('--data', default=os.path.join(here, '..', '..', '..', 'shared', 'data'))
    p.add_argument('--folder')
    p.add_argument('--iterations', type=int, default=10)
    p.add_argument('--vertices', type=int, default=200000)
    p.add_argument('--scale', type=int, default=17)
    p.add_argument('--only', default='')
    p.add_argument('--json')
    a = p.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(dir=a.folder) as folder:
        for name, make in graphs(a):
            if a.only in name:
                rows.append(measure(a, name, make, folder))
                print(f'{name}: done', file=sys.stderr)
    print_tables(rows)
    if a.json:
        with open(a.json, 'w') as f:
            f.writelines(json.dumps(r) + '\n' for r in rows)


if __name__ == '__main__':
    main()
