#!/usr/bin/env python3
"""Reordering that relabels features, and that leaves them: bytes and seconds, with inference.

usage: reorder_keep.py GNNRUN [--folder DIR] [--vertices 524288] [--edge-factor 16]
                       [--feat-dim 1024] [--hidden 128] [--memory 512M] [--plans partitioned,tiered]
                       [--arch gcn] [--rounds 2] [--threads N]

An sbm in random order (200 vertices a community, mixing .05), features of f32, a seeded model from
FEAT-DIM to HIDDEN to 16. Rounds alternate between the two stores; the fastest counts. Bytes are
those that the kernel counts for the process, from and to the disk. Written to DIR and removed: the
store, the reordered one, and runs, up to four times the features.
"""
import argparse
import os
import tempfile

from measure import run_watched


def run(*args):
    """The JSON object that the program prints, GB from and to the disk, the load before."""
    load = os.getloadavg()[0]
    report, usage = run_watched(*args, '--json', '--progress', 'never', '--log', 'error')
    report.update(disk_read=usage.ru_inblock * 512e-9, disk_written=usage.ru_oublock * 512e-9,
                  load=load)
    return report


def row(*cells):
    print('| ' + ' | '.join(map(str, cells)) + ' |', flush=True)


def infer(a, common, store, model, out, plan):
    r = run(a.gnnrun, 'infer', store, '--model', model, '--out', out, '--plan', plan,
            '--host-memory', a.memory, *common)
    os.remove(out)
    return r


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('gnnrun')
    p.add_argument('--folder')
    p.add_argument('--vertices', type=int, default=1 << 19)
    p.add_argument('--edge-factor', type=int, default=16)
    p.add_argument('--feat-dim', type=int, default=1024)
    p.add_argument('--hidden', type=int, default=128)
    p.add_argument('--memory', default='512M')
    p.add_argument('--plans', default='partitioned,tiered')
    p.add_argument('--arch', default='gcn')
    p.add_argument('--rounds', type=int, default=2)
    p.add_argument('--threads', type=int)
    a = p.parse_args()
    common = ['--threads', a.threads] if a.threads else []
    with tempfile.TemporaryDirectory(dir=a.folder) as folder:
        store, model, out = (os.path.join(folder, n) for n in ('g.h5', 'm.st', 'e.h5'))
        stores = {way: os.path.join(folder, f'{way}.h5') for way in ('relabel', 'keep')}
        run(a.gnnrun, 'generate', 'sbm', store, '--vertices', a.vertices, '--edge-factor',
            a.edge_factor, '--communities', max(a.vertices // 200, 1), '--feat-dim', a.feat_dim,
            '--classes', 0, *common)
        run(a.gnnrun, 'model', '--seeded', a.arch, '--dims', f'{a.feat_dim},{a.hidden},16',
            '--out', model)
        row('what', 'features', 'load', 'GB read', 'GB written', 's', 'of it sorting s',
            'GB predicted')
        row(*['---'] * 8)
        for way, path in stores.items():
            r = run(a.gnnrun, 'reorder', store, path, '--features', way, '--host-memory',
                    a.memory, *common)
            row('reorder', way, f'{r["load"]:.1f}', f'{r["disk_read"]:.2f}',
                f'{r["disk_written"]:.2f}', f'{r["wall_s"]:.1f}', '', '')
        for plan in a.plans.split(','):
            rounds = [{way: infer(a, common, path, model, out, plan)
                       for way, path in stores.items()} for _ in range(a.rounds)]
            for way in stores:
                r = min((x[way] for x in rounds), key=lambda x: x['wall_s'])
                predicted = (r['predicted_read_bytes'] + r['predicted_written_bytes']) / 1e9
                row(f'infer, {plan}', way, f'{r["load"]:.1f}', f'{r["disk_read"]:.2f}',
                    f'{r["disk_written"]:.2f}', f'{r["wall_s"]:.1f}',
                    f'{r["permute_s"]:.1f}' if way == 'keep' else '', f'{predicted:.2f}')
        print(f'\n{a.vertices:,} vertices, {a.vertices * a.edge_factor:,} edges, '
              f'{a.vertices * a.feat_dim * 4e-9:.2f} GB of features, --host-memory {a.memory}')


if __name__ == '__main__':
    main()
