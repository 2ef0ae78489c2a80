#!/usr/bin/env python3
"""Messages of many leaves into one vertex, exact to rounding: equal ones and random ones.

usage: star_test.py GNNRUN [LEAVES ...] [-- options of infer]

Plain sums of equal messages are off by 2e-4 at 16,384.
"""
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    np = None
from program import SANITIZED, run, skip

if np is None:
    skip('numpy is missing')
from reference import LAYER, Model  # noqa: E402  (after the check)

LEAVES = (63, 64, 1000, 16000) if SANITIZED else (63, 64, 1000, 16000, 10 ** 6)
FEW = 16000  # leaves: every architecture; more: two of them


def import_star(folder, leaves, equal):
    """Features and edges of a star, whose store is folder/g.h5."""
    x = np.full((leaves + 1, 3), .1) if equal else np.random.default_rng(12).random(
        (leaves + 1, 3))
    x = x.astype(np.float32)
    edges = np.stack([np.arange(1, leaves + 1), np.zeros(leaves, np.int64)])
    np.save(f'{folder}/edges.npy', edges)
    np.save(f'{folder}/feat.npy', x)
    run('import', f'{folder}/edges.npy', f'{folder}/g.h5', '--features', f'{folder}/feat.npy')
    return x, edges


def largest_error(folder, arch, x, edges, options):
    """Of the hub and of the leaves, each by itself, in their largest entry."""
    model = Model(arch, (3, 3), 1)
    model.write(f'{folder}/m.safetensors')
    run('infer', f'{folder}/g.h5', '--model', f'{folder}/m.safetensors', '--out',
        f'{folder}/e.h5', *options)
    run('export', f'{folder}/e.h5', f'{folder}/e.npy')
    got, want = np.load(f'{folder}/e.npy'), model.reference(x, *edges)
    return max(np.abs(got[r] - want[r]).max() / np.abs(want[r]).max()
               for r in (slice(0, 1), slice(1, None)))


def main():
    words, options = sys.argv[2:], []
    if '--' in words:
        words, options = words[:words.index('--')], words[words.index('--') + 1:]
    failed = 0
    for leaves in [int(w) for w in words] or LEAVES:
        for equal in True, False:
            with tempfile.TemporaryDirectory() as folder:
                x, edges = import_star(folder, leaves, equal)
                for arch in LAYER if leaves <= FEW else (('sage', 'gat'), ('gcn', 'gin'))[equal]:
                    error = largest_error(folder, arch, x, edges, options)
                    failed += not error < 1e-6
                    print(f'{"ok" if error < 1e-6 else "FAILED"} {arch} {leaves} '
                          f'{"equal" if equal else "random"}: {error:.2g}', flush=True)
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
