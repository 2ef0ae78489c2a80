#!/usr/bin/env python3
"""gnnrun reorder: orders and metrics against naive ones; the same graph whatever the memory.

usage: reorder_test.py GNNRUN
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import program
from program import SANITIZED, run, run_fails, start

np = program.numpy_or_skip()
import h5py  # noqa: E402

ORDERS = 'original', 'random', 'rcm', 'atlas', 'taurus'


def arrays(path):
    found = {}
    with h5py.File(path, 'r') as f:
        f.visititems(lambda name, d: found.update({name: d[()]})
                     if isinstance(d, h5py.Dataset) and not name.startswith('checksum') else None)
    return found


def lists(a, direction):
    """The neighbours of each vertex."""
    offsets = a[f'topology/{direction}/offsets'].astype(np.int64)
    return np.split(a[f'topology/{direction}/neighbors'].astype(np.int64), offsets[1:-1])


# --- naive references: straight from the definitions, a vertex at a time ---

def measure(ins, rank):
    """What --json says of an order: the own row is an event of its vertex too."""
    v = len(rank)
    span, dispersion, bandwidth, active = 0, 0.0, 0, np.zeros(v + 1, int)
    for x, of in enumerate(ins):
        ranks = rank[np.append(of, x)]
        low, high = ranks.min(), ranks.max()
        span += high - low
        dispersion += ((ranks - ranks.mean()) ** 2).mean()
        bandwidth = max(bandwidth, abs(ranks - rank[x]).max())
        active[low:high] += 1
    return {'span': span, 'dispersion': dispersion, 'bandwidth': bandwidth,
            'peak_active': active.max(), 'mean_active': active.sum() / v}


def ranks_of(sequence):
    rank = np.empty(len(sequence), int)
    rank[sequence] = np.arange(len(sequence))
    return rank


def rcm(outs, ins):
    v = len(outs)
    near = [np.unique(np.append(outs[x], ins[x])) for x in range(v)]
    key = [(len(outs[x]) + len(ins[x]), x) for x in range(v)]
    done, sequence = [False] * v, []

    def levels(x):
        seen, level, all_levels = {x}, [x], []
        while level:
            all_levels.append(level)
            level = [u for y in level for u in near[y] if not (u in seen or seen.add(u))]
        return all_levels

    for _, x in sorted(key):
        if done[x]:
            continue
        reach = levels(x)
        while len(reach) > 1:
            y = min(reach[-1], key=lambda u: key[u])
            farther = levels(y)
            if len(farther) <= len(reach):
                break
            x, reach = y, farther
        queue, done[x] = [x], True
        for y in queue:
            children = [u for u in near[y] if not done[u]]
            for u in sorted(children, key=lambda u: key[u]):
                done[u] = True
                queue.append(u)
        sequence += queue
    return ranks_of(sequence[::-1])


def atlas(outs, ins):
    v = len(outs)
    to = [set(outs[x]) | {x} for x in range(v)]
    missing = [set(ins[x]) | {x} for x in range(v)]
    active, left, sequence = [False] * v, set(range(v)), []
    while left:
        best = min(left, key=lambda u: (-sum(missing[x] == {u} for x in to[u]),
                                        sum(not active[x] for x in to[u]), u))
        for x in to[best]:
            missing[x].discard(best)
            active[x] = True
        left.remove(best)
        sequence.append(best)
    return ranks_of(sequence)


def lanes_sum(values):
    """Entry i goes to lane i mod 16; lanes are added in halves: the order that backends share."""
    lane = [0.0] * 16
    for i, x in enumerate(values):
        lane[i % 16] += x
    for half in 8, 4, 2, 1:
        lane = [lane[k] + lane[k + half] for k in range(half)]
    return lane[0]


def taurus_step(outs, ins, rank):
    """One iteration of algorithm 1."""
    v = len(rank)
    weight = np.array([1.0 / (len(ins[x]) + 1) for x in range(v)])
    pull = np.empty(v)
    for x in range(v):
        mean = float(sum(int(rank[u]) - int(rank[x]) for u in ins[x])) * weight[x]
        pull[x] = (float(rank[x]) + mean) * weight[x]
    r = np.empty(v)
    for w in range(v):
        r[w] = (pull[w] + lanes_sum(pull[outs[w]])) / (weight[w] + lanes_sum(weight[outs[w]]))
    sequence = np.argsort(rank)
    return ranks_of(sequence[np.argsort(r[sequence], kind='stable')])


class Reorder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def reorder(self, *options, source='g.h5', out='o.h5'):
        return json.loads(run('reorder', self.path(source), self.path(out), '--json', *options))

    def import_graph(self, edges, vertices, name='g.h5', **parts):
        """A store of the edges (E, 2), isolated vertices kept; parts: options and their arrays."""
        np.save(self.path('edges.npy'), np.asarray(edges, np.int64).reshape(-1, 2).T.copy())
        options = []
        for option, array in parts.items():
            np.save(self.path(f'{option}.npy'), array)
            options += f'--{option}', self.path(f'{option}.npy')
        run('import', self.path('edges.npy'), self.path(name), '--vertices', vertices,
            '--edge-layout', '2xE', *options)

    def rank_of(self, out='o.h5', vertices=None):
        a = arrays(self.path(out))
        if 'order/original_id' not in a:
            return np.arange(vertices if vertices else len(a['topology/out/offsets']) - 1)
        return ranks_of(a['order/original_id'].astype(int))

    def small_graphs(self):
        random = np.random.default_rng(3)
        pairs = [(a, b) for a, b in random.integers(0, 90, (260, 2))]
        yield 'random', pairs + pairs[:20] + [(5, 5), (5, 5), (7, 7)], 97
        yield 'two components', [(i, i + 1) for i in range(40)] + [(60 + i, 60) for i in
                                                                   range(30)], 99
        yield 'star in', [(i, 0) for i in range(80)], 80
        yield 'star out', [(0, i) for i in range(80)], 80
        yield 'no edges', [], 9
        yield 'one vertex', [], 1
        yield 'a loop', [(0, 0), (0, 0)], 1
        yield 'duplicates', [(1, 2)] * 5 + [(2, 1)] * 3 + [(0, 1)], 4

    def test_orders_and_metrics_are_those_of_the_definitions(self):
        for name, edges, v in self.small_graphs():
            self.import_graph(edges, v)
            a = arrays(self.path('g.h5'))
            outs, ins = lists(a, 'out'), lists(a, 'in')
            wanted = {'original': np.arange(v), 'rcm': rcm(outs, ins), 'atlas': atlas(outs, ins)}
            for order in 'original', 'random', 'rcm', 'atlas':
                with self.subTest(graph=name, order=order):
                    said = self.reorder('--order', order)
                    rank = self.rank_of(vertices=v)
                    self.assertEqual(sorted(rank), list(range(v)))
                    if order in wanted:
                        self.assertEqual(list(rank), list(wanted[order]))
                    self.check_metrics(said['before'], measure(ins, np.arange(v)))
                    self.check_metrics(said['after'], measure(ins, rank))
                    self.assertEqual(said['span_after'], said['after']['span'])
                    self.assertEqual(said['span_before'], said['before']['span'])
                    self.assertEqual(said['iterations'], [])
            for bootstrap in 'original', 'rcm':
                with self.subTest(graph=name, bootstrap=bootstrap):
                    self.check_taurus(outs, ins, bootstrap, wanted[bootstrap])

    def check_metrics(self, said, naive):
        for key, value in naive.items():
            self.assertTrue(np.isclose(said[key], value, rtol=1e-12, atol=1e-9),
                            f'{key}: {said[key]}, {value} wanted')

    def check_taurus(self, outs, ins, bootstrap, rank):
        said = self.reorder('--order', 'taurus', '--bootstrap', bootstrap, '--iterations', 4)
        best, kept, spans = rank, 0, [measure(ins, rank)['span']]
        self.check_metrics(said['bootstrap'], measure(ins, rank))
        self.assertTrue(1 <= len(said['iterations']) <= 4)
        for i, iteration in enumerate(said['iterations'], 1):
            self.assertEqual(iteration['index'], i)
            before, rank = rank, taurus_step(outs, ins, rank)
            self.check_metrics(iteration, measure(ins, rank))
            if iteration['span'] < min(spans):
                best, kept = rank, i
            spans.append(iteration['span'])
        self.assertEqual(said['converged'], bool((before == rank).all()))
        self.assertTrue(said['converged'] or len(said['iterations']) == 4)
        self.assertEqual(said['span_after'], min(spans))
        self.assertEqual(said['best_iteration'], kept)
        self.assertEqual(list(self.rank_of(vertices=len(outs))), list(best))

    def test_the_promised_reduction(self):
        """Communities in random order: at least 70 % less than random, below rcm and atlas."""
        run('generate', 'sbm', self.path('g.h5'), '--vertices', 200000, '--edge-factor', 16,
            '--communities', 1000, '--mixing', 0.05, '--feat-dim', 0, '--classes', 0)
        span = {o: self.reorder('--order', o)['span_after'] for o in ORDERS}
        self.assertLess(span['taurus'], 0.30 * span['random'], span)
        self.assertLess(span['taurus'], span['rcm'], span)
        self.assertLess(span['taurus'], span['atlas'], span)
        self.assertLess(span['rcm'], span['random'], span)
        self.assertLess(span['atlas'], span['random'], span)

    def full_graph(self, features=np.float32, multi=False):
        """Everything that a store may hold, with duplicates of different weights."""
        random = np.random.default_rng(8)
        edges = np.concatenate([random.integers(0, 500, (3000, 2)), np.full((2, 2), 9)])
        edges = np.concatenate([edges, edges[:300]])
        labels = random.integers(0, 2, (520, 5)).astype(np.uint8) if multi else \
            random.integers(-1, 4, 520)
        self.import_graph(edges, 520, weights=random.normal(size=len(edges)).astype(np.float32),
                          features=(random.normal(size=(520, 7)) * 50).astype(features),
                          labels=labels, train=np.array([5, 3, 519, 77]), valid=np.arange(9, 20),
                          test=np.array([1]))

    def check_same_graph(self, source, out):
        """Through original_id the reordered store holds what the source holds."""
        a, b = arrays(self.path(source)), arrays(self.path(out))
        v = len(a['topology/out/offsets']) - 1
        here = a.get('order/original_id', np.arange(v)).astype(int)
        there = b.get('order/original_id', np.arange(v)).astype(int)
        self.assertEqual(sorted(there), list(range(v)))
        old = ranks_of(here)[there]  # row of the source at each row of the new store
        rank = ranks_of(old)
        for name in 'features', 'labels', 'order/external_id', 'topology/self_loops':
            self.assertEqual(name in a, name in b, name)
            if name in a:
                self.assertEqual(a[name].dtype, b[name].dtype)
                self.assertEqual(a[name][old].tobytes(), b[name].tobytes(), name)
        for name in 'train', 'valid', 'test':
            name = f'split/{name}'
            if name in a:
                self.assertTrue((rank[a[name].astype(int)] == b[name]).all(), name)
        for direction in 'out', 'in':
            weights = f'topology/{direction}/weights'
            here, there = lists(a, direction), lists(b, direction)
            starts = [x[f'topology/{direction}/offsets'].astype(int) for x in (a, b)]
            for row in range(v):
                to = rank[here[old[row]]]
                sort = np.argsort(to, kind='stable')  # equal edges stay as they were
                self.assertEqual(list(to[sort]), list(there[row]))
                if weights in a:
                    mine = a[weights][starts[0][old[row]]:starts[0][old[row] + 1]]
                    new = b[weights][starts[1][row]:starts[1][row + 1]]
                    self.assertEqual(mine[sort].tobytes(), new.tobytes())

    def test_the_same_graph_in_every_order(self):
        for features, multi in (np.float32, False), (np.float16, True), (np.uint8, False):
            self.full_graph(features, multi)
            for order in ORDERS:
                with self.subTest(features=features.__name__, order=order):
                    self.reorder('--order', order, '--seed', 4)
                    self.check_same_graph('g.h5', 'o.h5')
                    self.assertIn('verified', run('info', self.path('o.h5'), '--verify'))

    def test_bf16_features(self):
        run('generate', 'rmat', self.path('g.h5'), '--scale', 8, '--dtype', 'bf16')
        self.reorder('--order', 'random')
        with h5py.File(self.path('g.h5')) as a, h5py.File(self.path('o.h5')) as b:
            self.assertEqual(a['features'].dtype, b['features'].dtype)
            old = b['order/original_id'][()]
            self.assertTrue((a['features'][()][old] == b['features'][()]).all())

    def test_external_ids(self):
        with open(self.path('e.txt'), 'w') as f:
            f.writelines(f'{a * 1000 + 7} {a * 300 % 77 * 1000 + 7}\n' for a in range(77))
        run('import', self.path('e.txt'), self.path('g.h5'), '--remap')
        self.reorder('--order', 'rcm')
        self.check_same_graph('g.h5', 'o.h5')

    def test_a_reordered_store_reordered_again(self):
        self.full_graph()
        self.reorder('--order', 'random', out='r.h5')
        for order in 'rcm', 'random', 'taurus', 'atlas':
            with self.subTest(order=order):
                self.reorder('--order', order, '--seed', 9, source='r.h5')
                self.check_same_graph('g.h5', 'o.h5')
        # Back to the import: nothing is left of the detour but the provenance.
        self.reorder('--order', 'original', source='r.h5')
        a, b = arrays(self.path('g.h5')), arrays(self.path('o.h5'))
        self.assertEqual(a.keys(), b.keys())
        for name in a:
            self.assertEqual(a[name].tobytes(), b[name].tobytes(), name)
        # Taurus from the original order does not depend on the order it finds.
        spans = [self.reorder('--bootstrap', 'original', source=s)['bootstrap']['span']
                 for s in ('g.h5', 'r.h5')]
        self.assertEqual(spans[0], spans[1])

    def test_attributes_and_info(self):
        self.full_graph()
        said = self.reorder('--order', 'taurus')
        with h5py.File(self.path('o.h5')) as f:
            order = dict(f['order'].attrs)
            self.assertEqual(json.loads(f.attrs['provenance'].decode().rstrip('\0'))['order'],
                             'taurus')
        self.assertEqual(order['name'].decode(), 'taurus')
        self.assertEqual(order['bootstrap'].decode(), 'rcm')
        self.assertEqual(order['iterations'], said['best_iteration'])
        for key in 'span', 'dispersion', 'bandwidth', 'peak_active', 'mean_active':
            self.assertEqual(order[key], said['after'][key])
        self.assertEqual(order['span_before'], said['span_before'])
        info = json.loads(run('info', self.path('o.h5'), '--json'))
        self.assertEqual(info['order'], 'taurus')
        text = run('reorder', self.path('g.h5'), self.path('o.h5'), '--metrics',
                   self.path('m.jsonl'))
        self.assertIn('taurus 1', text)
        with open(self.path('m.jsonl')) as f:
            lines = [json.loads(x) for x in f]
        steps = [x for x in lines if x['event'] == 'order' and x['order'] == 'taurus']
        self.assertEqual([x['span'] for x in steps[1:-1]],
                         [x['span'] for x in said['iterations']])

    def bytes_of(self, name):
        with open(self.path(name), 'rb') as f:
            return f.read()

    def test_threads_and_memory_do_not_matter(self):
        """24M is less than lists, rows and edges take: all of them pass through files."""
        run('generate', 'rmat', self.path('g.h5'), '--vertices', 50000, '--edges', 2000000,
            '--feat-dim', 120)
        for order in 'taurus', 'atlas':
            with self.subTest(order=order):
                said = self.reorder('--order', order, '--threads', 1)
                self.assertTrue(said['topology_in_memory'])
                self.assertEqual(said['scratch_bytes'], 0)
                want = self.bytes_of('o.h5')
                self.reorder('--order', order, '--threads', 3)
                self.assertEqual(self.bytes_of('o.h5'), want)
                said = self.reorder('--order', order, '--threads', 2, '--host-memory', '24M')
                self.assertFalse(said['topology_in_memory'])
                self.assertGreater(said['scratch_bytes'], 50000 * 480)
                self.assertLess(said['peak_host_bytes'], 24 << 20)
                self.assertEqual(self.bytes_of('o.h5'), want)
                self.assertEqual(sorted(os.listdir(self.folder.name)), ['g.h5', 'o.h5'])

    def test_bad_input(self):
        self.import_graph([(0, 1), (1, 2)], 3)
        g, o = self.path('g.h5'), self.path('o.h5')
        run_fails(self, 64, 'taurus', 'reorder', g, o, '--order', 'tauros')
        run_fails(self, 64, 'bootstrap', 'reorder', g, o, '--bootstrap', 'random')
        run_fails(self, 64, 'iterations', 'reorder', g, o, '--iterations', 0)
        run_fails(self, 73, 'g.h5', 'reorder', g, g)
        os.link(g, self.path('same.h5'))
        run_fails(self, 73, 'same.h5', 'reorder', g, self.path('same.h5'))
        run_fails(self, 66, 'none.h5', 'reorder', self.path('none.h5'), o)
        run_fails(self, 73, 'no/o.h5', 'reorder', g, self.path('no/o.h5'))
        run_fails(self, 65, 'edges.npy', 'reorder', self.path('edges.npy'), o)
        self.assertFalse(os.path.exists(o))
        said = start('reorder', g, o, '--order', 'rcm', '--iterations', 3)
        self.assertEqual(said.returncode, 0)
        self.assertIn('--iterations is of --order taurus', said.stderr)

    def test_cuda(self):
        """The same store from the GPU; without one, 69 and nothing left."""
        self.full_graph()
        self.reorder('--backend', 'cpu')
        with open(self.path('o.h5'), 'rb') as f:
            want = f.read()
        os.remove(self.path('o.h5'))
        p = start('reorder', self.path('g.h5'), self.path('o.h5'), '--backend', 'cuda')
        if p.returncode == 69:
            self.assertIn('cuda', p.stderr)
            self.assertEqual([x for x in os.listdir(self.folder.name) if 'o.h5' in x], [])
            return
        self.assertEqual(p.returncode, 0, p.stderr)
        with open(self.path('o.h5'), 'rb') as f:
            self.assertTrue(f.read() == want)

    def test_little_memory_is_refused_by_name(self):
        run('generate', 'rmat', self.path('g.h5'), '--scale', 16, '--feat-dim', 0)
        run_fails(self, 71, 'memory', 'reorder', self.path('g.h5'), self.path('o.h5'),
                  '--host-memory', '1M')
        self.assertFalse(os.path.exists(self.path('o.h5')))

    def damage(self, name, index, value):
        """Changes one value and its checksum: what a checksum does not see."""
        with h5py.File(self.path('g.h5'), 'r') as f:
            offset, size = f[name].id.get_offset(), f[name].dtype.itemsize
        shutil.copy(self.path('g.h5'), self.path('d.h5'))
        with open(self.path('d.h5'), 'r+b') as f:
            f.seek(offset + index * size)
            f.write(int(value).to_bytes(size, 'little'))

    def test_a_damaged_store(self):
        self.full_graph()
        self.reorder('--order', 'random', out='r.h5')
        os.replace(self.path('r.h5'), self.path('g.h5'))
        for name in ('topology/out/neighbors', 'topology/in/neighbors', 'topology/in/offsets',
                     'topology/out/weights', 'features', 'labels', 'split/train',
                     'order/original_id'):
            for order in 'original', 'taurus':
                with self.subTest(name=name, order=order):
                    self.damage(name, 2, 1 if name == 'features' else 3)
                    if name == 'features':
                        self.damage(name, 2, 2)
                    err = run_fails(self, 65, name, 'reorder', self.path('d.h5'),
                                    self.path('o.h5'), '--order', order)
                    self.assertIn('checksum', err)
                    self.assertFalse(os.path.exists(self.path('o.h5')))

    def model(self, dims):
        """A seeded two-layer GCN."""
        run('model', '--seeded', 'gcn', '--dims', ','.join(map(str, dims)), '--out',
            self.path('m.safetensors'))

    def test_inference_is_in_import_order(self):
        """Embeddings, layers and predictions of any order are those of the import's, of the sample
        of each vertex too: other edges would give other rows."""
        run('generate', 'sbm', self.path('g.h5'), '--vertices', 700, '--feat-dim', 7)
        self.model((7, 6, 4))
        infer = '--model', self.path('m.safetensors'), '--predict', '--save-layers'
        for fanout in 'all', '3,2':
            options = *infer, '--fanout', fanout
            run('infer', self.path('g.h5'), '--out', self.path('want.h5'), *options)
            want = arrays(self.path('want.h5'))
            for order in ORDERS:
                self.reorder('--order', order)
                p = start('infer', self.path('o.h5'), '--out', self.path('got.h5'), *options)
                self.assertEqual(p.returncode, 0, p.stderr)
                got = arrays(self.path('got.h5'))
                self.assertEqual(got.keys(), want.keys())
                for name in want:
                    self.assertTrue(np.allclose(got[name], want[name], rtol=1e-5, atol=1e-6),
                                    f'{order}, fanout {fanout}: {name}')

    def test_results_larger_than_their_memory(self):
        """Rows of 16 MiB pass through runs; external ids lead; a partitioned plan as well."""
        random = np.random.default_rng(5)
        np.save(self.path('e.npy'), random.integers(0, 1 << 16, (2, 200000)) * 3 + 1)
        run('import', self.path('e.npy'), self.path('p.h5'), '--remap')
        v = json.loads(run('info', self.path('p.h5'), '--json'))['vertices']
        np.save(self.path('x.npy'), random.normal(size=(v, 8)).astype(np.float32))
        run('import', self.path('e.npy'), self.path('g.h5'), '--remap', '--features',
            self.path('x.npy'))
        self.reorder('--order', 'random')
        self.model((8, 64))
        infer = '--model', self.path('m.safetensors'), '--chunk-bytes', '256K'
        run('infer', self.path('g.h5'), '--out', self.path('want.h5'), *infer)
        want = arrays(self.path('want.h5'))
        for options in (), ('--plan', 'partitioned', '--shards', '3'):
            said = json.loads(run('infer', self.path('o.h5'), '--out', self.path('got.h5'),
                                  *infer, '--json', '--host-memory', '64M', *options))
            if not SANITIZED:
                self.assertLess(said['peak_host_bytes'], (64 << 20) + (32 << 20))
            got = arrays(self.path('got.h5'))
            self.assertTrue((got['external_id'] == want['external_id']).all())
            self.assertTrue(np.allclose(got['embeddings'], want['embeddings'], rtol=1e-5,
                                        atol=1e-6))
        self.assertEqual([x for x in os.listdir(self.folder.name) if 'order' in x], [])

    def test_cases_from_other_orders(self):
        """Reference outputs, in import order, from stores that were reordered behind import."""
        check = os.path.join(program.SHARED, 'cases', 'check')
        if not os.path.exists(check):
            self.skipTest('no reference cases beside the checkout')
        for order, *options in ('random', '--features', 'keep'), ('taurus',):
            script = self.path(order)
            with open(script, 'w') as f:
                f.write(f"""#!/bin/sh
[ "$1" = import ] || exec '{program.PROGRAM}' "$@"
shift; source=$1; store=$2; shift 2
'{program.PROGRAM}' import "$source" "$store.import" "$@" &&
exec '{program.PROGRAM}' reorder "$store.import" "$store" --order {order} {' '.join(options)}
""")
            os.chmod(script, 0o755)
            p = subprocess.run([sys.executable, check, script, '--all'], capture_output=True,
                               text=True)
            self.assertEqual(p.returncode, 0, f'{order}\n{p.stdout}{p.stderr}')

    def test_killed(self):
        """Nothing stands under the final name before the rename, the whole store after it."""
        self.full_graph()
        kept = set(os.listdir(self.folder.name))
        for point in 'pub.before_fsync', 'pub.before_rename':
            p = start('reorder', self.path('g.h5'), self.path('o.h5'), '--faults',
                      f'crash:{point}@1')
            self.assertEqual(p.returncode, -9, point)
            self.assertFalse(os.path.exists(self.path('o.h5')), point)
            for name in set(os.listdir(self.folder.name)) - kept:  # names that say what they are
                self.assertTrue(name.startswith('.') or 'o.h5' in name, name)
        run('reorder', self.path('g.h5'), self.path('o.h5'))
        self.check_same_graph('g.h5', 'o.h5')

    def large_features(self):
        """Features that a third of MEMORY does not hold: they go to runs. Returns what is there."""
        random = np.random.default_rng(6)
        self.import_graph(random.integers(0, 20000, (60000, 2)), 20000, features=random.normal(
            size=(20000, 512)).astype(np.float32), train=np.arange(50))
        self.reorder('--iterations', 3, out='want.h5')
        for name in 'edges.npy', 'features.npy', 'train.npy':
            os.remove(self.path(name))
        return set(os.listdir(self.folder.name))

    MEMORY = '--host-memory', '96M', '--iterations', 3

    def check_resumed(self, there, *options, resumed='yes'):
        """--resume ends with the store of an undisturbed run, and nothing beside it."""
        said = self.reorder(*self.MEMORY, '--resume', *options)
        self.assertEqual(said['resumed'], resumed)
        with open(self.path('want.h5'), 'rb') as a, open(self.path('o.h5'), 'rb') as b:
            self.assertTrue(a.read() == b.read())
        left = set(os.listdir(self.folder.name)) - there - {'o.h5'}
        self.assertEqual([x for x in left if not x.startswith('.')], [])
        return said

    def test_killed_and_resumed(self):
        there = self.large_features()
        points = ('reorder.ordered@1', 'reorder.rows_sealed@1', 'reorder.rows_sealed@2',
                  'pub.before_rename@1', 'pub.before_rename@2', 'pub.after_rename@1',
                  'pub.before_rename@4', 'reorder.published@1')
        for point in points:
            with self.subTest(point=point):
                p = start('reorder', self.path('g.h5'), self.path('o.h5'), *self.MEMORY,
                          '--faults', f'crash:{point}')
                self.assertEqual(p.returncode, -9, p.stderr)
                done = point == 'reorder.published@1'
                self.assertEqual(os.path.exists(self.path('o.h5')), done)
                kept = os.path.exists(self.path('o.h5.ranks'))
                self.assertEqual(kept, point != 'pub.before_rename@1')
                said = self.check_resumed(there, resumed='finished' if done else
                                          'yes' if kept else 'no')
                if kept and not done:
                    self.assertEqual(len(said['iterations']), 3)
                os.remove(self.path('o.h5'))
        # Killed again and again, each time a little later.
        for point in 'reorder.ordered@1', 'reorder.rows_sealed@1', 'reorder.rows_sealed@1', \
                'pub.before_rename@1':
            p = start('reorder', self.path('g.h5'), self.path('o.h5'), *self.MEMORY, '--resume',
                      '--faults', f'crash:{point}')
            self.assertEqual(p.returncode, -9, f'{point}: {p.stderr}')
        self.check_resumed(there, '--threads', 1)
        self.check_resumed(there, resumed='finished')

    def test_rows_that_are_sealed_are_not_read_again(self):
        there = self.large_features()
        for point in 'reorder.rows_sealed@2', 'reorder.ordered@1':
            p = start('reorder', self.path('g.h5'), self.path('o.h5'), *self.MEMORY, '--faults',
                      f'crash:{point}')
            self.assertEqual(p.returncode, -9, p.stderr)
            # A damaged first row is met only by who reads it.
            with h5py.File(self.path('g.h5'), 'r') as f:
                offset = f['features'].id.get_offset()
            with open(self.path('g.h5'), 'r+b') as f:
                f.seek(offset)
                old = f.read(4)
                f.seek(offset)
                f.write(b'\xff' * 4)
            if point == 'reorder.ordered@1':
                run_fails(self, 65, 'features', 'reorder', self.path('g.h5'), self.path('o.h5'),
                          *self.MEMORY, '--resume')
                self.assertFalse(os.path.exists(self.path('o.h5.ranks')))
            else:
                self.check_resumed(there)
                os.remove(self.path('o.h5'))
            with open(self.path('g.h5'), 'r+b') as f:
                f.seek(offset)
                f.write(old)

    def test_a_full_disk_and_then_room(self):
        there = self.large_features()
        for n in 1, 3, 8, 20, 60:
            with self.subTest(n=n):
                p = start('reorder', self.path('g.h5'), self.path('o.h5'), *self.MEMORY,
                          '--faults', f'write:enospc@{n}')
                self.assertIn(p.returncode, (0, 74), p.stderr)
                if p.returncode == 74:
                    self.assertFalse(os.path.exists(self.path('o.h5')))
                    kept = os.path.exists(self.path('o.h5.ranks'))
                    self.assertEqual(kept, '--resume goes on' in p.stderr)
                    self.check_resumed(there, resumed='yes' if kept else 'no')
                    self.assertTrue(kept or n < 8)
                os.remove(self.path('o.h5'))
        run_fails(self, 74, 'resume', 'reorder', self.path('g.h5'), self.path('o.h5'),
                  *self.MEMORY, '--faults', 'reserve:enospc@1')
        self.check_resumed(there)

    def test_what_cannot_be_resumed(self):
        there = self.large_features()
        g, o = self.path('g.h5'), self.path('o.h5')
        kill = '--faults', 'crash:reorder.rows_sealed@1'

        def leave():
            self.assertEqual(start('reorder', g, o, *self.MEMORY, *kill).returncode, -9)

        leave()
        for option, value in (('--order', 'rcm'), ('--bootstrap', 'original'),
                              ('--iterations', '4'), ('--features', 'keep')):
            err = run_fails(self, 78, option, 'reorder', g, o, *self.MEMORY, '--resume', option,
                            value)
            self.assertIn('o.h5.ranks', err)
        shutil.copy(g, self.path('other.h5'))
        run('reorder', g, self.path('r.h5'), '--order', 'random')
        run_fails(self, 78, 'store', 'reorder', self.path('r.h5'), o, *self.MEMORY, '--resume')
        os.remove(self.path('r.h5'))
        os.remove(self.path('other.h5'))
        for name, at in ('o.h5.ranks', -4), ('o.h5.ranks', 40), ('o.h5.at', 20), \
                ('o.h5.features', 30):
            with open(self.path(name), 'r+b') as f:
                f.seek(at, os.SEEK_END if at < 0 else os.SEEK_SET)
                byte = f.read(1)
                f.seek(-1, os.SEEK_CUR)
                f.write(bytes([byte[0] ^ 1]))
            run_fails(self, 65, name, 'reorder', g, o, *self.MEMORY, '--resume')
            leave()
        # Without --resume all of it goes.
        run('reorder', g, o, '--order', 'random')
        self.assertEqual([x for x in set(os.listdir(self.folder.name)) - there - {'o.h5'}
                          if not x.startswith('.')], [])


if __name__ == '__main__':
    unittest.main(argv=['reorder_test.py', *sys.argv[2:]])
