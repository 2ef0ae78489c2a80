#!/usr/bin/env python3
"""Epochs of gnnrun train over a precomputed bottom layer beside a sampled one, in turns.

usage: train_bottom.py GNNRUN STORE.h5 [OPTION OF TRAIN ...]

A store that is not there is made first: power, 2,449,029 vertices and 123,718,280 edges times the
environment's SCALE (1), 100 features, 47 classes, TRAIN (20,480) training vertices; 3 layers of
SAGE at --fanout 5,10,25 --hidden 256 --batch-size 1024 are what figures in docs/performance.md are
of.

Each turn runs one epoch and EPOCHS + 1; what the second takes more is the epochs' own: wall time as
the program reports it, processor time of the process. Median and range over the turns.

With --backend cuda among the options the ways to sample over features in host memory stand in the
place of the one, and a turn is the second run alone, without processor time.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

EPOCHS, TURNS = int(os.environ.get('EPOCHS', 4)), int(os.environ.get('TURNS', 3))
SCALE, SEEDS = float(os.environ.get('SCALE', 1)), int(os.environ.get('TRAIN', 20480))
PRECOMPUTED = {'precomputed': ('--bottom', 'precomputed')}
SAMPLED = {'sampled': ('--bottom', 'sampled')}
SAMPLED_BY_GPU = {
    'zero-copy': ('--orchestration', 'step-gpu', '--gather', 'zero-copy'),
    'both': ('--orchestration', 'step-gpu', '--gather', 'both'),
    'staged': ('--orchestration', 'step-gpu-sample'),
    'cached .25': ('--gather', 'zero-copy', '--cache-ratio', '.25'),
}


def generate(program, store):
    subprocess.run([program, 'generate', 'power', store, '--vertices', str(int(2449029 * SCALE)),
                    '--edges', str(int(123718280 * SCALE)), '--feat-dim', '100', '--classes', '47',
                    '--train-count', str(min(SEEDS, int(2449029 * SCALE) // 2)), '--log', 'warn'],
                   check=True)


def train(program, store, folder, epochs, options):
    """Report of a training and its processor seconds."""
    before = os.times()
    text = subprocess.run(
        [program, 'train', store, '--out', os.path.join(folder, 'm.safetensors'), '--epochs',
         str(epochs), '--eval-every', '1000000', '--json', '--log', 'warn', *options],
        check=True, capture_output=True, text=True).stdout
    after = os.times()
    return json.loads(text), (after.children_user + after.children_system -
                              before.children_user - before.children_system)


def measure(program, store, folder, options):
    figures = {}
    if 'cuda' not in options:
        once, few_s = train(program, store, folder, 1, options)
        if once['bottom_made']:  # which is no epoch's
            _, few_s = train(program, store, folder, 1, options)
    many, many_s = train(program, store, folder, EPOCHS + 1, options)
    if 'cuda' not in options:
        figures = {'cpu_s': (many_s - few_s) / EPOCHS}
        many.update({key: once[key] for key in ('bottom_s', 'bottom_read_bytes')})
    rest = many['epochs'][1:]
    return {'wall_s': statistics.median(e['wall_s'] - e['eval_s'] for e in rest), **figures,
            'gathered': rest[0]['gathered_bytes'], 'h2d': rest[0]['h2d_bytes'],
            'vertices': rest[0]['input_vertices'], 'once_s': many['bottom_s'],
            'once_read': many['bottom_read_bytes']}


def show(name, turns):
    def spread(key, unit):
        values = [t[key] for t in turns]
        return f'{statistics.median(values):.3g} {unit} [{min(values):.3g} .. {max(values):.3g}]'
    t = turns[0]
    processor = f', processor {spread("cpu_s", "s")}' if 'cpu_s' in t else ''
    print(f'{name:12} epoch {spread("wall_s", "s")}{processor}, {t["vertices"]} rows, '
          f'{t["gathered"] / 2**20:.1f} MiB gathered, {t["h2d"] / 2**20:.1f} to the GPU'
          f'; once {t["once_s"]:.2f} s, {t["once_read"] / 2**20:.1f} MiB read')


def main():
    program, store, *options = sys.argv[1:]
    if not os.path.exists(store):
        generate(program, store)
    ways = {**(SAMPLED_BY_GPU if 'cuda' in options else SAMPLED), **PRECOMPUTED}
    turns = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(TURNS):
            for name, list_ in turns.items():
                list_.append(measure(program, store, folder, [*ways[name], *options]))
    for name, list_ in turns.items():
        show(name, list_)
    last = turns.pop('precomputed')
    for name, list_ in turns.items():
        for key in ('wall_s', 'cpu_s', 'gathered', 'h2d'):
            if last[0].get(key):
                a, b = (statistics.median(t[key] for t in each) for each in (list_, last))
                print(f'{key}: precomputed {a / b:.2f} times less than {name}')


if __name__ == '__main__':
    main()
