#!/usr/bin/env python3
"""gnnrun train as a whole: bits over threads and stops, refusals, published accuracy on cora.

usage: train_test.py GNNRUN
"""
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

import program
from program import PROGRAM, SHARED, TrainCase, read, run, run_fails, start

np = program.numpy_or_skip()
import h5py  # noqa: E402

CORA = os.path.join(SHARED, 'data', 'cora')
SMALL = ('--hidden', 16, '--fanout', '4,6', '--batch-size', 100, '--epochs', 3, '--log', 'warn')


def safetensors(data):
    """The float tensors of a file."""
    length = int.from_bytes(data[:8], 'little')
    header = json.loads(data[8:8 + length])
    return {name: np.frombuffer(data[8 + length:], '<f4', (t['data_offsets'][1] -
                                t['data_offsets'][0]) // 4, t['data_offsets'][0])
            for name, t in header.items() if name != '__metadata__' and t['dtype'] == 'F32'}


def rewrite_metadata(path, data, name, value):
    """A checkpoint that says something else of itself, or, with None, nothing."""
    length = int.from_bytes(data[:8], 'little')
    header = json.loads(data[8:8 + length])
    header['__metadata__'][name] = value
    if value is None:
        del header['__metadata__'][name]
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as f:
        f.write(len(text).to_bytes(8, 'little') + text + data[8 + length:])


class Train(TrainCase):
    def train(self, name, *args, **kwargs):
        """The report of a training and its two models."""
        out = self.path(name + '.safetensors')
        text = run('train', self.store, '--out', out, '--json', *SMALL, *args, **kwargs)
        return json.loads(text), read(out), read(self.path(name + '.last.safetensors'))

    def test_every_arch_learns_and_infer_agrees(self):
        for arch, extra in (('gcn', ()), ('sage', ()), ('gin', ()), ('gat', ('--heads', '4'))):
            with self.subTest(arch=arch):
                report, _, _ = self.train(arch, '--arch', arch, *extra, '--epochs', 6)
                self.assertEqual(report['command'], 'train')
                self.assertEqual([e['epoch'] for e in report['epochs']], [1, 2, 3, 4, 5, 6])
                self.assertLess(report['epochs'][-1]['loss'], report['epochs'][0]['loss'])
                self.assertGreater(report['test'], 0.6)
                infer = json.loads(run(
                    'infer', self.store, '--model', self.path(arch + '.safetensors'), '--out',
                    self.path('e.h5'), '--json'))
                for split in ('valid', 'test'):
                    self.assertAlmostEqual(infer[split], report[split], delta=0.004)

    def test_bits_are_those_of_any_threads_and_pipeline(self):
        for arch in ('gcn', 'sage', 'gin', 'gat'):
            with self.subTest(arch=arch):
                _, *one = self.train('one', '--arch', arch, '--threads', 1, '--pipeline', 'off')
                _, *two = self.train('two', '--arch', arch, '--threads', 5)
                self.assertEqual(one, two)
        _, *other = self.train('three', '--arch', 'gat', '--seed', 1)
        self.assertNotEqual(two, other)

    def test_killed_anywhere_it_goes_on_with_equal_bits(self):
        _, *whole = self.train('whole')
        for fault in ('crash:step@4', 'crash:step@9', 'crash:checkpoint@1', 'crash:step@18'):
            with self.subTest(fault=fault):
                args = ('train', self.store, '--out', self.path('k.safetensors'), *SMALL)
                p = start(*args, '--faults', fault)
                self.assertEqual(p.returncode, -signal.SIGKILL, p.stderr)
                self.assertFalse(os.path.exists(self.path('k.safetensors')))
                run(*args, '--resume')
                self.assertEqual(read(self.path('k.safetensors')), whole[0])
                self.assertEqual(read(self.path('k.last.safetensors')), whole[1])
                os.remove(self.path('k.safetensors'))

    def test_a_signal_ends_it_with_75_and_it_goes_on_mid_epoch(self):
        for number in (signal.SIGTERM, signal.SIGUSR1):
            long = ('--epochs', 40, '--batch-size', 20)
            _, *whole = self.train('whole', *long)
            args = ('train', self.store, '--out', self.path('s.safetensors'), *SMALL, *long)
            p = subprocess.Popen([PROGRAM, *map(str, args)], stderr=subprocess.PIPE, text=True)
            state = self.path('s.safetensors.ckpt/state.safetensors')
            while not os.path.exists(state) and p.poll() is None:
                time.sleep(0.005)
            p.send_signal(number)
            _, text = p.communicate()
            self.assertEqual(p.returncode, 75, text)
            self.assertIn('--resume', text)
            self.assertFalse(os.path.exists(self.path('s.safetensors')))
            text = run(*args, '--resume', '--json')
            self.assertEqual(len(json.loads(text)['epochs']), 40)
            self.assertEqual(read(self.path('s.safetensors')), whole[0])
            self.assertEqual(read(self.path('s.last.safetensors')), whole[1])
            for name in ('s.safetensors', 's.safetensors.ckpt/state.safetensors'):
                os.remove(self.path(name))

    def test_a_finished_one_is_published_again_and_can_be_prolonged(self):
        first, *models = self.train('f')
        os.remove(self.path('f.safetensors'))
        again, *published = self.train('f', '--resume')
        self.assertEqual(models, published)
        self.assertEqual(first['epochs'], again['epochs'])
        longer, *_ = self.train('f', '--resume', '--epochs', 5)
        self.assertEqual(len(longer['epochs']), 5)
        whole, *_ = self.train('g', '--epochs', 5)
        self.assertEqual([e['loss'] for e in longer['epochs']],
                         [e['loss'] for e in whole['epochs']])

    def test_patience_ends_it(self):
        report, *_ = self.train('p', '--patience', 2, '--epochs', 60, '--lr', 0.05)
        self.assertTrue(report['stopped_early'])
        self.assertEqual(len(report['epochs']), report['best_epoch'] + 2)
        best = max(e['valid'] for e in report['epochs'])
        self.assertEqual(report['valid'], best)

    def test_features_past_the_memory_train_the_same_model(self):
        store = self.path('wide.h5')
        for dtype, arch in (('f32', 'sage'), ('f16', 'gat')):
            run('generate', 'sbm', store, '--vertices', 12000, '--edge-factor', 4, '--feat-dim',
                512 if dtype == 'f32' else 1000, '--dtype', dtype, '--train-count', 300)
            with self.subTest(arch=arch, dtype=dtype):
                args = ('train', store, '--arch', arch, *SMALL, '--fanout', 2, '--json',
                        '--batch-size', 50, '--log', 'info', '--out')
                whole = start(*args, self.path('inside.safetensors'))
                self.assertNotIn('stay in the store', whole.stderr)
                for io in ('auto', 'pread'):
                    p = start(*args, self.path('outside.safetensors'), '--io', io,
                              '--host-memory', '34M')
                    self.assertIn('stay in the store', p.stderr)
                    self.assertEqual(p.returncode, 0, p.stderr)
                    a, b = json.loads(whole.stdout), json.loads(p.stdout)
                    for x, y in zip(a['epochs'], b['epochs']):
                        self.assertEqual(x['loss'], y['loss'])
                        self.assertAlmostEqual(x['valid'], y['valid'], delta=0.002)
                    self.assertEqual(read(self.path('inside.last.safetensors')),
                                     read(self.path('outside.last.safetensors')))
                self.assertEqual(os.listdir(self.path('outside.safetensors.ckpt')),
                                 ['state.safetensors'])

    def test_memory_is_foreseen_before_the_first_step(self):
        """The whole step, and the evaluation behind it: refused at once, or it runs to its end."""
        args = ('train', self.store, '--hidden', 1024, '--fanout', '4,6', '--batch-size', 300,
                '--epochs', 1, '--threads', 2, '--out', self.path('big.safetensors'))
        text = run_fails(self, 71, 'or --batch-size 150', *args, '--host-memory', '17M')
        self.assertRegex(text, r'300 seeds reach 1\d{3} vertices by \d+ edges: batches .* MiB are '
                         r'left: \S+ MiB more of --host-memory would suffice')
        self.assertFalse(os.path.exists(self.path('big.safetensors.ckpt')))
        run_fails(self, 71, 'evaluation beside', *args, '--host-memory', '20M')
        run(*args, '--host-memory', '17M', '--batch-size', 50, '--hidden', 512)
        p = start('train', self.make('wide', '--vertices', 20000, '--edge-factor', 4), *args[2:],
                  '--batch-size', 50, '--hidden', 512, '--fanout', 2, '--host-memory', '32M',
                  '--log', 'info')
        self.assertIn('evaluation streams the store', p.stderr)
        self.assertEqual(p.returncode, 0, p.stderr)

    def test_options_change_what_is_learned(self):
        _, plain, _ = self.train('plain')
        for args in (('--sampler', 'labor'), ('--optimizer', 'adamw', '--weight-decay', '.1'),
                     ('--optimizer', 'sgd'), ('--optimizer', 'sgd', '--momentum', '0'),
                     ('--schedule', 'cosine'), ('--schedule', 'linear'), ('--schedule', 'step'),
                     ('--clip', '.01'), ('--weight-decay', '1e-3,0'), ('--dropout', '.1'),
                     ('--lr', '.02'), ('--layers', 3, '--fanout', '2,all,3'),
                     ('--sampler', 'labor', '--batch-dependency', 3)):
            with self.subTest(args=args):
                report, model, _ = self.train('changed', *args)
                self.assertNotEqual(model, plain)
                self.assertLess(report['epochs'][-1]['loss'], 3)

    def test_refusals(self):
        out = ('--out', self.path('r.safetensors'))
        for code, text, args in (
                (64, '--out', ()), (64, '--fanout wants', (*out, '--fanout', '0')),
                (64, 'one for each of', (*out, '--fanout', '1,2,3')),
                (64, '--fanout wants', (*out, '--fanout', '5,x')),
                (64, 'has no heads', (*out, '--heads', '8')),
                (64, '--weight-decay', (*out, '--weight-decay', '1,-1')),
                (64, 'wants', (*out, '--lr', '-1')),
                (78, '--batch-dependency', (*out, '--batch-dependency', '2')),
                (78, '--momentum', (*out, '--momentum', '.5')),
                (78, '--io map', (*out, '--io', 'map')),
                (78, 'rocauc', (*out, '--metric', 'rocauc')),
                (78, 'take a GPU', (*out, '--backend', 'cpu', '--gather', 'staged')),
                (78, 'take a GPU', (*out, '--backend', 'cpu', '--gather', 'both')),
                (78, 'rows on a GPU', (*out, '--backend', 'cpu', '--cache-ratio', '.5')),
                (78, 'give --cache-ratio', (*out, '--cache-policy', 'degree')),
                (71, '--host-memory', (*out, '--host-memory', '100K'))):
            with self.subTest(args=args):
                run_fails(self, code, text, 'train', self.store, *args)
        run_fails(self, 73, self.store, 'train', self.store, '--out', self.store)
        self.assertFalse(os.path.exists(self.path('r.safetensors')))

    def test_a_loss_that_is_no_number_names_the_batch_and_keeps_the_checkpoint(self):
        out = ('--out', self.path('n.safetensors'), *SMALL)
        text = run_fails(self, 65, 'the loss is', 'train', self.store, *out, '--lr', '1e6',
                         '--optimizer', 'sgd', '--epochs', 50)
        self.assertRegex(text, r'epoch \d+, batch \d+: the loss is \S+; its vertices are \d+, ')
        self.assertFalse(os.path.exists(self.path('n.safetensors')))

    def test_behind_a_loss_that_is_no_number_the_last_good_checkpoint_goes_on(self):
        """A decay that makes weights grow with each step ends in some epoch past the first."""
        args = ('train', self.store, '--out', self.path('n.safetensors'), *SMALL, '--lr', '.01',
                '--optimizer', 'sgd', '--weight-decay', '1000')
        state = self.path('n.safetensors.ckpt/state.safetensors')
        text = run_fails(self, 65, 'The last checkpoint is kept', *args, '--epochs', 80)
        failed = int(re.search(r'epoch (\d+), batch', text).group(1))
        self.assertGreater(failed, 2)
        kept = read(state)
        tensors = safetensors(kept)
        for name in ('weights', 'best'):
            self.assertTrue(np.isfinite(tensors[name]).all(), name)
        again = run_fails(self, 65, 'the loss is', *args, '--epochs', 80, '--resume')
        self.assertEqual(again, text)
        with open(state, 'wb') as f:
            f.write(kept)
        run(*args, '--epochs', failed - 1, '--resume')
        resumed = read(self.path('n.safetensors')), read(self.path('n.last.safetensors'))
        os.remove(state)
        run(*args, '--epochs', failed - 1)
        self.assertEqual(resumed, (read(self.path('n.safetensors')),
                                   read(self.path('n.last.safetensors'))))

    def test_checkpoints_of_something_else(self):
        self.train('c')
        args = ('train', '--out', self.path('c.safetensors'), *SMALL, '--resume')
        run_fails(self, 78, 'lr=', *args, self.store, '--lr', '.02')
        run_fails(self, 78, 'seed=', *args, self.store, '--seed', '3')
        other = self.path('other.h5')
        run('generate', 'sbm', other, '--vertices', 1500, '--edge-factor', 12, '--feat-dim', 24,
            '--classes', 5, '--train-count', 600, '--seed', 9)
        run_fails(self, 78, 'another graph', *args, other)
        state = self.path('c.safetensors.ckpt/state.safetensors')
        whole = read(state)
        for name, value in (('version', '0.0.9'), ('format', 'gnnrun-train-0'), ('ranks', '2')):
            with self.subTest(name=name):
                rewrite_metadata(state, whole, name, value)
                text = run_fails(self, 78, name, *args, self.store)
                self.assertIn(value, text)
                rewrite_metadata(state, whole, name, None)
                run_fails(self, 78, name, *args, self.store)
        self.assertFalse(os.path.exists(self.path('c.safetensors.tmp')))
        with open(state, 'wb') as f:
            f.write(whole[:len(whole) // 2])
        run_fails(self, 65, 'state.safetensors', *args, self.store)

    def test_nothing_to_train_on(self):
        for name, code, text, change in (
                ('bare', 78, 'features', ('--feat-dim', 0)),
                ('plain', 78, 'labels', ('--classes', 0)),
                ('one', 78, '1 classes', ('--classes', 1))):
            with self.subTest(name=name):
                path = self.path(name + '.h5')
                run('generate', 'sbm', path, '--vertices', 200, '--communities', 2, *change)
                run_fails(self, code, text, 'train', path, '--out', self.path('x.safetensors'))
        folder = self.path('nosplit')
        os.makedirs(folder)
        np.save(folder + '/edges.npy', np.array([[0, 1, 2], [1, 2, 0]]))
        np.save(folder + '/feat.npy', np.eye(3, dtype=np.float32))
        np.save(folder + '/label.npy', np.array([0, 1, 0]))
        run('import', folder, folder + '.h5')
        run_fails(self, 78, 'no training vertices', 'train', folder + '.h5', '--out',
                  self.path('x.safetensors'))

    def test_many_labels(self):
        folder, rng = self.path('many'), np.random.default_rng(0)
        os.makedirs(folder)
        label = rng.integers(0, 2, (300, 4)).astype(np.uint8)
        np.save(folder + '/edges.npy', rng.integers(0, 300, (2, 1500)))
        np.save(folder + '/feat.npy', (label @ rng.normal(size=(4, 9))).astype(np.float32))
        np.save(folder + '/label.npy', label)
        for i, name in enumerate(('train', 'valid', 'test')):
            np.save(f'{folder}/{name}_idx.npy', np.arange(100 * i, 100 * i + 100))
        run('import', folder, folder + '.h5')
        report = json.loads(run('train', folder + '.h5', '--out', self.path('m.safetensors'),
                                '--json', '--epochs', 60, '--hidden', 32, '--dropout', 0))
        self.assertEqual(report['metric'], 'f1')
        self.assertGreater(report['test'], 0.9)

    def weighted(self, name, count=300, wide=9):
        """A store with edge weights, duplicates and self-loops, and what is in it."""
        folder, rng = self.path(name), np.random.default_rng(1)
        os.makedirs(folder)
        edges = rng.integers(0, count, (2, 10 * count))
        edges[:, :40] = edges[0, :40]  # self-loops, some vertices with several
        edges[:, 20:30] = edges[:, :10]
        weights = (rng.random(edges.shape[1]) * 2 + .05).astype(np.float32)
        label = rng.integers(0, 3, count)
        x = rng.normal(size=(count, wide)).astype(np.float32)
        for key, value in (('edges', edges), ('weight', weights), ('feat', x), ('label', label)):
            np.save(f'{folder}/{key}.npy', value)
        for i, split in enumerate(('train', 'valid', 'test')):
            np.save(f'{folder}/{split}_idx.npy', np.arange(100 * i, 100 * i + 100))
        run('import', folder, folder + '.h5')
        return folder + '.h5', edges, weights, x, label

    def same_as_pyg(self, edges, weights, want):
        """The operator beside PyG's own, where PyG is here."""
        try:
            import torch
            from torch_geometric.nn.conv.gcn_conv import gcn_norm
        except ImportError:
            return
        (src, dst), norm = gcn_norm(torch.tensor(edges), torch.tensor(np.float64(weights)),
                                    len(want), dtype=torch.float64)
        got = np.zeros_like(want)
        np.add.at(got, (dst.numpy(), src.numpy()), norm.numpy())
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)

    def test_edge_weights_train_as_gcn_norm_says(self):
        """Three steps of plain descent over all in-edges, beside the same in double precision."""
        store, edges, weights, x, label = self.weighted('w')
        loop, a, x = np.ones(len(x)), np.zeros((len(x), len(x))), np.float64(x)
        for u, v, w in zip(*edges, np.float64(weights)):
            if u == v:
                loop[v] = w
            else:
                a[v, u] += w
        a += np.diag(loop)
        norm = a.sum(1) ** -.5
        a *= norm[:, None] * norm
        self.same_as_pyg(edges, weights, a)
        args = ('train', store, '--arch', 'gcn', '--hidden', 8, '--fanout', 'all', '--dropout', 0,
                '--optimizer', 'sgd', '--momentum', 0, '--batch-size', 100, '--json', '--out')
        run(*args, self.path('w0.safetensors'), '--lr', '1e-30', '--epochs', 1)
        w0, b0, w1, b1 = (np.float64(tensors(self.path('w0.last.safetensors'))[k]) for k in (
            'convs.0.lin.weight', 'convs.0.bias', 'convs.1.lin.weight', 'convs.1.bias'))
        losses, rows = [], np.arange(100)
        for _ in range(3):
            h = np.maximum(a @ x @ w0.T + b0, 0)
            y = a @ h @ w1.T + b1
            p = np.exp(y[:100] - y[:100].max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            losses.append(-np.log(p[rows, label[:100]]).mean())
            dy = np.zeros_like(y)
            dy[:100] = (p - np.eye(3)[label[:100]]) / 100
            dh = a.T @ dy @ w1 * (h > 0)
            step = dh.T @ (a @ x), dh.sum(0), dy.T @ (a @ h), dy.sum(0)
            w0, b0, w1, b1 = (w - .5 * g for w, g in zip((w0, b0, w1, b1), step))
        report = json.loads(run(*args, self.path('w.safetensors'), '--lr', '.5', '--epochs', 3))
        np.testing.assert_allclose([e['loss'] for e in report['epochs']], losses, rtol=1e-5)
        got = tensors(self.path('w.last.safetensors'))
        for key, want in (('convs.0.lin.weight', w0), ('convs.1.lin.weight', w1),
                          ('convs.0.bias', b0), ('convs.1.bias', b1)):
            np.testing.assert_allclose(got[key], want, rtol=1e-4, atol=1e-5 * np.abs(want).max())

    def test_edge_weights_of_every_way_to_train(self):
        """Evaluation in memory and by inference; the bits of any threads; every bottom layer."""
        store, *_ = self.weighted('v', 9000, 500)  # rows that do not fit the smaller memory
        args = ('train', store, '--arch', 'gcn', '--hidden', 8, '--fanout', '2,1', '--batch-size',
                10, '--epochs', 2, '--json', '--out', self.path('v.safetensors'))
        models, reports = [], []
        for more in ((), ('--threads', 1, '--pipeline', 'off'), ('--host-memory', '34M')):
            p = start(*args, *more, '--log', 'info')
            self.assertEqual(p.returncode, 0, p.stderr)
            self.assertEqual('stay in the store' in p.stderr, '--host-memory' in more)
            reports.append(json.loads(p.stdout))
            models.append(read(self.path('v.last.safetensors')))
        self.assertEqual(models[1:], models[:1] * 2)
        for report in reports[1:]:
            self.assertAlmostEqual(report['test'], reports[0]['test'], delta=.011)
        infer = json.loads(run('infer', store, '--model', self.path('v.safetensors'), '--out',
                               self.path('v.e.h5'), '--json'))
        self.assertAlmostEqual(infer['test'], reports[0]['test'], delta=.011)
        for more in (('--orchestration', 'layer'), ('--bottom', 'precomputed'),
                     ('--orchestration', 'layer', '--reuse', 'embeddings', '--super-batch', 1)):
            with self.subTest(more=more):
                whole = ('--fanout', 'all', '--dropout', 0)
                want = json.loads(run(*args, *whole))['epochs'][-1]['loss']
                got = json.loads(run(*args, *whole, *more))['epochs'][-1]['loss']
                self.assertAlmostEqual(got, want, delta=(.1 if '--reuse' in more else 1e-4) * want)
        p = start('train', store, '--arch', 'sage', *SMALL, '--log', 'info', '--out',
                  self.path('s.safetensors'))
        self.assertIn('sage layers take none', p.stderr)
        self.assertEqual(p.returncode, 0, p.stderr)

    @unittest.skipUnless(os.path.isdir(CORA), 'the cora data are not here')
    def test_cora_reaches_the_published_accuracy(self):
        store = self.path('cora.h5')
        run('import', CORA, store, '--normalize', 'row')
        report = json.loads(run(
            'train', store, '--out', self.path('cora.safetensors'), '--json', '--arch', 'gcn',
            '--hidden', 16, '--weight-decay', '5e-4,0', '--fanout', 'all', '--epochs', 100,
            '--eval-every', 2))
        self.assertGreater(report['test'], 0.80)
        with h5py.File(store) as f:
            self.assertEqual(len(f['split/train']), 140)

    def test_pyg_loads_what_is_written(self):
        try:
            import torch
            from torch_geometric.nn import GATConv, GCNConv, GINConv, MLP, SAGEConv
        except ImportError as e:
            self.skipTest(f'{e.name} is not here')
        makers = {'gcn': lambda i, o, last: GCNConv(i, o),
                  'sage': lambda i, o, last: SAGEConv(i, o),
                  'gin': lambda i, o, last: GINConv(MLP([i, o, o])),
                  'gat': lambda i, o, last: GATConv(i, o, 1 if last else 4, concat=not last)}
        with h5py.File(self.store) as f:
            x, first = torch.tensor(f['features'][:]), f['topology/in/offsets'][:]
            src = f['topology/in/neighbors'][:].astype(np.int64)
        dst = np.repeat(np.arange(len(first) - 1), np.diff(first.astype(np.int64)))
        edges = torch.tensor(np.stack([src, dst]))
        for arch, make in makers.items():
            with self.subTest(arch=arch):
                heads = ('--heads', '4') if arch == 'gat' else ()
                self.train('pyg', '--arch', arch, *heads)
                width = 64 if arch == 'gat' else 16
                net = torch.nn.Module()
                net.convs = torch.nn.ModuleList([make(24, 16, False), make(width, 5, True)])
                net.load_state_dict(load(self.path('pyg.safetensors'), torch), strict=True)
                net.eval()
                act = torch.nn.functional.elu if arch == 'gat' else torch.relu
                with torch.no_grad():
                    want = net.convs[1](act(net.convs[0](x, edges)), edges).numpy()
                run('infer', self.store, '--model', self.path('pyg.safetensors'), '--out',
                    self.path('pyg.h5'))
                with h5py.File(self.path('pyg.h5')) as f:
                    got = f['embeddings'][:]
                self.assertLess(np.abs(got - want).max(), 2e-4 * np.abs(want).max())


def tensors(path):
    """The arrays of a safetensors file."""
    raw = read(path)
    length = int.from_bytes(raw[:8], 'little')
    header = json.loads(raw[8:8 + length])
    header.pop('__metadata__')
    types = {'F32': np.float32, 'I64': np.int64}
    return {name: np.frombuffer(
        raw[8 + length + t['data_offsets'][0]:8 + length + t['data_offsets'][1]],
        types[t['dtype']]).reshape(t['shape']).copy() for name, t in header.items()}


def load(path, torch):
    return {name: torch.tensor(array) for name, array in tensors(path).items()}


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
