#!/usr/bin/env python3
"""Inference of the whole program: against float64, and equal bits whatever must not matter.

usage: infer_test.py GNNRUN [Infer.test_name ...]
"""
import itertools
import json
import os
import re
import sys
import tempfile
import unittest

from program import numpy_or_skip, run, run_fails, share, write_safetensors

np = numpy_or_skip()
import h5py  # noqa: E402  (after the check)
from reference import LAYER, Model, RELU, gcn_weighted, graph, pattern, sage  # noqa: E402


class Infer(unittest.TestCase):
    V, E = 3001, 20000

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def store(self, features, name='g.h5', edges=None, weights=None):
        edges = graph(self.V, self.E, 5) if edges is None else edges
        np.save(self.path('edges.npy'), edges)
        np.save(self.path('feat.npy'), features)
        options = []
        if weights is not None:
            np.save(self.path('weight.npy'), weights)
            options = ['--weights', self.path('weight.npy')]
        run('import', self.path('edges.npy'), self.path(name), '--features',
            self.path('feat.npy'), *options)
        return edges

    def infer(self, *options, name='e.h5', store='g.h5'):
        out = run('infer', self.path(store), '--model', self.path('m.safetensors'), '--out',
                  self.path(name), '--json', *options)
        with h5py.File(self.path(name)) as f:
            return f['embeddings'][:], json.loads(out)

    def test_every_architecture_is_near_float64(self):
        random = np.random.default_rng(1)
        x = random.normal(size=(self.V, 40)).astype(np.float32)
        src, dst = self.store(x)
        for arch, dims in itertools.product(LAYER, [(40, 16, 5), (40, 64, 24, 33)]):
            with self.subTest(arch=arch, dims=dims):
                model = Model(arch, dims, 3)
                model.write(self.path('m.safetensors'))
                got, report = self.infer()
                want = model.reference(x, src, dst)
                self.assertEqual(got.shape, want.shape)
                self.assertLess(np.abs(got - want).max() / np.abs(want).max(), 2e-6)
                self.assertEqual(len(report['layers']), len(dims) - 1)
                self.assertEqual(report['feature_bytes'], x.nbytes)

    def test_equal_bits_over_chunks_threads_engines_and_depths(self):
        x = np.random.default_rng(2).normal(size=(self.V, 33)).astype(np.float32)
        self.store(x)
        for arch in LAYER:
            Model(arch, (33, 20, 48), 4).write(self.path('m.safetensors'))
            first, _ = self.infer()
            for options in share([['--chunk-bytes', c] for c in ('1', '70K', '100K', '64M')] +
                                 [['--threads', t] for t in '1238'] +
                                 [['--io', e] for e in ('uring', 'pread', 'map')] +
                                 [['--queue-depth', d] for d in '27'] +
                                 [['--verify-reads', v] for v in ('on', 'off')]):
                with self.subTest(arch=arch, options=options):
                    again, _ = self.infer(*options)
                    self.assertEqual(first.tobytes(), again.tobytes())

    def test_equal_bits_over_plans_and_shards(self):
        x = np.random.default_rng(7).normal(size=(self.V, 33)).astype(np.float32)
        self.store(x)
        cuts = [(1, ()), (2, ('--chunk-bytes', '1')), (3, ('--threads', 3)),
                (7, ('--chunk-bytes', '70K')), (500, ('--io', 'pread'))]
        for arch, dims, order, cut in itertools.chain(
                itertools.product(LAYER, [(33, 20, 48)], ['auto'], [cuts]),
                itertools.product(('gcn', 'sage', 'gin'), [(33, 40, 9)],
                                  ['transform-first', 'aggregate-first'], [cuts[2:3]])):
            Model(arch, dims, 4).write(self.path('m.safetensors'))
            order = ('--message-order', order)
            first, report = self.infer(*order)
            self.assertEqual(report['layers'][0]['plan'], 'resident')
            for shards, options in share(cut):
                with self.subTest(arch=arch, dims=dims, order=order, shards=shards):
                    again, report = self.infer('--plan', 'partitioned', '--shards', shards,
                                               *options, *order)
                    self.assertEqual(report['layers'][1]['plan'], 'partitioned')
                    self.assertEqual(report['layers'][0]['shards'], min(shards, 12))
                    self.assertEqual(first.tobytes(), again.tobytes())
        self.assertEqual([f for f in os.listdir(self.folder.name) if 'gnnrun' in f], [])

    def test_bytes_are_as_explained(self):
        x = np.random.default_rng(9).normal(size=(30000, 24)).astype(np.float32)
        edges = np.random.default_rng(9).integers(0, 30000, (2, 150000))
        self.store(x, edges=edges)
        for arch, shards in itertools.product(LAYER, (0, 4)):
            Model(arch, (24, 6, 20), 4).write(self.path('m.safetensors'))
            plan = ('--plan', 'partitioned', '--shards', shards) if shards else ()
            said = json.loads(run('infer', self.path('g.h5'), '--model',
                                  self.path('m.safetensors'), '--explain', '--json', *plan))
            self.assertEqual(said['plan'], 'partitioned' if shards else 'resident')
            if not shards:
                self.assertEqual(said['reorder_saves_bytes'], 0)
            # A store read and written, its out-lists read again; loops have 4 bytes a vertex.
            lists, loops = 150000 * 4 + 30001 * 8, 30000 * 4
            self.assertEqual(said['reorder_costs_bytes'],
                             2 * (x.nbytes + 2 * lists + loops) + lists)
            self.assertGreater(said['reorder_costs_s'], 0)
            _, report = self.infer(*plan)
            for key in ('read_bytes', 'written_bytes'):
                pairs = [(said[f'predicted_{key}'], report[key])] + [
                    (a[f'predicted_{key}'], b[key])
                    for a, b in zip(said['layers'], report['layers'])]
                for predicted, actual in pairs:
                    with self.subTest(arch=arch, shards=shards, key=key):
                        self.assertLessEqual(actual, 1.1 * predicted)
                        self.assertLessEqual(predicted, 1.1 * actual)
            self.assertEqual([a['state_dim'] for a in said['layers']],
                             [b['state_dim'] for b in report['layers']])
        table = run('infer', self.path('g.h5'), '--model', self.path('m.safetensors'),
                    '--explain')
        self.assertEqual(len(table.strip().split('\n')), 10, table)
        self.assertIn('saves nothing', table)

    def local_edges(self, vertices, count):
        """Most edges lead to a vertex nearby, some anywhere, some to a hub."""
        rng = np.random.default_rng(11)
        src = rng.integers(0, vertices, count)
        dst = (src + rng.integers(-200, 200, count)) % vertices
        far = rng.random(count) < .05
        dst[far] = rng.integers(0, vertices, far.sum())
        dst[rng.random(count) < .02] = 77
        return np.stack([src, dst])

    def test_bytes_of_the_tiered_plan_are_as_explained(self):
        spilled = 0
        x = np.random.default_rng(9).normal(size=(30000, 48)).astype(np.float32)
        for edges, arch, policy, fanout in (
                (self.local_edges(30000, 200000), 'gcn', 'belady', 'all'),
                (self.local_edges(30000, 200000), 'gat', 'pending', '2'),
                (np.random.default_rng(9).integers(0, 30000, (2, 150000)), 'sage', 'belady',
                 'all'),
                (np.random.default_rng(9).integers(0, 30000, (2, 150000)), 'gin', 'lru', 'all'),
                (np.random.default_rng(9).integers(0, 30000, (2, 150000)), 'gcn', 'belady',
                 '3')):
            self.store(x, edges=edges)
            Model(arch, (48, 48, 48), 4).write(self.path('m.safetensors'))
            store = 30000 * (12 if edges.shape[1] == 200000 else 48)
            plan = ('--plan', 'tiered', '--evict', policy, '--hot-store', store,
                    '--chunk-bytes', 1, '--fanout', fanout)
            said = json.loads(run('infer', self.path('g.h5'), '--model',
                                  self.path('m.safetensors'), '--explain', '--json', *plan))
            _, report = self.infer(*plan)
            for a, b in zip(said['layers'], report['layers']):
                with self.subTest(arch=arch, policy=policy, layer=a['index']):
                    self.assertGreater(b['evictions'], 0)
                    for key in ('evictions', 'reloads'):
                        self.assertLess(abs(a[f'predicted_{key}'] / b[key] - 1),
                                        .15 if policy == 'belady' else .3, key)
                    for key in ('read_bytes', 'written_bytes'):
                        # Rows that stay in memory count: what is foreseen is the spill beside.
                        all_bytes = b[key] + 30000 * 4 * 48
                        self.assertLess(abs(a[f'predicted_{key}'] - b[key]) / all_bytes,
                                        .12 if policy == 'belady' else .3, key)
            if policy == 'belady':  # at most the spill is saved by another order
                # What is written is read, but for pages taken while they are on their way: how
                # many these are is the disk's affair.
                spill = 2 * sum(b['cold_written_bytes'] for b in report['layers'])
                self.assertLessEqual(abs(said['reorder_saves_bytes'] - spill), .15 * spill)
                self.assertEqual(said['reorder_saves_s'] > 0, spill > 0)
                spilled += spill
        self.assertGreater(spilled, 0)

    def test_auto_takes_the_plan_that_is_said_to_be_cheaper(self):
        x = np.random.default_rng(9).normal(size=(30000, 256)).astype(np.float32)
        Model('gcn', (256, 256, 256), 4).write(self.path('m.safetensors'))
        for edges in (self.local_edges(30000, 200000),
                      np.random.default_rng(9).integers(0, 30000, (2, 600000))):
            self.store(x, edges=edges)
            first, _ = self.infer()
            for memory in share(('28M', '18M'), 2):
                explain = ('infer', self.path('g.h5'), '--model', self.path('m.safetensors'),
                           '--explain', '--json', '--host-memory', memory)
                said = json.loads(run(*explain))
                self.assertEqual({said['plan'], said['other_plan']}, {'tiered', 'partitioned'})
                self.assertLessEqual(said['predicted_s'], said['other_predicted_s'])
                again, _ = self.infer('--host-memory', memory)
                self.assertEqual(first.tobytes(), again.tobytes())

    def test_equal_bits_over_stores_and_eviction_policies(self):
        x = np.random.default_rng(7).normal(size=(self.V, 33)).astype(np.float32)
        self.store(x)
        cuts = [('belady', '40K', '--chunk-bytes', '1'), ('belady', 'min', '--chunk-bytes', '1'),
                ('pending', '60K', '--chunk-bytes', '70K', '--threads', 3),
                ('lru', '40K', '--chunk-bytes', '1', '--gpu-store', '8K'),
                ('fifo', '70K', '--chunk-bytes', '70K', '--graduation-bytes', '1'),
                ('random', '40K', '--chunk-bytes', '1', '--io', 'pread', '--gpu-store', 'min')]
        for arch, dims, order, cut in itertools.chain(
                itertools.product(LAYER, [(33, 20, 48)], ['auto'], [cuts]),
                itertools.product(('gcn', 'sage', 'gin'), [(33, 40, 9)],
                                  ['transform-first', 'aggregate-first'], [cuts[2:3]])):
            Model(arch, dims, 4).write(self.path('m.safetensors'))
            order = ('--message-order', order)
            first, report = self.infer(*order)
            for policy, store, *options in share(cut):
                with self.subTest(arch=arch, order=order, policy=policy, store=store):
                    again, report = self.infer('--plan', 'tiered', '--evict', policy,
                                               '--hot-store', store, *options, *order)
                    layer = report['layers'][0]
                    self.assertEqual(layer['plan'], 'tiered')
                    self.assertEqual(layer['evictions'], layer['reloads'])
                    self.assertEqual(first.tobytes(), again.tobytes())
                    self.assertGreater(layer['evictions'], 0)
        self.assertEqual([f for f in os.listdir(self.folder.name) if 'gnnrun' in f], [])

    def test_the_tiered_plan_takes_weights_and_reordered_stores(self):
        x = np.random.default_rng(3).normal(size=(self.V, 9)).astype(np.float32)
        weights = np.random.default_rng(4).random(self.E + 49).astype(np.float32)
        self.store(x, weights=weights)
        run('reorder', self.path('g.h5'), self.path('o.h5'), '--order', 'random')
        Model('gcn', (9, 20, 7), 4).write(self.path('m.safetensors'))
        for store in ('g.h5', 'o.h5'):
            first, _ = self.infer(store=store)
            again, report = self.infer('--plan', 'tiered', '--hot-store', '30K', '--chunk-bytes',
                                       '1', store=store)
            self.assertGreater(report['layers'][0]['evictions'], 0)
            self.assertEqual(first.tobytes(), again.tobytes(), store)

    def test_a_quarter_of_the_states_spills_and_belady_reloads_least(self):
        x = np.random.default_rng(7).normal(size=(self.V, 33)).astype(np.float32)
        self.store(x)
        Model('gcn', (33, 64, 64), 4).write(self.path('m.safetensors'))
        first, _ = self.infer()
        reloads = {}
        for policy in ('belady', 'pending', 'lru', 'fifo', 'random'):
            again, report = self.infer('--plan', 'tiered', '--evict', policy, '--hot-store',
                                       self.V * 64, '--chunk-bytes', '1')
            self.assertEqual(first.tobytes(), again.tobytes())
            self.assertGreater(sum(x['cold_written_bytes'] for x in report['layers']), 0)
            self.assertGreaterEqual(report['written_bytes'], first.nbytes)
            reloads[policy] = sum(x['reloads'] for x in report['layers'])
        self.assertEqual(min(reloads.values()), reloads['belady'], reloads)

    def test_the_tiered_plan_says_what_it_refuses(self):
        self.store(np.ones((self.V, 8), np.float32))
        Model('gcn', (8, 64, 3), 4).write(self.path('m.safetensors'))
        infer = ('infer', self.path('g.h5'), '--model', self.path('m.safetensors'), '--out',
                 self.path('e.h5'), '--plan')
        for code, text, plan, *options in (
                (71, 'smallest legal', 'tiered', '--hot-store', '60'),
                (71, '--host-memory', 'tiered', '--host-memory', '2M'),
                (78, '--plan tiered', 'resident', '--hot-store', '1M'),
                (78, '--shards', 'tiered', '--shards', '3'),
                (78, 'larger', 'tiered', '--hot-store', '1M', '--gpu-store', '1M'),
                (64, 'min', 'tiered', '--hot-store', 'much')):
            run_fails(self, code, text, *infer, plan, *options)
        small = (*infer, 'tiered', '--hot-store', '8K', '--chunk-bytes', '1', '--evict',
                 'random')
        for code, text, faults in ((65, 'spill file', 'write:flip%3'), (74, 'free',
                                   'write:enospc@20'), (74, 'spill', 'write:eio@9')):
            run_fails(self, code, text, *small, '--faults', faults)
        self.assertFalse(os.path.exists(self.path('e.h5')))
        self.assertEqual([f for f in os.listdir(self.folder.name)
                          if 'tmp' in f or 'scratch' in f], [])

    def test_the_smallest_budget_works_and_less_is_refused(self):
        x = np.random.default_rng(8).normal(size=(self.V, 33)).astype(np.float32)
        self.store(x)
        for arch in LAYER:
            Model(arch, (33, 20, 48), 4).write(self.path('m.safetensors'))
            first, _ = self.infer()
            options = ('--model', self.path('m.safetensors'), '--out', self.path('e.h5'))
            said = run_fails(self, 71, '--host-memory', 'infer', self.path('g.h5'), *options,
                             '--host-memory', '1M')
            least = int(re.search(r'--host-memory (\d+)M would suffice', said).group(1))
            again, report = self.infer('--host-memory', f'{least}M')
            self.assertEqual(first.tobytes(), again.tobytes())
            run_fails(self, 71, f'{least}M', 'infer', self.path('g.h5'), *options,
                      '--host-memory', f'{least - 1}M')

    def test_next_uses_from_scratch_are_those_of_the_in_lists(self):
        """The same rows are evicted and reloaded, with in-lists in memory or without."""
        v = 12000
        random = np.random.default_rng(5)
        edges = np.stack([random.integers(0, v, 1800000), random.integers(0, v, 1800000)])
        edges[1][:20000] = 7
        edges[0][:9000] = edges[0][9000] # copies of one edge
        edges[1][50000:60000] = edges[0][50000:60000] # loops
        self.store(random.normal(size=(v, 24)).astype(np.float32), edges=edges)
        for arch, fanout, budget in share((('gcn', 'all', '17M'), ('gcn', '8', '26M'),
                                           ('gat', '7', '26M')), 2):
            Model(arch, (24, 24, 24), 4).write(self.path('m.safetensors'))
            plan = ('--plan', 'tiered', '--hot-store', '200K', '--gpu-store', 'min',
                    '--chunk-bytes', 1, '--fanout', fanout)
            first, told = self.infer(*plan)
            again, report = self.infer(*plan, '--host-memory', budget)
            with self.subTest(arch=arch, fanout=fanout):
                self.assertEqual(first.tobytes(), again.tobytes())
                for a, b in zip(told['layers'], report['layers']):
                    self.assertGreater(a['evictions'], 0)
                    self.assertGreater(b['written_bytes'] - b['cold_written_bytes'],
                                       edges.shape[1] * 4)
                    if fanout != 'all': # items are cut alike
                        self.assertLess(abs(a['evictions'] / b['evictions'] - 1), .01)

    def test_the_smallest_budget_of_each_plan_and_policy(self):
        x = np.random.default_rng(8).normal(size=(self.V, 33)).astype(np.float32)
        self.store(x)
        plans = [('--plan', 'partitioned')] + [
            ('--plan', 'tiered', '--evict', policy)
            for policy in ('belady', 'pending', 'lru', 'fifo', 'random')]
        for i, arch in enumerate(LAYER):
            Model(arch, (33, 20, 48), 4).write(self.path('m.safetensors'))
            first, _ = self.infer()
            options = ('--model', self.path('m.safetensors'), '--out', self.path('e.h5'))
            for plan in share((plans[0], plans[1], plans[2 + i % 4]), 2):
                with self.subTest(arch=arch, plan=plan):
                    said = run_fails(self, 71, '--host-memory', 'infer', self.path('g.h5'),
                                     *options, *plan, '--host-memory', '1M')
                    least = int(re.search(r'--host-memory (\d+)M would', said).group(1))
                    again, report = self.infer(*plan, '--host-memory', f'{least}M')
                    self.assertEqual(first.tobytes(), again.tobytes())
                    self.assertEqual(report['layers'][0]['plan'], plan[1])
                    run_fails(self, 71, f'{least}M', 'infer', self.path('g.h5'), *options,
                              *plan, '--host-memory', f'{least - 1}M')

    def test_message_order_is_within_rounding(self):
        x = np.random.default_rng(3).normal(size=(self.V, 24)).astype(np.float32)
        self.store(x)
        for arch in ('gcn', 'sage', 'gin'):
            Model(arch, (24, 12, 30), 4).write(self.path('m.safetensors'))
            a, first = self.infer('--message-order', 'transform-first')
            b, second = self.infer('--message-order', 'aggregate-first')
            self.assertEqual(first['layers'][0]['message_order'], 'transform-first')
            self.assertEqual(second['layers'][0]['message_order'], 'aggregate-first')
            self.assertLess(np.abs(a - b).max() / np.abs(a).max(), 2e-6)

    def test_narrow_features_are_widened_exactly(self):
        random = np.random.default_rng(4)
        wide = random.integers(0, 200, (self.V, 17)).astype(np.float32)
        Model('gcn', (17, 8, 3), 1).write(self.path('m.safetensors'))
        self.store(wide)
        want, _ = self.infer()
        for dtype in (np.uint8, np.float16):
            self.store(wide.astype(dtype), 'n.h5')
            got, report = self.infer(store='n.h5')
            self.assertEqual(want.tobytes(), got.tobytes())
            self.assertEqual(report['feature_bytes'], wide.size * np.dtype(dtype).itemsize)

    def test_layers_prediction_and_external_ids_are_written(self):
        edges = graph(self.V, self.E, 5) * 11 + 3
        ids = np.unique(edges)
        x = np.random.default_rng(6).normal(size=(len(ids), 9)).astype(np.float32)
        np.save(self.path('edges.npy'), edges)
        np.save(self.path('feat.npy'), x)
        run('import', self.path('edges.npy'), self.path('g.h5'), '--remap', '--features',
            self.path('feat.npy'))
        model = Model('sage', (9, 6, 4), 2)
        model.write(self.path('m.safetensors'))
        got, _ = self.infer('--save-layers', '--predict')
        src, dst = np.searchsorted(ids, edges)
        with h5py.File(self.path('e.h5')) as f:
            np.testing.assert_array_equal(f['external_id'][:], ids)
            np.testing.assert_array_equal(f['prediction'][:], got.argmax(1))
            hidden = RELU(sage(x.astype(np.float64), src, dst, model.layers[0]))
            np.testing.assert_allclose(f['layer/1'][:], hidden, rtol=0, atol=1e-5)
            self.assertNotIn('layer/2', f)

    def test_graphs_of_few_vertices(self):
        for vertices in (1, 2, 255, 256, 257):
            x = np.random.default_rng(vertices).normal(size=(vertices, 5)).astype(np.float32)
            for edges in (np.zeros((2, 0), np.int64), np.zeros((2, 3), np.int64)):
                self.store(x, edges=edges)
                for arch in LAYER:
                    with self.subTest(vertices=vertices, edges=edges.shape, arch=arch):
                        model = Model(arch, (5, 4, 3), 1)
                        model.write(self.path('m.safetensors'))
                        got, _ = self.infer()
                        want = model.reference(x, *edges)
                        self.assertLess(np.abs(got - want).max(), 1e-5)

    def golden(self, weights, expected, tensors, **metadata):
        """A layer of conv-semantics' small graph, with more loops, against numbers of PyG."""
        src, dst = [0, 0, 1, 2, 3, 4, 2, 1, 2, 5], [1, 1, 2, 2, 0, 3, 3, 3, 2, 5]
        count = len(weights)
        x = pattern((6, 3), 5, 2, 13, 6)
        self.store(x, edges=np.array([src[:count], dst[:count]]),
                   weights=np.array(weights, np.float32))
        write_safetensors(self.path('m.safetensors'),
                          {f'convs.0.{name}': pattern(shape, 7, 3 + k, 11, 5)
                           for k, (name, shape) in enumerate(sorted(tensors.items()))},
                          {f'gnnrun.{k}': v for k, v in metadata.items()})
        for order in ('transform-first', 'aggregate-first'):
            if metadata.get('aggregator') == 'max':
                order = 'auto'
            got, _ = self.infer('--message-order', order)
            np.testing.assert_allclose(got, expected, rtol=0, atol=3e-7, err_msg=str(metadata))

    def test_edge_weights_as_in_pyg(self):
        weights = [.5, .25, 1, 2, .75, 1.5, .3, .6]
        gcn, conv = {'bias': (2,), 'lin.weight': (2, 3)}, {
            'lin_rel.bias': (2,), 'lin_rel.weight': (2, 3), 'lin_root.weight': (2, 3)}
        self.golden(weights, [
            [-.05720065154, .50095692104], [-.28428571428, .66142857142],
            [-.50704689617, .70776767593], [-.06279527105, .23251878332], [-.02, .23],
            [-.1, .31]], gcn)
        weights += [.7, 3]
        self.golden(weights, [
            [-.05720065154, .50095692104], [-.28428571428, .66142857142],
            [-.46099439621, .67175617966], [-.07235874237, .23930576296], [-.02, .23],
            [-.1, .31]], gcn)
        self.golden(weights, [
            [-.05465558254, .30434405342], [-.09, .69], [-.56428526796, .74458257201],
            [-.33406788791, .58475805596], [-.2, .5], [-.1, .31]], gcn, self_loops='none')
        self.golden(weights, [
            [.135, .3475], [-.3875, .4125], [-1.557, .924], [.049, .505], [-.01, .68],
            [.27, .03]], conv)
        self.golden(weights, [
            [.135, .3475], [-.42875, .34125], [-.84566667, .43466667], [.023, .675],
            [-.01, .68], [.27, .03]], conv, aggregator='mean')
        self.golden(weights, [
            [.135, .3475], [-.425, .345], [-1.032, .669], [-.11, .745], [-.01, .68],
            [.27, .03]], conv, aggregator='max')

    def test_edge_weights_near_float64_and_equal_bits(self):
        random = np.random.default_rng(8)
        x = random.normal(size=(self.V, 24)).astype(np.float32)
        edges = graph(self.V, self.E, 5)
        weights = random.uniform(0.1, 2, edges.shape[1]).astype(np.float32)
        self.store(x, edges=edges, weights=weights)
        model = Model('gcn', (24, 40), 3)
        model.write(self.path('m.safetensors'))
        first, report = self.infer()
        p = {k: t.astype(np.float64) for k, t in model.layers[0].items()}
        want = gcn_weighted(x.astype(np.float64), *edges, weights, p)
        self.assertLess(np.abs(first - want).max() / np.abs(want).max(), 2e-6)
        for options in (['--chunk-bytes', '1'], ['--threads', '3'], ['--io', 'map']):
            again, _ = self.infer(*options)
            self.assertEqual(first.tobytes(), again.tobytes(), str(options))
        self.store(x, 'plain.h5', edges=edges)
        plain, before = self.infer(store='plain.h5')
        # Weights are read once beside each list, once for the degrees with the in-neighbours.
        self.assertGreaterEqual(report['read_bytes'] - before['read_bytes'],
                                3 * 4 * edges.shape[1])
        for arch in ('sage', 'gin', 'gat'): # PyG's take no weights
            Model(arch, (24, 12), 3).write(self.path('m.safetensors'))
            a, b = self.infer()[0], self.infer(store='plain.h5')[0]
            self.assertEqual(a.tobytes(), b.tobytes(), arch)
        self.store(x, 'ones.h5', edges=edges, weights=np.ones(edges.shape[1], np.float32))
        model.write(self.path('m.safetensors'))
        self.assertEqual(self.infer(store='ones.h5')[0].tobytes(), plain.tobytes())

    def test_edge_weights_of_dgl_scale_messages_alone(self):
        random = np.random.default_rng(9)
        x = random.normal(size=(300, 10)).astype(np.float32)
        src, dst = edges = graph(300, 3000, 6)
        w = random.uniform(0.1, 2, edges.shape[1]).astype(np.float32)
        self.store(x, edges=edges, weights=w)
        count = np.maximum(np.bincount(dst, minlength=300), 1)[:, None]
        total = np.zeros((300, 10))
        np.add.at(total, dst, w[:, None].astype(np.float64) * x[src])
        a, b = (random.normal(size=(4, 10)).astype(np.float32) for _ in range(2))
        bias = random.normal(size=4).astype(np.float32)
        cases = [
            ({'weight': a.T.copy(), 'bias': bias}, {'library': 'dgl', 'norm': 'right'},
             total / count @ a.T + bias),
            ({'fc_neigh.weight': a, 'fc_self.weight': b, 'fc_self.bias': bias}, {},
             total / count @ a.T + x @ b.T + bias),
            ({'fc_neigh.weight': a, 'bias': bias}, {},
             (total + x) / (np.bincount(dst, minlength=300) + 1)[:, None] @ a.T + bias),
            ({'apply_func.0.weight': a, 'apply_func.0.bias': bias,
              'eps': np.array([.5], np.float32)}, {}, (total + 1.5 * x) @ a.T + bias),
        ]
        for tensors, metadata, want in cases:
            write_safetensors(self.path('m.safetensors'),
                              {f'layers.0.{k}': t for k, t in tensors.items()},
                              {f'gnnrun.{k}': v for k, v in metadata.items()})
            got, _ = self.infer()
            self.assertLess(np.abs(got - want).max() / np.abs(want).max(), 2e-6, str(metadata))

    def test_what_does_not_meet_is_refused(self):
        x = np.zeros((self.V, 5), np.float32)
        self.store(x)
        Model('gcn', (6, 4, 3), 1).write(self.path('m.safetensors'))
        options = ('--model', self.path('m.safetensors'), '--out', self.path('e.h5'))
        run_fails(self, 78, 'width 5', 'infer', self.path('g.h5'), *options)
        Model('gcn', (5, 4, 3), 1).write(self.path('m.safetensors'))
        run_fails(self, 71, '--host-memory', 'infer', self.path('g.h5'), *options,
                  '--host-memory', '1M')
        run_fails(self, 66, 'nowhere', 'infer', self.path('nowhere.h5'), *options)
        run_fails(self, 73, 'input', 'infer', self.path('g.h5'), '--model',
                  self.path('m.safetensors'), '--out', self.path('g.h5'))
        run_fails(self, 78, 'labels', 'infer', self.path('g.h5'), *options, '--metric', 'f1')
        self.assertFalse(os.path.exists(self.path('e.h5')))
        self.assertEqual([f for f in os.listdir(self.folder.name) if 'tmp' in f], [])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
