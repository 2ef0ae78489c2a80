#!/usr/bin/env python3
"""`gnnrun bench`: the gathering baseline computes what infer does, and counts what it fetches.

usage: bench_test.py GNNRUN [Bench.test_name ...]
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from program import PROGRAM, SANITIZED, numpy_or_skip, run, run_fails

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
                              '--json', *options))

    def test_gathers_of_the_cpu(self):
        report = json.loads(run('bench', 'gather', '--backend', 'cpu', '--bytes', '4M', '--runs', 2,
                                '--row-bytes', '64,1K', '--json'))
        self.assertEqual([(r['method'], r['row_bytes']) for r in report['rows']],
                         [('copy', 1024), *(('cpu', n) for n in (64, 68, 1024, 1028))])
        self.assertTrue(all(r['bytes_s'] > 0 and r['cpu_s_byte'] > 0 for r in report['rows']))
        self.assertLess(report['rows'][0]['bytes_s'], 3e11)  # of the table, not of the runs
        self.assertEqual(report['beside'], [])
        for wrong in ('63', '0', '1M', '64,'):
            run_fails(self, 64, 'row-bytes', 'bench', 'gather', '--backend', 'cpu', '--row-bytes',
                      wrong)

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

    def test_io(self):
        def rows(*options):
            report = json.loads(run('bench', 'io', self.name('g.h5'), '--json', '--runs', 1,
                                    *options))
            for row in report['rows']:
                self.assertGreater(row['bytes_s'], 0)
                self.assertLessEqual(row['bytes_s_min'], row['bytes_s'])
                self.assertLessEqual(row['bytes_s'], row['bytes_s_max'])
            return report['bytes'], [(r['engine'].split()[0].strip(','), r['op'],
                                      r['block_bytes'], r['depth']) for r in report['rows']]

        bytes_, found = rows('--io', 'pread', '--blocks', '4K,64K', '--depths', '1,3')
        self.assertEqual(bytes_, 2000 * 80 // 4096 * 4096)
        sizes = [(b, d) for b in (4096, 65536) for d in (1, 3)]
        self.assertEqual(found, [(e, op, b, d) for e, op in (
            ('pread', 'read'), ('pread', 'write'), ('reader', 'read'), ('reader', 'read'))
            for b, d in sizes])
        bytes_, found = rows('--bytes', '64K', '--scratch', self.folder.name)
        self.assertEqual(bytes_, 65536)
        self.assertIn(('pread', 'write', 8 << 20, 8), found)
        self.assertIn('reader, verified', run('bench', 'io', self.name('g.h5'), '--runs', 1))
        self.assertEqual([x for x in os.listdir(self.folder.name) if 'bench' in x], [])

    @unittest.skipIf(SANITIZED, 'its large product takes minutes')
    def test_aggregate(self):
        report = json.loads(run('bench', 'aggregate', '--json', '--runs', 1, '--widths', '8,13'))
        self.assertEqual(report['backend'], 'cpu')
        found = [(r['what'], r['width']) for r in report['rows']]
        self.assertEqual(found, [
            ('memory, copy', 0), ('product, large', 1024), ('panels, 256 to', 8),
            ('panels, 256 to', 13), ('sum', 8), ('sum', 13), ('sum, hubs', 8),
            ('sum, hubs', 13), ('max', 8), ('max', 13), ('softmax, 8 heads', 8)])
        for row in report['rows']:
            self.assertGreater(row['bytes_s'], 0)
            self.assertEqual(row['flop_s'] > 0, row['what'].startswith('p'), row)
        self.assertIn('GFLOP/s', run('bench', 'aggregate', '--runs', 1, '--widths', 8))

    def test_train(self):
        store, sizes = self.name('labels.h5'), {}
        run('generate', 'power', store, '--vertices', 3000, '--edges', 24000, '--feat-dim', 20,
            '--classes', 5, '--train-count', 700)
        before = sorted(os.listdir(self.folder.name))
        for arch, ways in (('sage', 3), ('gat', 1)):
            report = json.loads(run('bench', 'train', store, '--arch', arch, '--hidden', 16,
                                    '--fanout', '3,4', '--batch-size', 200, '--runs', 2, '--json',
                                    '--backend', 'cpu'))
            self.assertEqual((report['command'], report['arch'], report['steps'], report['seeds']),
                             ('bench train', arch, 4, 700))
            self.assertEqual([(r['orchestration'], r['reuse']) for r in report['rows']],
                             [('step-cpu', 'off'), ('layer', 'off'),
                              ('layer', 'aggregates')][:ways])
            for r in report['rows']:
                self.assertTrue(0 < r['step_s_min'] <= r['step_s'] <= r['step_s_max'], r)
                self.assertAlmostEqual(r['seeds_s'] * r['step_s'] * 4 / 700, 1, 6)
                self.assertTrue(r['compute_s'] > 0 and r['collect_s'] > 0, r)
                self.assertEqual((r['h2d_bytes'], r['gpu_samples']), (0, False))
            sizes[arch] = [r['input_vertices'] for r in report['rows']]
        trained = json.loads(run('train', store, '--arch', 'sage', '--hidden', 16, '--fanout',
                                 '3,4', '--batch-size', 200, '--epochs', 1, '--json', '--out',
                                 self.name('m.safetensors')))
        self.assertEqual(sizes['sage'][:2], [trained['epochs'][0]['input_vertices'] / 4] * 2)
        self.assertNotEqual(sizes['sage'][2], sizes['sage'][0])  # hops of its own
        for name in set(os.listdir(self.folder.name)) - set(before):
            self.assertTrue(name.startswith('m.'), name)
        report = json.loads(run('bench', 'train', store, '--batches', 9, '--runs', 1, '--json',
                                '--pipeline', 'off'))
        self.assertEqual((report['steps'], report['seeds'], report['batch_size']), (9, 6300, 700))
        self.assertIn('ms/step', run('bench', 'train', store, '--batches', 1, '--runs', 1))
        for code, says, words in ((64, 'fanout', ['--fanout', '1,2,3']),
                                  (64, 'heads', ['--heads', 2]),
                                  (78, 'GPU', ['--gather', 'both', '--backend', 'cpu']),
                                  (78, 'labor', ['--batch-dependency', 2]),
                                  (71, 'host-memory', ['--host-memory', '2M'])):
            run_fails(self, code, says, 'bench', 'train', store, *words)
        run_fails(self, 78, 'label', 'bench', 'train', self.name('g.h5'))
        run_fails(self, 64, 'bench train STORE.h5', 'bench', 'train')

    def test_refusals_of_measurements(self):
        store = self.name('g.h5')
        for words, says in ((['--blocks', '1M,,2M'], '--blocks'), (['--blocks', '100'], '4K'),
                            (['--depths', '65'], 'at most 64'), (['--io', 'map'], 'map'),
                            (['--depths', '0'], '--depths'), (['--depths', '1,'], '--depths')):
            run_fails(self, 64, says, 'bench', 'io', store, *words)
        run_fails(self, 64, '--widths', 'bench', 'aggregate', '--widths', 'x')
        run_fails(self, 64, '4096', 'bench', 'aggregate', '--widths', '5000')
        run_fails(self, 64, 'usage', 'bench', 'aggregate', store)
        run_fails(self, 66, 'none.h5', 'bench', 'io', self.name('none.h5'))
        run_fails(self, 73, 'scratch', 'bench', 'io', store, '--scratch', self.name('none'))
        run_fails(self, 71, 'budget', 'bench', 'io', store, '--host-memory', '300K')
        run('generate', 'rmat', self.name('tiny.h5'), '--scale', 2, '--feat-dim', 2)
        run_fails(self, 78, 'features', 'bench', 'io', self.name('tiny.h5'))

    def test_refusals(self):
        store, model = self.name('g.h5'), self.name('gcn')
        run_fails(self, 64, 'there is: io aggregate', 'bench', 'speed')
        run_fails(self, 64, 'bench infer STORE.h5', 'bench', 'infer')
        run_fails(self, 64, '--model', 'bench', 'infer', store)
        run_fails(self, 64, '--out', 'bench', 'infer', store, '--model', model, '--batches', 1,
                  '--out', self.name('b.h5'))
        run_fails(self, 73, 'g.h5', 'bench', 'infer', store, '--model', model, '--out', store)
        run('generate', 'rmat', self.name('narrow.h5'), '--scale', 8, '--feat-dim', 7)
        run_fails(self, 78, 'width 7', 'bench', 'infer', self.name('narrow.h5'), '--model', model)
        run_fails(self, 71, 'budget', 'bench', 'infer', store, '--model', model, '--baseline',
                  'vertex-wise', '--host-memory', '200K')

    def test_collective(self):
        """Every row says what it measured; no rank is left to wait by words that are refused."""
        words = ('bench', 'collective', '--backend', 'cpu', '--runs', 2, '--json')
        run_fails(self, 78, 'mpirun', *words)
        if shutil.which('mpirun') is None:
            self.skipTest('no mpirun')
        from launcher import finish, launch  # skips the file without it
        p = finish(launch(3, *words, '--blocks', '8,64K,12K'))
        self.assertEqual(p.returncode, 0, p.stderr)
        report = json.loads(p.stdout)
        self.assertEqual((report['command'], report['ranks']), ('bench collective', 3))
        what = ('exchange', 'exchange, MPI alone', 'sum', 'sum, MPI alone')
        self.assertEqual([(r['what'], r['bytes']) for r in report['rows']],
                         [(w, b) for w in what for b in (8, 65536, 12288)])
        for r in report['rows']:
            self.assertTrue(0 < r['min_s'] <= r['median_s'] <= r['max_s'], r)
            share = 2 / 3 if r['what'].startswith('sum') else 1
            self.assertAlmostEqual(r['bytes_s'] * r['median_s'] / (2 * share * r['bytes']), 1, 6)
        p = finish(launch(2, *words, '--blocks', 12))
        self.assertEqual(p.returncode, 64, p.stderr)
        self.assertIn('multiples of 8', p.stderr)

    def test_scaling(self):
        if shutil.which('mpirun') is None:
            self.skipTest('no mpirun')
        from launcher import ENVIRONMENT
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'bench', 'scaling.py')
        out = self.name('scaling')
        for job, options in (('infer', ()), ('train', ('--epochs', '2'))):
            p = subprocess.run([sys.executable, script, PROGRAM, '--job', job, '--ranks', '1,2',
                                '--runs', '1', '--vertices', '3000', '--feat-dim', '16',
                                '--backend', 'cpu', '--out', out, '--', *options],
                               capture_output=True, text=True, timeout=300, env=ENVIRONMENT)
            self.assertEqual(p.returncode, 0, p.stderr)
            with open(f'{out}.json', encoding='utf-8') as f:
                rows = json.load(f)['rows']
            self.assertEqual([(r['kind'], r['ranks']) for r in rows],
                             [('strong', 1), ('strong', 2), ('weak', 1), ('weak', 2)])
            self.assertEqual([r['speedup'] for r in rows[::2]], [1, 1])
            for r in rows:
                self.assertAlmostEqual(r['efficiency'] * r['ranks'], r['speedup'])
            if shutil.which('gnuplot'):
                with open(f'{out}.svg', encoding='utf-8') as f:
                    self.assertIn('ideal', f.read())


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
