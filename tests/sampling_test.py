#!/usr/bin/env python3
"""Sampled inference: the same edges as the hash says, near float64, and equal bits.

usage: sampling_test.py GNNRUN
"""
import itertools
import json
import os
import sys
import tempfile
import unittest

from program import numpy_or_skip, run, run_fails, write_safetensors

np = numpy_or_skip()
import h5py  # noqa: E402  (after the check)

RELU = lambda x: np.maximum(x, 0)
LEAKY = lambda x: np.where(x > 0, x, 0.2 * x)
U = np.uint64
GOLDEN = U(0x9e3779b97f4a7c15)
STREAM = U(0x5a3b1e)


def mix(x):
    x = x ^ (x >> U(30))
    x = x * U(0xbf58476d1ce4e5b9)
    x = x ^ (x >> U(27))
    x = x * U(0x94d049bb133111eb)
    return x ^ (x >> U(31))


def draw(seed, stream, counter):
    h = mix(U(seed) + GOLDEN)
    h = mix(h ^ (stream + GOLDEN))
    return mix(h ^ (U(counter) * GOLDEN + U(0x632be59bd9b4e019)))


def copies(src, dst):
    """Number of each edge among equal ones, in the order of the input."""
    order = np.lexsort((src, dst))
    s, d = src[order], dst[order]
    at = np.arange(len(s))
    new = np.r_[True, (s[1:] != s[:-1]) | (d[1:] != d[:-1])] if len(s) else np.zeros(0, bool)
    number = np.empty(len(s), np.int64)
    number[order] = at - np.maximum.accumulate(np.where(new, at, 0))
    return number


def sample(src, dst, fanout, layer, seed, drop_loops):
    """Edges in the sample, as a mask; those of a replaced loop are not."""
    with np.errstate(over='ignore'):
        key = draw(seed, STREAM, layer)
        source = mix(((copies(src, dst).astype(U) << U(32)) | src.astype(U)) + GOLDEN)
        value = mix(source ^ mix(key + dst.astype(U) * GOLDEN))
    there = np.flatnonzero(src != dst) if drop_loops else np.arange(len(src))
    order = there[np.lexsort((value[there], dst[there]))]
    at = np.arange(len(order))
    new = np.r_[True, dst[order][1:] != dst[order][:-1]] if len(order) else np.zeros(0, bool)
    rank = at - np.maximum.accumulate(np.where(new, at, 0))
    kept = np.zeros(len(src), bool)
    kept[order[rank < (fanout or len(src) + 1)]] = True
    return kept


class Layer:
    """One layer over all edges, of which `kept` are used, each `scale` times in a sum."""

    def __init__(self, x, src, dst, w, kept, scale):
        self.x, self.full, self.w = x, (src, dst), w
        self.src, self.dst, self.kept, self.scale = src[kept], dst[kept], kept, scale

    def count(self, dst):
        return np.bincount(dst, minlength=len(self.x))

    def sum(self, message):
        out = np.zeros((len(self.x), message.shape[1]))
        np.add.at(out, self.dst, message)
        return out

    def ratio(self, population):
        used = np.maximum(self.count(self.dst), 1)
        return (population / used)[self.dst][:, None] if self.scale else 1.0

    def gcn(self, p):
        src, dst = self.full
        plain, v = src != dst, np.arange(len(self.x))
        w = np.ones(len(src)) if self.w is None else self.w
        loop = np.ones(len(self.x))
        loop[dst[~plain]] = w[~plain] # the last of several
        c = (np.bincount(dst[plain], w[plain], minlength=len(v)) + loop) ** -0.5
        z = self.x @ p['lin.weight'].T
        factor = (c[self.src] * w[self.kept] * c[self.dst])[:, None]
        ratio = self.ratio(self.count(dst[plain]))
        return self.sum(ratio * factor * z[self.src]) + (loop * c * c)[:, None] * z + p['bias']

    def sage(self, p):
        mean = self.sum(self.x[self.src]) / np.maximum(self.count(self.dst), 1)[:, None]
        return mean @ p['lin_l.weight'].T + p['lin_l.bias'] + self.x @ p['lin_r.weight'].T

    def graphconv(self, p):
        total = self.sum(self.ratio(self.count(self.full[1])) * self.x[self.src])
        return total @ p['lin_rel.weight'].T + p['lin_rel.bias'] + self.x @ p['lin_root.weight'].T

    def maximum(self, p):
        most = np.full(self.x.shape, -np.inf)
        np.maximum.at(most, self.dst, self.x[self.src])
        most[self.count(self.dst) == 0] = 0
        return most @ p['lin_rel.weight'].T + p['lin_rel.bias'] + self.x @ p['lin_root.weight'].T

    def gin(self, p):
        total = (1 + p['eps'][0]) * self.x + self.sum(
            self.ratio(self.count(self.full[1])) * self.x[self.src])
        return RELU(total @ p['nn.0.weight'].T + p['nn.0.bias']) @ p['nn.2.weight'].T + \
            p['nn.2.bias']

    def gat(self, p):
        v = np.arange(len(self.x))
        src, dst = np.r_[self.src, v], np.r_[self.dst, v]
        _, heads, channels = p['att_src'].shape
        z = (self.x @ p['lin.weight'].T).reshape(-1, heads, channels)
        e = LEAKY((z * p['att_src']).sum(-1)[src] + (z * p['att_dst']).sum(-1)[dst])
        top = np.full((len(v), heads), -np.inf)
        np.maximum.at(top, dst, e)
        w, total, out = np.exp(e - top[dst]), np.zeros((len(v), heads)), np.zeros_like(z)
        np.add.at(total, dst, w)
        np.add.at(out, dst, (w / total[dst])[:, :, None] * z[src])
        return out.mean(1) + p['bias']


def conv(a, b):
    return {'lin_rel.bias': (b,), 'lin_rel.weight': (b, a), 'lin_root.weight': (b, a)}


ARCHS = { # how each drops loops, its metadata, and the shapes of its parameters
    'gcn': (True, {}, lambda a, b: {'bias': (b,), 'lin.weight': (b, a)}),
    'sage': (False, {}, lambda a, b: {'lin_l.bias': (b,), 'lin_l.weight': (b, a),
                                      'lin_r.weight': (b, a)}),
    'graphconv': (False, {}, conv),
    'maximum': (False, {'aggregator': 'max'}, conv),
    'gin': (False, {}, lambda a, b: {'eps': (1,), 'nn.0.bias': (b,), 'nn.0.weight': (b, a),
                                     'nn.2.bias': (b,), 'nn.2.weight': (b, b)}),
    'gat': (True, {'heads': '2,2', 'concat': '0,0', 'activation': 'relu'},
            lambda a, b: {'att_dst': (1, 2, b), 'att_src': (1, 2, b), 'bias': (b,),
                          'lin.weight': (2 * b, a)}),
}


class Model:
    def __init__(self, arch, dims, seed):
        random = np.random.default_rng(seed)
        self.arch, self.layers = arch, []
        self.drop_loops, metadata, shapes = ARCHS[arch]
        for a, b in zip(dims, dims[1:]):
            self.layers.append({k: random.normal(0, (2 / (a + b)) ** 0.5, s).astype(np.float32)
                                for k, s in shapes(a, b).items()})
        self.metadata = {f'gnnrun.{k}': v for k, v in metadata.items()}
        self.metadata['gnnrun.library'] = 'pyg'

    def write(self, path):
        write_safetensors(path, {f'convs.{l}.{k}': t for l, p in enumerate(self.layers)
                                 for k, t in p.items()}, self.metadata)

    def kept(self, src, dst, fanouts, seed):
        """The mask of each layer; fanouts from the last layer inwards."""
        return [sample(src, dst, f, l, seed, self.drop_loops)
                for l, f in enumerate(reversed(fanouts))]

    def reference(self, x, src, dst, masks, scale=True, w=None):
        x = x.astype(np.float64)
        for l, p in enumerate(self.layers):
            layer = Layer(x, src, dst, w, masks[l], scale)
            x = getattr(layer, self.arch)({k: t.astype(np.float64) for k, t in p.items()})
            if l + 1 < len(self.layers):
                x = RELU(x)
        return x


def graph(vertices, edges, seed):
    """Random edges with loops, duplicates, a hub of many in-edges and vertices without any."""
    random = np.random.default_rng(seed)
    src = random.integers(0, vertices, edges)
    dst = random.integers(0, vertices - vertices // 10, edges)
    dst[:edges // 8] = 7
    src[:edges // 16] = src[0] # copies of one edge
    loops = random.integers(0, vertices, 40)
    return np.stack([np.r_[src, loops, loops[:9], [7] * 5], np.r_[dst, loops, loops[:9], [7] * 5]])


class Sampling(unittest.TestCase):
    V, E = 2001, 16000

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def store(self, x, edges, weights=None):
        np.save(self.path('edges.npy'), edges)
        np.save(self.path('feat.npy'), x)
        options = []
        if weights is not None:
            np.save(self.path('w.npy'), weights)
            options = ['--weights', self.path('w.npy')]
        run('import', self.path('edges.npy'), self.path('g.h5'), '--features',
            self.path('feat.npy'), *options)

    def infer(self, *options, store='g.h5'):
        out = run('infer', self.path(store), '--model', self.path('m.safetensors'), '--out',
                  self.path('e.h5'), '--json', *options)
        with h5py.File(self.path('e.h5')) as f:
            return f['embeddings'][:], json.loads(out)

    def inclusion(self, vertices, width):
        """A model whose output counts the copies of each neighbour: a sum of one-hot rows."""
        write_safetensors(self.path('m.safetensors'), {
            'convs.0.lin_rel.weight': np.eye(width, dtype=np.float32),
            'convs.0.lin_rel.bias': np.zeros(width, np.float32),
            'convs.0.lin_root.weight': np.zeros((width, width), np.float32)}, {})

    def test_the_edges_are_those_of_the_hash(self):
        vertices = 300
        src, dst = edges = graph(vertices, 4000, 1)
        self.store(np.eye(vertices, dtype=np.float32), edges)
        self.inclusion(vertices, vertices)
        for fanout, seed in ((1, 0), (3, 0), (3, 17), (20, 5), (400, 2**63)):
            got, report = self.infer('--fanout', fanout, '--sample-scale', 'off', '--seed', seed)
            kept = sample(src, dst, fanout, 0, seed, False)
            want = np.zeros((vertices, vertices), np.float32)
            np.add.at(want, (dst[kept], src[kept]), 1)
            np.testing.assert_array_equal(got, want, f'fanout {fanout} seed {seed}')
            self.assertEqual(report['layers'][0]['messages'], kept.sum())
            degree = np.bincount(dst, minlength=vertices)
            np.testing.assert_array_equal(got.sum(1), np.minimum(degree, fanout))

    def test_every_architecture_is_near_float64(self):
        x = np.random.default_rng(2).normal(size=(self.V, 24)).astype(np.float32)
        src, dst = edges = graph(self.V, self.E, 3)
        self.store(x, edges)
        for arch, scale in itertools.product(ARCHS, (True, False)):
            model = Model(arch, (24, 12, 20), 4)
            model.write(self.path('m.safetensors'))
            for text, fanouts in (('5', (5, 5)), ('3,all', (3, None)), ('2,7', (2, 7))):
                with self.subTest(arch=arch, scale=scale, fanout=text):
                    got, report = self.infer('--fanout', text, '--seed', 9, '--sample-scale',
                                             'on' if scale else 'off')
                    masks = model.kept(src, dst, fanouts, 9)
                    want = model.reference(x, src, dst, masks, scale)
                    self.assertLess(np.abs(got - want).max() / np.abs(want).max(), 2e-6)
                    own = self.V if arch in ('gcn', 'gat', 'gin') else 0
                    if arch in ('gcn', 'gat', 'gin', 'maximum'):
                        self.assertEqual([l['messages'] for l in report['layers']],
                                         [m.sum() + own for m in masks])

    def test_samples_of_weighted_edges(self):
        x = np.random.default_rng(2).normal(size=(self.V, 24)).astype(np.float32)
        src, dst = edges = graph(self.V, self.E, 3)
        w = np.random.default_rng(3).uniform(.1, 2, len(src)).astype(np.float32)
        self.store(x, edges, w)
        model = Model('gcn', (24, 12, 20), 4)
        model.write(self.path('m.safetensors'))
        got, _ = self.infer('--fanout', '4,6')
        want = model.reference(x, src, dst, model.kept(src, dst, (4, 6), 0), True,
                               w.astype(np.float64))
        self.assertLess(np.abs(got - want).max() / np.abs(want).max(), 2e-6)

    def test_equal_bits_whatever_must_not_matter(self):
        x = np.random.default_rng(5).normal(size=(self.V, 33)).astype(np.float32)
        self.store(x, graph(self.V, self.E, 6))
        for arch in ('gcn', 'sage', 'gat'):
            Model(arch, (33, 20, 9), 4).write(self.path('m.safetensors'))
            exact, _ = self.infer()
            for fanout in ('100000', '100000,all'):
                self.assertEqual(exact.tobytes(), self.infer('--fanout', fanout)[0].tobytes())
            first, _ = self.infer('--fanout', '4,6')
            self.assertNotEqual(exact.tobytes(), first.tobytes())
            self.assertNotEqual(first.tobytes(),
                                self.infer('--fanout', '4,6', '--seed', '1')[0].tobytes())
            for options in (['--chunk-bytes', '1'], ['--chunk-bytes', '64M'], ['--threads', '1'],
                            ['--threads', '5'], ['--io', 'map'], ['--queue-depth', '7'],
                            ['--plan', 'partitioned', '--shards', '3']):
                again, _ = self.infer('--fanout', '4,6', *options)
                self.assertEqual(first.tobytes(), again.tobytes(), f'{arch} {options}')

    def test_equal_bits_of_the_tiered_plan(self):
        x = np.random.default_rng(5).normal(size=(self.V, 33)).astype(np.float32)
        self.store(x, graph(self.V, self.E, 6))
        tiered = ('--plan', 'tiered', '--chunk-bytes', '1', '--hot-store')
        for i, arch in enumerate(ARCHS):
            Model(arch, (33, 20, 9), 4).write(self.path('m.safetensors'))
            fanout = ('--fanout', ('4,6', '5,all', 'all,3')[i % 3])
            first, told = self.infer(*fanout)
            for j, policy in enumerate(('belady', 'pending', 'lru', 'fifo', 'random')):
                with self.subTest(arch=arch, policy=policy):
                    again, report = self.infer(
                        *fanout, *tiered, ('20K', 'min')[(i + j) % 2], '--evict', policy)
                    self.assertEqual(first.tobytes(), again.tobytes())
                    self.assertGreater(report['layers'][0]['evictions'], 0)
                    self.assertEqual([l['messages'] for l in report['layers']],
                                     [l['messages'] for l in told['layers']])

    def test_the_tiered_plan_samples_reordered_stores(self):
        x = np.random.default_rng(5).normal(size=(self.V, 33)).astype(np.float32)
        self.store(x, graph(self.V, self.E, 6))
        run('reorder', self.path('g.h5'), self.path('o.h5'), '--order', 'random')
        for arch in ('gcn', 'sage', 'gat'):
            Model(arch, (33, 20, 9), 4).write(self.path('m.safetensors'))
            first, _ = self.infer('--fanout', '4,6', store='o.h5')
            again, _ = self.infer('--fanout', '4,6', '--plan', 'tiered', '--chunk-bytes', '1',
                                  '--hot-store', '20K', store='o.h5')
            self.assertEqual(first.tobytes(), again.tobytes(), arch)

    def test_in_lists_are_read_once_a_layer_and_features_once(self):
        x = np.random.default_rng(5).normal(size=(self.V, 33)).astype(np.float32)
        edges = graph(self.V, self.E, 6)
        self.store(x, edges)
        Model('gcn', (33, 20, 9), 4).write(self.path('m.safetensors'))
        exact = self.infer()[1]['read_bytes']
        pages = lambda n: -(-n * 4 // 4096) * 4096
        for fanout, layers in (('4,6', 2), ('4,all', 1), ('all,4', 1)):
            more = self.infer('--fanout', fanout)[1]['read_bytes'] - exact
            self.assertEqual(more, layers * pages(edges.shape[1]), fanout)

    def test_sums_are_unbiased(self):
        """Many copies of one small graph have samples of their own: their mean is the whole."""
        vertices, rounds = 30, 600
        random = np.random.default_rng(11)
        src, dst = random.integers(0, vertices, (2, 400))
        x = random.normal(size=(vertices, 5)).astype(np.float32)
        shift = np.arange(rounds)[:, None] * vertices
        edges = np.stack([(src + shift).ravel(), (dst + shift).ravel()])
        self.store(np.tile(x, (rounds, 1)), edges)
        for arch in ('graphconv', 'gcn'):
            model = Model(arch, (5, 4), 4)
            model.write(self.path('m.safetensors'))
            want = model.reference(x, src, dst, model.kept(src, dst, (None,), 0))
            got = self.infer('--fanout', '5')[0].reshape(rounds, vertices, 4).astype(np.float64)
            deviation = np.maximum(got.std(0), 1e-9) / rounds ** .5
            z = (got.mean(0) - want) / deviation
            # 120 correlated means of a t statistic: five deviations are not to be seen.
            self.assertLess(np.abs(z).max(), 5, arch)
            self.assertLess((z ** 2).mean(), 2, arch)
            off = self.infer('--fanout', '5', '--sample-scale', 'off')[0]
            off = off.reshape(rounds, vertices, 4).mean(0)
            self.assertGreater(np.abs((off - want) / deviation).max(), 5)

    def test_every_edge_is_drawn_as_often(self):
        vertices, rounds, fanout = 20, 1000, 4
        random = np.random.default_rng(12)
        src, dst = random.integers(0, vertices, (2, 300))
        shift = np.arange(rounds)[:, None] * vertices
        edges = np.stack([(src + shift).ravel(), (dst + shift).ravel()])
        self.store(np.tile(np.eye(vertices, dtype=np.float32), (rounds, 1)), edges)
        self.inclusion(vertices, vertices)
        got = self.infer('--fanout', fanout, '--sample-scale', 'off')[0]
        got = got.reshape(rounds, vertices, vertices).astype(np.float64)
        want = np.zeros((vertices, vertices))
        degree = np.bincount(dst, minlength=vertices)
        np.add.at(want, (dst, src), np.minimum(fanout / degree[dst], 1))
        deviation = np.maximum(got.std(0), 1e-9) / rounds ** .5
        z = np.where(want > 0, (got.mean(0) - want) / deviation, 0)
        self.assertLess(np.abs(z).max(), 5)

    def test_lists_longer_than_what_is_read_at_once(self):
        """A hub of 700,000 in-neighbours, and as many copies of one edge."""
        leaves = 700_000
        src = np.r_[np.arange(1, leaves + 1), np.full(leaves, 3), [3, 5]]
        dst = np.r_[np.zeros(leaves, np.int64), np.full(leaves, 2), [1, 2]]
        x = np.random.default_rng(1).integers(0, 1000, (leaves + 1, 1)).astype(np.float32)
        self.store(x, np.stack([src, dst]))
        self.inclusion(leaves + 1, 1)
        for fanout in (9, 5000):
            got, report = self.infer('--fanout', fanout, '--sample-scale', 'off')
            kept = sample(src, dst, fanout, 0, 0, False)
            want = np.zeros(leaves + 1)
            np.add.at(want, dst[kept], x[src[kept], 0])
            np.testing.assert_array_equal(got[:, 0], want)
            self.assertEqual(report['layers'][0]['messages'], 2 * fanout + 1)

    def test_what_does_not_fit_is_refused(self):
        self.store(np.zeros((20, 5), np.float32), np.zeros((2, 4), np.int64))
        Model('gcn', (5, 4, 3), 1).write(self.path('m.safetensors'))
        options = ('infer', self.path('g.h5'), '--model', self.path('m.safetensors'), '--out',
                   self.path('e.h5'), '--fanout')
        for fanout, text in (('0', 'from 1'), ('-3', 'from 1'), ('x', 'from 1'), ('', 'empty'),
                             ('5,', 'from 1'), ('5,10,25', '3 numbers, the model has 2 layers'),
                             ('99999999999999999999999', 'from 1')):
            run_fails(self, 64, text, *options, fanout)
        self.assertFalse(os.path.exists(self.path('e.h5')))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
