#!/usr/bin/env python3
"""gnnrun train --bottom precomputed: the file of aggregates, and training on it.

usage: bottom_test.py GNNRUN
"""
import glob
import json
import os
import shutil
import signal
import sys
import unittest

import program
from program import SHARED, TrainCase, read, run, run_fails, start

np = program.numpy_or_skip()
import h5py  # noqa: E402

DATA = os.path.join(SHARED, 'data')
ARCHS = ('gcn', 'sage', 'gin')
SMALL = ('--hidden', 16, '--batch-size', 100, '--epochs', 3, '--log', 'warn')
PRE = ('--bottom', 'precomputed')


def aggregates(store, arch):
    """What the first layer aggregates, in float64."""
    with h5py.File(store) as f:
        x = f['features'][:].astype(np.float64)
        first = f['topology/in/offsets'][:].astype(np.int64)
        src = f['topology/in/neighbors'][:].astype(np.int64)
    dst = np.repeat(np.arange(len(first) - 1), np.diff(first))
    y = np.zeros_like(x)
    if arch == 'gcn':
        keep = src != dst
        src, dst = src[keep], dst[keep]
        c = (np.bincount(dst, minlength=len(x)) + 1.0) ** -0.5
        np.add.at(y, dst, x[src] * (c[src] * c[dst])[:, None])
        return y + x * (c * c)[:, None]
    np.add.at(y, dst, x[src])
    if arch == 'gin':
        return y + x
    return y / np.maximum(np.bincount(dst, minlength=len(x)), 1)[:, None]


class Bottom(TrainCase):
    def train(self, store, *args):
        """The report of a training and its last model."""
        out = os.path.join(self.dir, 'm.safetensors')
        shutil.rmtree(out + '.ckpt', ignore_errors=True)
        report = json.loads(run('train', store, '--out', out, '--json', *SMALL, *args))
        return report, read(os.path.join(self.dir, 'm.last.safetensors'))

    def files(self, store):
        return sorted(glob.glob(store[:-3] + '.bottom-*.h5'))

    def test_the_file_holds_the_aggregates_and_the_store_stays(self):
        for dtype in ('f32', 'f16', 'bf16', 'u8'):
            store = self.make('d' + dtype, '--dtype', dtype)
            before, seen = read(store), set()
            for arch in ARCHS:
                with self.subTest(arch=arch, dtype=dtype):
                    report, _ = self.train(store, '--arch', arch, *PRE)
                    self.assertTrue(report['bottom_made'])
                    self.assertGreater(report['bottom_read_bytes'], 0)
                    new, = set(self.files(store)) - seen
                    seen.add(new)
                    with h5py.File(new) as f:
                        got = f['embeddings'][:]
                    if dtype != 'bf16':  # which h5py reads as floats of its own
                        want = aggregates(store, arch)
                        self.assertLess(np.abs(got - want).max(), 1e-5 * np.abs(want).max())
                    report, _ = self.train(store, '--arch', arch, *PRE)
                    self.assertFalse(report['bottom_made'])
            self.assertEqual(before, read(store))
            self.assertEqual(sorted(os.listdir(os.path.dirname(store))),
                             sorted(['g.h5', *map(os.path.basename, seen)]))

    def test_with_all_in_edges_it_is_the_ordinary_training(self):
        loop = self.make('re')
        order = loop[:-4] + 'order.h5'
        run('reorder', loop, order, '--order', 'rcm')
        for arch in ARCHS:
            for store, layers in ((self.store, 1), (self.store, 2), (self.store, 3), (order, 2)):
                with self.subTest(arch=arch, store=store, layers=layers):
                    args = ('--arch', arch, '--layers', layers, '--fanout', 'all',
                            '--dropout', 0)
                    a, _ = self.train(store, *args)
                    b, _ = self.train(store, *args, *PRE)
                    self.assertEqual((a['bottom'], b['bottom']), ('sampled', 'precomputed'))
                    for x, y in zip(a['epochs'], b['epochs']):
                        self.assertAlmostEqual(x['loss'], y['loss'], delta=2e-4 * x['loss'])
                        self.assertAlmostEqual(x['valid'], y['valid'], delta=0.008)
                        self.assertLess(y['input_vertices'], x['input_vertices'])
                        self.assertEqual(y['gathered_bytes'], y['input_vertices'] * 96 *
                                         (2 if arch == 'sage' else 1))

    def test_the_loss_of_the_first_step_is_that_of_the_ordinary_training(self):
        for arch in ARCHS:
            args = ('--arch', arch, '--fanout', 'all', '--dropout', 0, '--batch-size', 600,
                    '--epochs', 1)
            a, b = (self.train(self.store, *args, *extra)[0] for extra in ((), PRE))
            x, y = a['epochs'][0]['loss'], b['epochs'][0]['loss']
            self.assertAlmostEqual(x, y, delta=2e-6 * x)

    def test_bits_are_those_of_any_threads_pipeline_and_stop(self):
        for arch in ARCHS:
            with self.subTest(arch=arch):
                args = ('--arch', arch, '--fanout', 4, '--dropout', .3, *PRE)
                _, one = self.train(self.store, *args, '--threads', 1, '--pipeline', 'off')
                _, five = self.train(self.store, *args, '--threads', 5)
                self.assertEqual(one, five)
                for name in self.files(self.store):
                    os.remove(name)
                out = os.path.join(self.dir, 'k.safetensors')
                again = ('train', self.store, '--out', out, *SMALL, *args)
                p = start(*again, '--faults', 'crash:step@8')
                self.assertEqual(p.returncode, -signal.SIGKILL, p.stderr)
                for name in self.files(self.store):
                    os.remove(name)
                run(*again, '--resume')
                self.assertEqual(read(out[:-12] + '.last.safetensors'), one)
                run_fails(self, 78, 'bottom=precomputed', *again, '--resume', '--bottom',
                          'sampled')

    def test_files_that_are_not_what_their_name_says_are_made_anew(self):
        store = self.make('stale')
        _, whole = self.train(store, *PRE)
        name, = self.files(store)
        content = read(name)
        for what, change in (('cut', content[:-1]), ('empty', b''),
                             ('header', b'x' * 64 + content[64:])):
            with self.subTest(what=what):
                with open(name, 'wb') as f:
                    f.write(change)
                report, model = self.train(store, *PRE)
                self.assertTrue(report['bottom_made'])
                self.assertEqual(model, whole)
                self.assertEqual(read(name), content)

    def test_aggregates_of_something_else_are_refused_by_name(self):
        """Of another convolution, another graph, the same graph with features normalised."""
        folder = os.path.join(self.dir, 'raw')
        os.makedirs(folder)
        rng = np.random.default_rng(1)
        np.save(os.path.join(folder, 'edges.npy'), rng.integers(0, 90, (2, 400)))
        np.save(os.path.join(folder, 'feat.npy'), rng.random((90, 6), np.float32))
        np.save(os.path.join(folder, 'label.npy'), rng.integers(0, 3, 90))
        np.save(os.path.join(folder, 'train_idx.npy'), np.arange(60))
        store, scaled, graph = (os.path.join(folder, x, 'g.h5') for x in 'rsg')
        for path in (store, scaled, graph):
            os.makedirs(os.path.dirname(path))
        run('import', folder, store)
        run('import', folder, scaled, '--normalize', 'row')
        np.save(os.path.join(folder, 'edges.npy'), rng.integers(0, 90, (2, 400)))
        run('import', folder, graph)
        _, whole = self.train(store, '--arch', 'gcn', *PRE)
        name, = self.files(store)
        content = read(name)
        for other, arch in ((store, 'gin'), (scaled, 'gcn'), (graph, 'gcn')):
            with self.subTest(other=other, arch=arch):
                self.train(other, '--arch', arch, *PRE)
                found, = set(self.files(other)) - {name}
                self.assertNotEqual(os.path.basename(found), os.path.basename(name))
                shutil.copy(found, name)
                out = ('--out', os.path.join(self.dir, 'x.safetensors'), *SMALL, *PRE)
                text = run_fails(self, 78, os.path.basename(name), 'train', store, *out,
                                 '--arch', 'gcn')
                self.assertIn('something else', text)
                self.assertEqual(read(name), read(found))
        os.remove(name)
        self.assertEqual(self.train(store, '--arch', 'gcn', *PRE)[1], whole)
        self.assertEqual(read(name), content)

    def test_damaged_aggregates_are_refused_by_name(self):
        store = self.make('damaged')
        self.train(store, *PRE)
        name, = self.files(store)
        with h5py.File(name) as f:
            at = f['embeddings'].id.get_offset() + 1000
        with open(name, 'r+b') as f:
            f.seek(at)
            byte = f.read(1)
            f.seek(at)
            f.write(bytes([byte[0] ^ 1]))
        out = ('--out', os.path.join(self.dir, 'x.safetensors'))
        text = run_fails(self, 65, os.path.basename(name), 'train', store, *out, *SMALL, *PRE)
        self.assertIn('remove the file', text)
        os.remove(name)
        self.train(store, *PRE)

    def test_killed_while_it_is_made_leaves_nothing_under_its_name(self):
        store = self.make('killed')
        out = ('--out', os.path.join(self.dir, 'x.safetensors'))
        for fault in ('crash:infer.pass_done@1', 'crash:infer.layer_done@1'):
            p = start('train', store, *out, *SMALL, *PRE, '--faults', fault)
            self.assertEqual(p.returncode, -signal.SIGKILL, p.stderr)
            self.assertEqual(self.files(store), [])
        p = start('train', store, *out, *SMALL, *PRE, '--faults', 'write:enospc@1-99')
        self.assertEqual(p.returncode, 74, p.stderr)
        self.assertEqual(self.files(store), [])
        report, _ = self.train(store, *PRE)
        self.assertTrue(report['bottom_made'])

    def test_past_the_memory_it_trains_the_same_model(self):
        for dtype, dim, arch in (('f32', 512, 'sage'), ('f16', 600, 'sage'), ('f32', 600, 'gcn')):
            with self.subTest(arch=arch, dtype=dtype):
                store = self.make(f'wide{dtype}{arch}', '--vertices', 12000, '--edge-factor', 4,
                                  '--feat-dim', dim, '--dtype', dtype, '--train-count', 300)
                args = ('--arch', arch, '--fanout', 2, '--batch-size', 50, *PRE)
                a, inside = self.train(store, *args)
                for io in ('auto', 'pread'):
                    small = ('--io', io, '--host-memory', '34M')
                    b, outside = self.train(store, *args, *small)
                    self.assertEqual(inside, outside)
                    for x, y in zip(a['epochs'], b['epochs']):
                        self.assertAlmostEqual(x['valid'], y['valid'], delta=0.002)
                for name in self.files(store):
                    os.remove(name)
                b, outside = self.train(store, *args, '--host-memory', '34M')
                self.assertTrue(b['bottom_made'])
                self.assertEqual(inside, outside)

    def test_dropout_is_said_once(self):
        out = ('--out', os.path.join(self.dir, 'x.safetensors'))
        for arch, text in (('gcn', 'falls on aggregates'), ('sage', 'and on own rows')):
            p = start('train', self.store, *out, '--arch', arch, '--epochs', 2, *PRE)
            self.assertEqual(p.stderr.count(text), 1, p.stderr)
        p = start('train', self.store, *out, '--dropout', 0, '--epochs', 2, *PRE)
        self.assertNotIn('falls on', p.stderr)

    def test_refusals(self):
        out = ('--out', os.path.join(self.dir, 'r.safetensors'))
        run_fails(self, 78, 'attention weights', 'train', self.store, *out, '--arch', 'gat', *PRE)
        run_fails(self, 64, '--bottom', 'train', self.store, *out, '--bottom', 'none')
        run_fails(self, 64, 'one for each', 'train', self.store, *out, '--fanout', '1,2,3', *PRE)
        bare = os.path.join(self.dir, 'bare.h5')
        run('generate', 'sbm', bare, '--vertices', 200, '--feat-dim', 0)
        run_fails(self, 78, 'no features', 'train', bare, *out, *PRE)
        if os.getuid() != 0:
            store = self.make('shut')
            os.chmod(os.path.dirname(store), 0o555)
            run_fails(self, 73, 'bottom', 'train', store, *out, *PRE)
            os.chmod(os.path.dirname(store), 0o755)

    @unittest.skipUnless(os.path.isdir(DATA), 'the real data are not here')
    def test_it_is_as_accurate_as_the_sampled_bottom(self):
        for name, args, least in (('cora', ('--normalize', 'row'), .79),
                                  ('citeseer', ('--normalize', 'row'), .67),
                                  ('amazon_photo', (), .90)):
            with self.subTest(data=name):
                store = os.path.join(self.dir, name + '.h5')
                run('import', os.path.join(DATA, name), store, *args)
                extra = (('--weight-decay', '5e-4,0', '--epochs', 60) if name != 'amazon_photo'
                         else ('--epochs', 12, '--batch-size', 512, '--hidden', 64,
                               '--dropout', 0))
                report, _ = self.train(store, '--arch', 'gcn', '--fanout', 10, *extra, *PRE)
                self.assertGreater(report['test'], least)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
