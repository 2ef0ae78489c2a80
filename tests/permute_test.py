#!/usr/bin/env python3
"""Features left in the order of another store (gnnrun reorder --features keep): infer sorts rows.

usage: permute_test.py GNNRUN [Permute.test_name ...]

Wanted is always the result over the store whose features were relabelled, to the bit.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

from program import PROGRAM, SANITIZED, ModelsCase, numpy_or_skip, run, run_fails, start

np = numpy_or_skip()
import h5py  # noqa: E402  (after the check)

PLANS = (('--plan', 'resident'), ('--plan', 'partitioned', '--shards', 4), ('--plan', 'tiered'),
         ('--plan', 'tiered', '--hot-store', 'min'))
EACH = 2 if SANITIZED else None # of the long runs


class Permute(ModelsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run('generate', 'rmat', cls.path('g.h5'), '--vertices', 3001, '--edges', 20000,
            '--feat-dim', 20, '--classes', 4)
        cls.reorder('g.h5', 'r.h5')
        cls.reorder('g.h5', 'k.h5', '--features', 'keep')
        # Many rows and little memory: several runs, and a checkpoint behind each.
        run('generate', 'rmat', cls.path('big.h5'), '--vertices', cls.BIG, '--edges', 60000,
            '--feat-dim', 256)
        for arch, dims in (('gcn', '256,120,4'), ('sage', '256,300,4')):
            run('model', '--seeded', arch, '--dims', dims, '--out', cls.path(f'big-{arch}.st'))
        cls.reorder('big.h5', 'big-r.h5', '--order', 'random')
        cls.reorder('big.h5', 'big-k.h5', '--order', 'random', '--features', 'keep')

    BIG = 30000
    LITTLE = '--host-memory', '40M'

    def setUp(self):
        self.scratch = self.path('e.h5.gnnrun-scratch')
        shutil.rmtree(self.scratch, ignore_errors=True)
        if os.path.exists(self.path('e.h5')):
            os.remove(self.path('e.h5'))

    @classmethod
    def reorder(cls, source, out, *options):
        return json.loads(run('reorder', cls.path(source), cls.path(out), '--json', *options))

    @classmethod
    def command(cls, store, model, *options):
        return ('infer', cls.path(store), '--model', cls.path(f'{model}.st'), '--out',
                cls.path('e.h5'), '--json', *options)

    @classmethod
    def infer(cls, *words):
        """The report, and all rows of the result."""
        report = json.loads(run(*cls.command(*words)))
        with h5py.File(cls.path('e.h5')) as f:
            rows = {name: f[name][:].tobytes() for name in ('embeddings', 'prediction', 'layer/1')
                    if name in f}
        os.remove(cls.path('e.h5'))
        return report, rows

    # --- results ---

    def test_equal_bits_in_every_plan(self):
        for arch in self.ARCHES:
            want = self.infer('r.h5', arch)[1]
            for plan, chunk in zip(PLANS, ('21K', '8M', '40K', '21K')):
                with self.subTest(arch=arch, plan=plan, chunk=chunk):
                    report, rows = self.infer('k.h5', arch, *plan, '--chunk-bytes', chunk,
                                              '--threads', len(chunk))
                    self.assertEqual(rows, want)
                    self.assertEqual(report['permute_rows'], 'messages')

    def test_equal_bits_in_other_ways(self):
        for arch, plan, options in (
                ('gcn', 0, ('--fanout', '3', '--io', 'map')), ('sage', 1, ('--fanout', '4,2')),
                ('gat', 2, ('--fanout', '5')), ('gcn', 1, ('--save-layers', '--predict')),
                ('gin', 0, ('--message-order', 'aggregate-first', '--verify-reads', 'off')),
                ('gin', 2, ('--message-order', 'aggregate-first', '--io', 'pread')),
                ('gat', 0, ('--design', 'published')), ('gat', 1, ('--design', 'published'))):
            with self.subTest(arch=arch, options=options, plan=plan):
                want, rows = (self.infer(s, arch, *PLANS[plan], *options)[1]
                              for s in ('r.h5', 'k.h5'))
                self.assertEqual(rows, want)

    def test_narrow_features_and_weights(self):
        """Where message rows are wider than the features these are sorted as they are."""
        random = np.random.default_rng(3)
        np.save(self.path('edges.npy'), random.integers(0, 500, (4000, 2)))
        np.save(self.path('weight.npy'), random.random(4000).astype(np.float32))
        np.save(self.path('feat.npy'), random.normal(size=(500, 20)).astype(np.float32))
        for dtype, plan in zip(('f32', 'f16', 'bf16', 'u8'), PLANS):
            if dtype == 'u8':
                run('generate', 'power', self.path('n.h5'), '--vertices', 500, '--edges', 4000,
                    '--feat-dim', 20, '--dtype', dtype)
            else:
                run('import', self.path('edges.npy'), self.path('n.h5'), '--features',
                    self.path('feat.npy'), '--weights', self.path('weight.npy'),
                    '--feature-dtype', dtype)
            self.reorder('n.h5', 'nr.h5', '--order', 'random')
            self.reorder('n.h5', 'nk.h5', '--order', 'random', '--features', 'keep')
            with self.subTest(dtype=dtype, plan=plan):
                want = self.infer('nr.h5', 'gcn', *plan)[1]
                report, rows = self.infer('nk.h5', 'gcn', *plan)
                self.assertEqual(rows, want)
                self.assertEqual(report['permute_rows'],
                                 'messages' if dtype == 'f32' else 'features')

    def test_few_vertices(self):
        for v, edges in ((1, 0), (1, 3), (2, 1), (300, 0)):
            run('generate', 'power', self.path('few.h5'), '--vertices', v, '--edges', edges,
                '--feat-dim', 20)
            self.reorder('few.h5', 'few-r.h5', '--order', 'random')
            self.reorder('few.h5', 'few-k.h5', '--order', 'random', '--features', 'keep')
            for arch, plan in zip(('gcn', 'sage'), PLANS[::2]):
                with self.subTest(v=v, edges=edges, arch=arch, plan=plan):
                    self.assertEqual(self.infer('few-k.h5', arch, *plan)[1],
                                     self.infer('few-r.h5', arch, *plan)[1])

    # --- memory, bytes, what is said of them ---

    def test_little_memory_and_predicted_bytes(self):
        for model, plan in (('gcn', 2), ('sage', 1), ('gcn', 0), ('gcn', 1))[:EACH]:
            words = 'big-k.h5', f'big-{model}', *PLANS[plan], *self.LITTLE
            want = self.infer('big-r.h5', f'big-{model}')[1]
            explained = json.loads(run(*self.command(*words), '--explain'))
            report, rows = self.infer(*words)
            with self.subTest(model=model, plan=PLANS[plan]):
                self.assertEqual(rows, want)
                for key in ('permute_read_bytes', 'permute_written_bytes', 'read_bytes',
                            'written_bytes'):
                    self.assertAlmostEqual(report[key] / explained['predicted_' + key], 1,
                                           delta=.03 if key.startswith('p') else .1, msg=key)
                width = 256 if model == 'sage' else 120
                self.assertEqual(report['permute_width'], width)
                self.assertGreaterEqual(report['permute_written_bytes'],
                                        self.BIG * (4 * width + 8))

    def test_explain_weighs_both_ways(self):
        """Message rows of 120 floats where a row of features has 256."""
        words = 'big-gcn', '--explain', '--plan', 'partitioned', '--shards', 2
        own = json.loads(run(*self.command('big-r.h5', *words)))
        kept = json.loads(run(*self.command('big-k.h5', *words)))
        self.assertNotIn('permute_width', own)
        features = self.BIG * 256 * 4
        spared = own['reorder_costs_bytes'] - own['reorder_keep_costs_bytes']
        self.assertAlmostEqual(spared / (2 * features), 1, delta=.02)
        self.assertEqual(own['reorder_keep_bytes'], kept['reorder_keep_bytes'])
        moved = sum(kept[f'predicted_{x}_bytes'] - own[f'predicted_{x}_bytes']
                    for x in ('read', 'written'))
        self.assertEqual(kept['reorder_keep_bytes'], moved)
        self.assertLess(moved, features)
        text = run(*[w for w in self.command('big-k.h5', *words) if w != '--json'])
        self.assertIn('Features lie in the order of ' + self.path('big.h5'), text)
        self.assertIn('message rows, 120 wide', text)

    def test_explain_counts_runs_of_any_width(self):
        """Where features take less than their ranks, keeping them is never cheaper."""
        seen = set()
        for width, dtype in ((1, 'u8'), (8, 'u8'), (400, 'f32')):
            run('generate', 'rmat', self.path('n.h5'), '--scale', 12, '--feat-dim', width,
                '--dtype', dtype)
            run('model', '--seeded', 'gcn', '--dims', f'{width},12,4', '--out', self.path('n.st'))
            words = self.command('n.h5', 'n', '--explain', '--plan', 'tiered', '--hot-store', 'min',
                                 '--message-order', 'transform-first', '--chunk-bytes', '1')
            said = json.loads(run(*words))
            text = run(*[w for w in words if w != '--json'])
            spared = said['reorder_costs_bytes'] - said['reorder_keep_costs_bytes']
            runs = max(spared // said['reorder_keep_bytes'], 0)
            seen.add(min(runs, 2))
            self.assertIn('never fewer bytes' if runs == 0 else f'for up to {runs} run', text)
        self.assertEqual(seen & {0, 2}, {0, 2})

    # --- long runs ---

    def goes_on(self, words, want, resumed=('yes',)):
        report = json.loads(run(*self.command(*words), '--resume'))
        self.assertIn(report['resumed'], resumed)
        with h5py.File(self.path('e.h5')) as f:
            self.assertEqual(f['embeddings'][:].tobytes(), want['embeddings'])
        self.assertFalse(os.path.exists(self.scratch))
        os.remove(self.path('e.h5'))
        return report

    def test_killed(self):
        want = {m: self.infer('big-r.h5', f'big-{m}')[1] for m in ('gcn', 'sage')}
        shards = '--plan', 'partitioned', '--shards', 16
        for point, model, plan, memory in (
                ('permute.part@2', 'sage', shards, '26M'),
                ('infer.layer_begun@2', 'gcn', PLANS[0], '32M'),
                ('permute.part@1', 'gcn', shards, '22M'),
                ('permute.done@1', 'gcn', PLANS[2], '32M'),
                ('infer.shard_finished@2', 'sage', PLANS[1], '40M'))[:EACH]:
            words = 'big-k.h5', f'big-{model}', *plan, '--host-memory', memory
            p = start(*self.command(*words), '--faults', f'crash:{point}')
            self.assertEqual(p.returncode, -signal.SIGKILL, f'{point} {p.stderr}')
            with self.subTest(point=point, model=model, plan=plan):
                report = self.goes_on(words, want[model])
                if not point.startswith('permute.part'):
                    self.assertEqual(report['permute_read_bytes'], 0)
                else: # what was sealed is not read again
                    self.assertLess(report['permute_read_bytes'], .8 * self.BIG * 256 * 4)

    def test_stopped_by_a_signal(self):
        want = {a: self.infer('r.h5', a)[1] for a in self.ARCHES}
        stopped = 0
        for i, arch in enumerate(('gcn', 'sage', 'gat')):
            words = ('k.h5', arch, *PLANS[i % 3], '--chunk-bytes', '20K', '--io', 'pread')
            p = self.stop(*words)
            stopped += p.returncode == 75 and 'while features are sorted' in p.text
            with self.subTest(arch=arch):
                self.goes_on(words, want[arch], ('yes', 'no', 'finished'))
        self.assertGreater(stopped, 0)

    def test_stopped_behind_the_sorting(self):
        """The resident plan, which writes states at a signal only, in its first layer."""
        want = self.infer('r.h5', 'gcn')[1]
        words = 'k.h5', 'gcn', *PLANS[0], '--chunk-bytes', '20K', '--io', 'pread'
        p = start(*self.command(*words), '--faults', 'crash:permute.done@1')
        self.assertEqual(p.returncode, -signal.SIGKILL, p.stderr)
        p = self.stop(*words, '--resume')
        self.assertEqual(p.returncode, 75)
        self.goes_on(words, want)

    def stop(self, *words):
        """Stops a run as soon as it listens; its reads are slow."""
        p = subprocess.Popen([PROGRAM, *map(str, self.command(*words)), '--faults',
                              'read:slow@20-40'], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True)
        while p.poll() is None and not self.listens(p.pid):
            pass
        if p.poll() is None:
            p.send_signal(signal.SIGTERM)
        p.text = p.communicate(timeout=60)[1]
        self.assertIn(p.returncode, (0, 75), p.text)
        return p

    @staticmethod
    def listens(pid):
        try:
            with open(f'/proc/{pid}/status') as f:
                caught = next(x for x in f if x.startswith('SigCgt:')).split()[1]
        except (OSError, StopIteration):
            return False
        return int(caught, 16) >> (signal.SIGTERM - 1) & 1

    def test_a_full_disk_and_damage(self):
        want = self.infer('big-r.h5', 'big-sage')[1]
        words = ('big-k.h5', 'big-sage', '--plan', 'partitioned', '--shards', 16,
                 '--host-memory', '26M')
        p = start(*self.command(*words), '--faults', 'crash:permute.part@2')
        self.assertEqual(p.returncode, -signal.SIGKILL, p.stderr)
        # The disk is full while the rest is sorted: what is sealed stays.
        run_fails(self, 74, 'free', *self.command(*words), '--resume', '--faults',
                  'write:enospc@1-9')
        self.assertTrue(os.path.exists(self.scratch))
        self.goes_on(words, want)
        run_fails(self, 74, 'free', *self.command(*words), '--faults', 'write:enospc@6')
        self.assertFalse(os.path.exists(self.scratch))
        # A run that is damaged behind the checkpoint.
        p = start(*self.command(*words), '--faults', 'crash:permute.done@1')
        self.assertEqual(p.returncode, -signal.SIGKILL, p.stderr)
        with open(os.path.join(self.scratch, 'layer1-input.runs'), 'r+b') as f:
            f.seek(3 << 20)
            byte = f.read(1)
            f.seek(3 << 20)
            f.write(bytes([byte[0] ^ 1]))
        run_fails(self, 65, 'run file', *self.command(*words), '--resume')
        run_fails(self, 65, 'run file', *self.command(*words), '--faults', 'write:flip@12')

    # --- the store ---

    def test_what_the_store_says(self):
        info = json.loads(run('info', self.path('k.h5'), '--json'))
        self.assertEqual(info['features_store'], 'g.h5')
        self.assertEqual(info['order'], 'taurus')
        self.assertIn('in the order of g.h5', run('info', self.path('k.h5'), '--verify'))
        with h5py.File(self.path('g.h5')) as g, h5py.File(self.path('r.h5')) as r, \
                h5py.File(self.path('k.h5')) as k:
            self.assertNotIn('features', k)
            rank = k['order/feature_rank'][:].astype(int)
            self.assertTrue((r['features'][:][rank] == g['features'][:]).all())
            for name in 'order/original_id', 'topology/out/neighbors', 'labels', 'split/test':
                self.assertTrue((r[name][:] == k[name][:]).all(), name)

    def test_reordered_again(self):
        """Features stay where they are from one order to the next, also in another folder."""
        os.makedirs(self.path('sub'), exist_ok=True)
        report = self.reorder('k.h5', 'sub/kk.h5', '--order', 'random', '--features', 'keep')
        self.assertEqual(report['features'], 'keep')
        self.assertEqual(json.loads(run('info', self.path('sub/kk.h5'), '--json'))[
            'features_store'], os.path.realpath(self.path('g.h5')))
        run('info', self.path('sub/kk.h5'), '--verify')
        self.reorder('r.h5', 'rr.h5', '--order', 'random')
        want = self.infer('rr.h5', 'gcn')[1]
        self.assertEqual(self.infer('sub/kk.h5', 'gcn')[1], want)
        # Back to the import's order, where each row of features lies at its vertex again.
        self.reorder('sub/kk.h5', 'sub/o.h5', '--order', 'original', '--features', 'keep')
        self.assertEqual(self.infer('sub/o.h5', 'gcn')[1], self.infer('g.h5', 'gcn')[1])
        # A folder moves with both of its stores.
        os.makedirs(self.path('a'))
        for name in 'g.h5', 'k.h5':
            shutil.copy(self.path(name), self.path('a'))
        os.rename(self.path('a'), self.path('b'))
        self.assertEqual(self.infer('b/k.h5', 'gcn')[1], self.infer('r.h5', 'gcn')[1])

    def test_features_that_are_not_there(self):
        for name in 'g.h5', 'k.h5':
            shutil.copy(self.path(name), self.path(f'x{name}'))
        os.makedirs(self.path('c'))
        shutil.move(self.path('xk.h5'), self.path('c/k.h5'))
        shutil.move(self.path('xg.h5'), self.path('c/g.h5'))
        g = self.path('c/g.h5')
        run_fails(self, 73, 'the input', 'infer', self.path('c/k.h5'), '--model',
                  self.path('gcn.st'), '--out', g)
        run_fails(self, 73, 'the input', 'reorder', self.path('c/k.h5'), g, '--features', 'keep')
        with h5py.File(g) as f:
            offset = f['features'].id.get_offset()
        with open(g, 'r+b') as f: # the sums are as they were: found when read
            f.seek(offset + 1000)
            f.write(b'\x55\xaa')
        run_fails(self, 65, 'features', *self.command('c/k.h5', 'gcn'))
        run('generate', 'rmat', g, '--vertices', 3001, '--edges', 20000, '--feat-dim', 20,
            '--seed', 1)
        said = run_fails(self, 65, 'not those', *self.command('c/k.h5', 'gcn'))
        self.assertIn('reorder it again', said)
        run_fails(self, 65, 'not those', 'info', self.path('c/k.h5'), '--verify')
        run('generate', 'rmat', g, '--vertices', 30, '--edges', 20, '--feat-dim', 20)
        run_fails(self, 65, '3001 rows', *self.command('c/k.h5', 'gcn'))
        os.remove(g)
        run_fails(self, 66, 'g.h5', *self.command('c/k.h5', 'gcn'))
        run_fails(self, 66, 'g.h5', 'info', self.path('c/k.h5'), '--verify')
        run('info', self.path('c/k.h5'))

    def test_damaged_ranks(self):
        for value, text in ((1 << 40, 'feature_rank'), (None, 'a row twice')):
            shutil.copy(self.path('k.h5'), self.path('bad.h5'))
            with h5py.File(self.path('bad.h5'), 'r+') as f:
                rank = f['order/feature_rank'][:]
                rank[7] = rank[8] if value is None else value
                f['order/feature_rank'][:] = rank
            run_fails(self, 65, 'feature_rank', *self.command('bad.h5', 'gcn'))
            run_fails(self, 65, 'feature_rank', 'info', self.path('bad.h5'), '--verify')
            run_fails(self, 65, text, *self.command('bad.h5', 'gcn'), '--verify-reads', 'off')

    def test_who_does_not_take_them(self):
        k, cure = self.path('k.h5'), '--features relabel'
        run_fails(self, 78, cure, 'train', k, '--out', self.path('m.st'))
        run_fails(self, 78, cure, 'train', k, '--out', self.path('m.st'), '--bottom', 'precomputed')
        run_fails(self, 78, cure, 'reorder', k, self.path('kr.h5'))
        run_fails(self, 78, cure, 'bench', 'io', k)
        run_fails(self, 78, cure, 'bench', 'infer', k, '--model', self.path('gcn.st'))
        run_fails(self, 78, cure, *self.command('k.h5', 'sage', '--design', 'published'))
        run_fails(self, 64, 'relabel', 'reorder', k, self.path('kr.h5'), '--features', 'both')
        run_fails(self, 66, 'no dataset', 'export', k, self.path('x.npy'), '--dataset', 'features')
        run('generate', 'rmat', self.path('none.h5'), '--vertices', 20, '--edges', 20,
            '--feat-dim', 0)
        p = start('reorder', self.path('none.h5'), self.path('none-k.h5'), '--features', 'keep')
        self.assertEqual(p.returncode, 0)
        self.assertIn('has none', p.stderr)

    def test_several_ranks_do_not(self):
        try:
            from launcher import finish, launch
        except SystemExit:
            self.skipTest('no mpirun')
        p = finish(launch(2, *self.command('k.h5', 'gcn')))
        self.assertEqual(p.returncode, 78, p.stderr)
        self.assertIn('--features relabel', p.stderr)


if __name__ == '__main__':
    unittest.main(argv=['permute_test.py', *sys.argv[2:]])
