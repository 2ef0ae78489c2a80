#!/usr/bin/env python3
"""--design published: sums first, SAGE in two passes, GAT in three: the numbers of the own design.

usage: design_test.py GNNRUN [Design.test_name ...]
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

from program import PROGRAM, numpy_or_skip, run, run_fails, start

np = numpy_or_skip()
import h5py  # noqa: E402  (after the check)

V, F = 3000, 48
ARCHS = ('gcn', 'sage', 'gin', 'gat')


class Design(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix='gnnrun-design-')
        rng = np.random.default_rng(3)
        edges = rng.integers(0, V, (2, 40000)) ** 2 // V  # hubs at low ids
        os.mkdir(cls.name('in'))
        np.save(cls.name('in/edges.npy'), edges)
        np.save(cls.name('in/feat.npy'), rng.standard_normal((V, F)).astype(np.float16))
        run('import', cls.name('in'), cls.name('g.h5'))
        for arch in ARCHS:
            run('model', '--seeded', arch, '--dims', f'{F},32,8', '--out', cls.name(arch),
                *(['--heads', '4,1'] if arch == 'gat' else []))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def name(cls, name):
        return os.path.join(cls.folder.name, name)

    def infer(self, arch, *options):
        """Report and embeddings."""
        report = json.loads(run('infer', self.name('g.h5'), '--model', self.name(arch), '--out',
                                self.name('e.h5'), '--json', *options))
        with h5py.File(self.name('e.h5')) as f:
            return report, f['embeddings'][:]

    def test_numbers_bits_and_bytes(self):
        for arch in ARCHS:
            report, own = self.infer(arch)
            first = None
            plans = [['--plan', 'resident'], ['--plan', 'resident', '--chunk-bytes', '1'],
                     ['--plan', 'partitioned', '--shards', '1'],
                     ['--plan', 'partitioned', '--shards', '3', '--chunk-bytes', '60K'],
                     ['--plan', 'partitioned', '--host-memory', '20M', '--threads', '1']]
            if arch != 'sage':
                plans.append(['--plan', 'tiered', '--hot-store', 'min', '--chunk-bytes', '60K'])
            for plan in plans:
                with self.subTest(arch=arch, plan=plan):
                    report, rows = self.infer(arch, '--design', 'published', *plan)
                    scale = np.abs(own).max()
                    self.assertLess(np.abs(rows - own).max(), 2e-6 * scale * 10)
                    first = rows if first is None else first
                    self.assertTrue(np.array_equal(rows, first))
                    layer = report['layers'][0]
                    self.assertEqual(layer['message_order'], 'transform-first' if arch == 'gat'
                                     else 'aggregate-first')
                    for layer in report['layers'] if 'tiered' not in plan else []:
                        self.assertLess(abs(layer['read_bytes'] -
                                            layer['predicted_read_bytes']),
                                        .1 * layer['read_bytes'] + 300000)

    def test_states_are_as_wide_as_sums(self):
        widths = {'gcn': F, 'gin': F, 'sage': F, 'gat': 4 * 32 + 4}
        for arch in ARCHS:
            report, _ = self.infer(arch, '--design', 'published')
            self.assertEqual(report['layers'][0]['state_dim'], widths[arch])
        report, _ = self.infer('sage', '--message-order', 'aggregate-first')
        self.assertEqual(report['layers'][0]['state_dim'], 2 * F)

    def test_the_second_pass_of_sage_reads_the_input_again(self):
        once, _ = self.infer('sage', '--plan', 'resident')
        twice, _ = self.infer('sage', '--plan', 'resident', '--design', 'published')
        more = twice['layers'][0]['read_bytes'] - once['layers'][0]['read_bytes']
        self.assertGreaterEqual(more, V * F * 2)
        self.assertLess(more, V * F * 2 + 100000)

    def test_samples(self):
        for arch in ARCHS:
            _, own = self.infer(arch, '--fanout', '3')
            _, rows = self.infer(arch, '--fanout', '3', '--design', 'published')
            self.assertLess(np.abs(rows - own).max(), 2e-5 * np.abs(own).max())

    def test_a_killed_run_goes_on(self):
        for arch in ('sage', 'gat'):
            base = [PROGRAM, 'infer', self.name('g.h5'), '--model', self.name(arch), '--out',
                    self.name('r.h5'), '--design', 'published', '--plan', 'partitioned',
                    '--shards', '2', '--chunk-bytes', '60K']
            _, whole = self.infer(arch, *base[7:])
            for n in range(1, 9):
                p = subprocess.run([*base, '--faults', f'crash:infer.manifest_written@{n}'],
                                   capture_output=True, text=True, check=False)
                if p.returncode == 0:
                    break
                self.assertEqual(p.returncode, -signal.SIGKILL, p.stderr)
                p = subprocess.run([*base, '--resume'], capture_output=True, text=True,
                                   check=False)
                self.assertEqual(p.returncode, 0, p.stderr)
                with h5py.File(self.name('r.h5')) as f:
                    self.assertTrue(np.array_equal(f['embeddings'][:], whole), (arch, n))
                os.unlink(self.name('r.h5'))
            self.assertGreater(n, 2)

    def test_refusals(self):
        base = ['infer', self.name('g.h5'), '--out', self.name('x.h5'), '--design', 'published']
        run_fails(self, 78, 'second pass', *base, '--model', self.name('sage'), '--plan',
                  'tiered')
        run_fails(self, 78, 'give one', *base, '--model', self.name('gcn'), '--message-order',
                  'transform-first')
        p = start('infer', self.name('g.h5'), '--model', self.name('gcn'), '--design', 'old')
        self.assertEqual(p.returncode, 64)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
