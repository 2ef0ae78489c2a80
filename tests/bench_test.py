#!/usr/bin/env python3
"""`gnnrun bench`: the gathering baseline computes what infer does, and counts what it fetches.

usage: bench_test.py GNNRUN [Bench.test_name ...]
"""
import json
import os
import sys
import tempfile
import unittest

from program import numpy_or_skip, run, run_fails

np = numpy_or_skip()
import h5py  # noqa: E402  (after the check)


class Bench(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix='gnnrun-bench-')
        rng = np.random.default_rng(1)
        cls.edges = rng.integers(0, 2000, (2, 24000)) ** 2 // 2000  # hubs at low ids
        cls.path('edges.npy', cls.edges)
        cls.path('feat.npy', rng.standard_normal((2000, 40)).astype(np.float16))
        cls.path('weight.npy', rng.random(24000).astype(np.float32))
        run('import', cls.folder.name, cls.name('g.h5'))
        for arch in ('gcn', 'sage', 'gin', 'gat'):
            run('model', '--seeded', arch, '--dims', '40,32,8', '--out', cls.name(arch),
                *(['--heads', '4,1'] if arch == 'gat' else []))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def name(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def path(cls, name, array):
        np.save(cls.name(name), array)

    def rows(self, name):
        with h5py.File(self.name(name)) as f:
            return f['embeddings'][:]

    def bench(self, arch, *options):
        return json.loads(run('bench', 'infer', self.name('g.h5'), '--model', self.name(arch),
                              '--json', '--scratch', self.folder.name, *options))

    def test_gathering_gives_the_bits_of_streaming(self):
        for arch in ('gcn', 'sage', 'gin', 'gat'):
            for order in ('transform-first', 'aggregate-first'):
                if arch in ('gin', 'gat') and order == 'aggregate-first':
                    continue
                run('infer', self.name('g.h5'), '--model', self.name(arch), '--out',
                    self.name('e.h5'), '--message-order', order)
                for kind, batch in (('gather', 700), ('vertex-wise', 900)):
                    self.bench(arch, '--baseline', kind, '--batch-size', batch, '--out',
                               self.name('b.h5'), '--message-order', order)
                    self.assertTrue(np.array_equal(self.rows('b.h5'), self.rows('e.h5')),
                                    f'{arch} {order} {kind} {batch}')

    def test_counts_are_those_of_the_graph(self):
        src, dst = self.edges
        report = self.bench('sage', '--batch-size', 500)
        for layer, width in zip(report['layers'], (40 * 2, 32 * 4)):
            fetches = requested = 0
            unique, density = set(), []
            for first in range(0, 2000, 500):
                ids = np.union1d(src[(dst >= first) & (dst < first + 500)],
                                 np.arange(first, first + 500))
                fetches += len(ids)
                unique |= set(ids)
                density.append(len(ids) / (ids[-1] - ids[0] + 1))
                requested += len(ids) * width
            self.assertEqual(layer['fetches'], fetches)
            self.assertEqual(layer['unique_vertices'], len(unique))
            self.assertEqual(layer['requested_bytes'], requested)
            self.assertAlmostEqual(layer['redundancy_factor'], fetches / len(unique))
            self.assertAlmostEqual(layer['access_density_min'], min(density))
            self.assertAlmostEqual(layer['access_density_max'], max(density))
            self.assertGreaterEqual(layer['requested_block_bytes'], requested)
            self.assertEqual(layer['requested_block_bytes'] % 4096, 0)
        self.assertEqual([x for x in os.listdir(self.folder.name) if 'gnnrun-bench' in x], [])

    def test_some_batches_extrapolate(self):
        report = self.bench('gcn', '--batch-size', 100, '--batches', 4)
        layer, = report['layers']
        self.assertEqual((layer['batches'], layer['batches_of']), (4, 20))
        self.assertAlmostEqual(layer['extrapolated_s'], 5 * layer['wall_s'])

    def test_refusals(self):
        store, model = self.name('g.h5'), self.name('gcn')
        run_fails(self, 64, 'there is: infer', 'bench', 'speed')
        run_fails(self, 64, 'bench infer STORE.h5', 'bench', 'infer')
        run_fails(self, 64, '--model', 'bench', 'infer', store)
        run_fails(self, 64, '--out', 'bench', 'infer', store, '--model', model, '--batches', 1,
                  '--out', self.name('b.h5'))
        run_fails(self, 73, 'g.h5', 'bench', 'infer', store, '--model', model, '--out', store)
        run('generate', 'rmat', self.name('narrow.h5'), '--scale', 8, '--feat-dim', 7)
        run_fails(self, 78, 'width 7', 'bench', 'infer', self.name('narrow.h5'), '--model', model)
        run_fails(self, 71, 'budget', 'bench', 'infer', store, '--model', model, '--baseline',
                  'vertex-wise', '--host-memory', '200K')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
