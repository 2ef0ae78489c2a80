#!/usr/bin/env python3
"""Every name that a version of PyG or DGL gives its tensors: how it is read, and what it computes.

usage: models_test.py GNNRUN

Each row is a generated safetensors file. The reading is that of `gnnrun model --json`, the numbers
are held against float64 forwards written here. What stands between layers is tested for equal bits
over chunks, threads and shards too.
"""
import json
import os
import signal
import sys
import tempfile
import unittest

from program import numpy_or_skip, run, run_fails, start, write_safetensors

np = numpy_or_skip()
import h5py  # noqa: E402  (after the check)
from reference import RELU, gat, gcn, graph, sage  # noqa: E402

F, H, V = 12, 8, 700
RANDOM = np.random.default_rng(3)


def tensor(*shape):
    return RANDOM.normal(0, 0.5, shape).astype(np.float32)


def wide(p):
    return {k: t.astype(np.float64) for k, t in p.items()}


def gatv2(x, src, dst, p):
    keep, v = src != dst, np.arange(len(x))
    src, dst = np.r_[src[keep], v], np.r_[dst[keep], v]
    _, heads, channels = p['att'].shape
    left = (x @ p['lin_l.weight'].T + p['lin_l.bias']).reshape(-1, heads, channels)
    right = (x @ p['lin_r.weight'].T + p['lin_r.bias']).reshape(-1, heads, channels)
    pair = left[src] + right[dst]
    e = (np.where(pair > 0, pair, 0.2 * pair) * p['att']).sum(-1)
    top = np.full((len(x), heads), -np.inf)
    np.maximum.at(top, dst, e)
    w = np.exp(e - top[dst])
    total, out = np.zeros((len(x), heads)), np.zeros_like(left)
    np.add.at(total, dst, w)
    np.add.at(out, dst, (w / total[dst])[:, :, None] * left[src])
    return out.reshape(len(x), -1) + p['bias']


def weighted_gat(x, src, dst, weight, p):
    """DGL's: the softmax is over the scores alone, the weights scale what it gives."""
    _, heads, channels = p['attn_l'].shape
    z = (x @ p['fc.weight'].T).reshape(-1, heads, channels)
    e = (z * p['attn_l']).sum(-1)[src] + (z * p['attn_r']).sum(-1)[dst]
    w = np.exp(np.where(e > 0, e, 0.2 * e))
    total, out = np.zeros((len(x), heads)), np.zeros_like(z)
    np.add.at(total, dst, w)
    np.add.at(out, dst, (w / total[dst] * weight[:, None])[:, :, None] * z[src])
    return out.reshape(len(x), -1) + p['bias']


def batch_norm(x, p):
    return (x - p['running_mean']) / np.sqrt(p['running_var'] + 1e-5) * p['weight'] + p['bias']


def graph_norm(x, p):
    return (x - x.mean()) / (x.std() + 1e-5) * p['weight'] + p['bias']


def node_norm(x, p):
    spread = np.sqrt(x.var(1, keepdims=True) + 1e-5)
    return (x - x.mean(1, keepdims=True)) / spread * p['weight'] + p['bias']


class Names(unittest.TestCase):
    """The rows of the table of names, one layer each."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.edges = graph(V, 5000, 5)
        cls.x = np.random.default_rng(1).normal(size=(V, F)).astype(np.float32)
        np.save(cls.path('edges.npy'), cls.edges)
        np.save(cls.path('feat.npy'), cls.x)
        run('import', cls.path('edges.npy'), cls.path('g.h5'), '--vertices', V, '--features',
            cls.path('feat.npy'))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def infer(self, *options, store='g.h5'):
        run('infer', self.path(store), '--model', self.path('m.safetensors'), '--out',
            self.path('e.h5'), *options)
        with h5py.File(self.path('e.h5')) as f:
            return f['embeddings'][:]

    def check(self, tensors, told, convolution, want, prefix='convs.0.', layers=1, store='g.h5'):
        write_safetensors(self.path('m.safetensors'),
                          {prefix + k: t for k, t in tensors.items()}, told)
        read = json.loads(run('model', self.path('m.safetensors'), '--json'))
        self.assertEqual(read['convolution'], convolution)
        self.assertEqual(len(read['layers']), layers)
        self.assertIsNone(read.get('missing'))
        got = self.infer(store=store)
        self.assertEqual(got.shape, want.shape)
        self.assertLess(np.abs(got - want).max() / np.abs(want).max(), 2e-6, convolution)
        return read

    def forward(self, layer, p):
        return layer(self.x.astype(np.float64), *self.edges, wide(p))

    def test_gcn(self):
        p = {'lin.weight': tensor(H, F), 'bias': tensor(H)}
        want = self.forward(gcn, p)
        self.check(p, {}, 'GCNConv of PyG 2', want)
        self.check({'weight': p['lin.weight'].T.copy(), 'bias': p['bias']},
                   {'gnnrun.library': 'pyg'}, 'GCNConv of PyG 1', want)

    def test_gat_of_pyg(self):
        p = {'lin.weight': tensor(2 * H, F), 'att_src': tensor(1, 2, H),
             'att_dst': tensor(1, 2, H), 'bias': tensor(2 * H)}
        want, told = self.forward(gat, p), {'gnnrun.concat': '1'}
        w, s, d = p['lin.weight'], p['att_src'], p['att_dst']
        self.check(p, told, 'GATConv of PyG 2.5', want)
        for names in (['lin_src', 'lin_dst'], ['lin_src'], ['lin_dst']):
            self.check({**{n + '.weight': w for n in names}, 'att_src': s, 'att_dst': d,
                        'bias': p['bias']}, told, 'GATConv of PyG 2.0', want)
        for names in (['lin_l', 'lin_r'], ['lin_l'], ['lin_r']):
            self.check({**{n + '.weight': w for n in names}, 'att_l': s, 'att_r': d,
                        'bias': p['bias']}, told, 'GATConv of PyG 1.6', want)
        self.check({'weight': w.T.copy(), 'att': np.concatenate([d, s], 2), 'bias': p['bias']},
                   told, 'GATConv of PyG 1.5', want)
        res = tensor(2 * H, F)
        self.check({**p, 'res.weight': res}, told, 'GATConv of PyG 2.5',
                   want + self.x.astype(np.float64) @ res.T.astype(np.float64))

    def test_gatv2_of_pyg(self):
        p = {'lin_l.weight': tensor(2 * H, F), 'lin_l.bias': tensor(2 * H),
             'lin_r.weight': tensor(2 * H, F), 'lin_r.bias': tensor(2 * H),
             'att': tensor(1, 2, H), 'bias': tensor(2 * H)}
        told = {'gnnrun.concat': '1'}
        self.check(p, told, 'GATv2Conv of PyG', self.forward(gatv2, p))
        shared = {**p, 'lin_r.weight': p['lin_l.weight'], 'lin_r.bias': p['lin_l.bias']}
        want = self.forward(gatv2, shared)
        self.check(shared, told, 'GATv2Conv of PyG', want)
        for left_out in ('lin_l', 'lin_r'):
            self.check({k: t for k, t in shared.items() if not k.startswith(left_out)}, told,
                       'GATv2Conv of PyG', want)

    def test_sage_of_dgl(self):
        neigh, own, a, b = tensor(H, F), tensor(H, F), tensor(H), tensor(H)

        def want(bias):
            return self.forward(sage, {'lin_l.weight': neigh, 'lin_r.weight': own,
                                       'lin_l.bias': bias})
        base = {'fc_neigh.weight': neigh, 'fc_self.weight': own}
        name = 'SAGEConv of DGL, mean'
        self.check({**base, 'fc_self.bias': a, 'fc_neigh.bias': b}, {}, name, want(a + b))
        self.check({**base, 'bias': a}, {}, name, want(a))
        self.check({**base, 'fc_self.bias': a}, {}, name, want(a))

    def test_gat_of_dgl(self):
        w, s, d = tensor(2 * H, F), tensor(1, 2, H), tensor(1, 2, H)
        bias, res, res_bias = tensor(2 * H), tensor(2 * H, F), tensor(2 * H)
        base, name = {'fc.weight': w, 'attn_l': s, 'attn_r': d}, 'GATConv of DGL'
        told = {'gnnrun.concat': '1', 'gnnrun.self_loops': 'replace'}
        zero = self.forward(gat, {'lin.weight': w, 'att_src': s, 'att_dst': d,
                                  'bias': np.zeros(2 * H, np.float32)})
        through = self.x.astype(np.float64) @ res.T.astype(np.float64)
        self.check(base, told, name, zero)
        self.check({**base, 'bias': bias}, told, name, zero + bias)
        self.check({**base, 'bias': bias, 'res_fc.weight': res}, told, name,
                   zero + bias + through)
        self.check({**base, 'res_fc.weight': res, 'res_fc.bias': res_bias}, told, name,
                   zero + res_bias + through)

    def test_gat_of_dgl_takes_edge_weights(self):
        weight = np.random.default_rng(7).random(self.edges.shape[1]).astype(np.float32)
        np.save(self.path('weight.npy'), weight)
        run('import', self.path('edges.npy'), self.path('w.h5'), '--vertices', V, '--features',
            self.path('feat.npy'), '--weights', self.path('weight.npy'))
        p = {'fc.weight': tensor(2 * H, F), 'attn_l': tensor(1, 2, H), 'attn_r': tensor(1, 2, H),
             'bias': tensor(2 * H)}
        want = weighted_gat(self.x.astype(np.float64), *self.edges, weight.astype(np.float64),
                            wide(p))
        told = {'gnnrun.concat': '1', 'gnnrun.self_loops': 'none'}
        self.check(p, told, 'GATConv of DGL', want, store='w.h5')
        whole = self.infer(store='w.h5')
        for options in (['--chunk-bytes', '20K'], ['--plan', 'partitioned', '--shards', '3'],
                        ['--plan', 'tiered'], ['--fanout', str(V)]):
            np.testing.assert_array_equal(whole, self.infer(*options, store='w.h5'))

    def test_edge_features_and_lstm_are_refused_by_name(self):
        for key, text in (('att_edge', 'edge features'), ('lin_edge.weight', 'edge features'),
                          ('lstm.weight_ih_l0', 'LSTM')):
            write_safetensors(self.path('m.safetensors'), {'convs.0.' + key: tensor(2, 2)}, {})
            run_fails(self, 78, text, 'model', self.path('m.safetensors'))

    # --- what stands between layers ---

    def zoo(self, norms):
        """Three GCN layers, their norms, and float64 h_1, h_2, h_3."""
        tensors, h, seen = {}, self.x.astype(np.float64), []
        for l in range(3):
            p = {'lin.weight': tensor(H, H if l else F), 'bias': tensor(H)}
            n = {'weight': 1 + tensor(H), 'bias': tensor(H)}
            if norms is batch_norm:
                n.update(running_mean=tensor(H), running_var=np.abs(tensor(H)) + 0.5)
            middle = 'module.' if norms is batch_norm else ''
            tensors.update({f'convs.{l}.{k}': t for k, t in p.items()})
            if norms is not None:
                tensors.update({f'norms.{l}.{middle}{k}': t for k, t in n.items()})
            h = gcn(h, *self.edges, wide(p))
            h = RELU(norms(h, wide(n)) if norms is not None else h)
            seen.append(h)
        return tensors, seen

    def test_norms_and_jumping_knowledge(self):
        modes = {graph_norm: 'graph', node_norm: 'node'}
        for norms in (None, batch_norm, graph_norm, node_norm):
            for jk in ('last', 'cat', 'max'):
                for head in (True, False):
                    tensors, seen = self.zoo(norms)
                    told = {'gnnrun.jk': jk}
                    if norms in modes:
                        told['gnnrun.layer_norm_mode'] = modes[norms]
                    want = {'last': seen[-1], 'cat': np.concatenate(seen, 1),
                            'max': np.maximum.reduce(seen)}[jk]
                    if head:
                        w, b = tensor(5, want.shape[1]), tensor(5)
                        tensors.update({'lin.weight': w, 'lin.bias': b})
                        want = want @ w.T.astype(np.float64) + b
                    with self.subTest(norm=norms and norms.__name__, jk=jk, head=head):
                        self.check(tensors, told, 'GCNConv of PyG 2', want, '', 3)

    def test_equal_bits_over_chunks_threads_and_shards(self):
        tensors, _ = self.zoo(graph_norm)
        tensors.update({'lin.weight': tensor(5, 3 * H), 'lin.bias': tensor(5)})
        attention = {
            f'convs.{l}.{k}': t for l, (a, b) in enumerate(((F, H), (2 * H, H)))
            for k, t in {'lin_l.weight': tensor(2 * b, a), 'lin_r.weight': tensor(2 * b, a),
                         'att': tensor(1, 2, b), 'res.weight': tensor(2 * b, a),
                         'bias': tensor(2 * b)}.items()}
        plain = {k: t for k, t in tensors.items() if not k.startswith('norms')}
        for tensors, told, shards in ((tensors, {'gnnrun.layer_norm_mode': 'graph'}, False),
                                      (plain, {}, True), (attention, {'gnnrun.concat': '1,1',
                                                          'gnnrun.negative_slope': '-0.3'}, True)):
            write_safetensors(self.path('m.safetensors'), tensors, told)
            first = self.infer().tobytes()
            for options in ([['--chunk-bytes', c] for c in ('1', '20K')] + [['--threads', '3']] +
                            [['--plan', 'partitioned']] +
                            ([['--plan', 'partitioned', '--shards', '3']] if shards else [])):
                with self.subTest(told=told, options=options):
                    self.assertEqual(first, self.infer(*options).tobytes())
        write_safetensors(self.path('m.safetensors'), self.zoo(graph_norm)[0],
                          {'gnnrun.layer_norm_mode': 'graph'})
        run_fails(self, 78, 'over all vertices', 'infer', self.path('g.h5'), '--model',
                  self.path('m.safetensors'), '--out', self.path('x.h5'), '--shards', '2')

    def test_a_killed_run_goes_on(self):
        """The running array, rows of targets and residuals are there again: equal bits."""
        tensors, _ = self.zoo(batch_norm)
        tensors.update({'lin.weight': tensor(5, 3 * H), 'lin.bias': tensor(5)})
        attention = {
            f'convs.{l}.{k}': t for l, (a, b) in enumerate(((F, H), (2 * H, H)))
            for k, t in {'lin_l.weight': tensor(2 * b, a), 'lin_r.weight': tensor(2 * b, a),
                         'att': tensor(1, 2, b), 'res.weight': tensor(2 * b, a),
                         'bias': tensor(2 * b)}.items()}
        killed = 0
        for tensors, told in ((tensors, {}), (attention, {'gnnrun.concat': '1,1'})):
            write_safetensors(self.path('m.safetensors'), tensors, told)
            want = self.infer().tobytes()
            for n in (1, 3, 5, 7):
                options = ['--plan', 'partitioned', '--shards', '3']
                p = start('infer', self.path('g.h5'), '--model', self.path('m.safetensors'),
                          '--out', self.path('e.h5'), *options, '--faults',
                          f'crash:infer.manifest_written@{n}')
                self.assertIn(p.returncode, (-signal.SIGKILL, 0), p.stderr)
                killed += p.returncode != 0
                with self.subTest(told=told, n=n):
                    self.assertEqual(want, self.infer(*options, '--resume').tobytes())
        self.assertGreater(killed, 4)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
