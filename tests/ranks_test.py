#!/usr/bin/env python3
"""Inference of several ranks: results, equal bits, sampling, what each reads, and failures of one.

usage: ranks_test.py GNNRUN [Ranks.test_name ...]

Ranks that are killed: kills_test.py. In a build with a sanitizer each sweep has about every fourth
of its cells.
"""
import itertools
import json
import os
import random
import re
import shutil
import signal
import sys
import unittest

from launcher import MPIRUN, disturb, finish, launch, said
from program import PROGRAM, SANITIZED, ModelsCase, numpy_or_skip, read, run, start

np = numpy_or_skip()
import h5py  # noqa: E402  (after the check)


class Ranks(ModelsCase):
    TIERED = ('--plan', 'tiered', '--hot-store', '3K', '--chunk-bytes', '40K')

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run('generate', 'sbm', cls.path('g.h5'), '--vertices', 5001, '--edges', 40000,
            '--feat-dim', 20, '--classes', 9)
        run('generate', 'rmat', cls.path('hubs.h5'), '--vertices', 3000, '--edges', 60000,
            '--feat-dim', 20)
        run('reorder', cls.path('hubs.h5'), cls.path('r.h5'), '--order', 'random')

    @classmethod
    def words(cls, arch, store='g.h5', name='e.h5'):
        return ['infer', cls.path(store), '--model', cls.path(f'{arch}.st'), '--out',
                cls.path(name), '--json', '--predict']

    def infer(self, ranks, arch, *options, store='g.h5', name='e.h5'):
        words = [*self.words(arch, store, name), *options]
        p = finish(launch(ranks, *words)) if ranks > 0 else start(*words)
        self.assertEqual(p.returncode, 0, f'{ranks} ranks, {arch} {options}\n{p.stderr}')
        return json.loads(p.stdout)

    def rows(self, name='e.h5', array='embeddings'):
        with h5py.File(self.path(name)) as f:
            return f[array][:]

    def close(self, got, want):
        self.assertEqual(got.shape, want.shape)
        self.assertLess(np.abs(got - want).max(initial=0.0),
                        2e-5 * (np.abs(want).max(initial=0.0) or 1.0))

    def nothing_stays(self, there=()):
        left = [n for n in os.listdir(self.folder.name) if n.startswith('e.h5')]
        self.assertEqual(sorted(left), sorted(there))

    def setUp(self):
        for name in os.listdir(self.folder.name):
            if name.startswith('e.h5'):
                shutil.rmtree(self.path(name), ignore_errors=True)
                if os.path.exists(self.path(name)):
                    os.remove(self.path(name))

    def test_results(self):
        for k, store in enumerate(('g.h5', 'hubs.h5', 'r.h5')):
            for i, arch in enumerate(self.ARCHES):
                if SANITIZED and i != k:
                    continue
                one = self.infer(0, arch, '--save-layers', store=store, name='one.h5')
                for ranks in ((7,), (3,), (4,), (2,))[i]:
                    with self.subTest(arch=arch, ranks=ranks, store=store):
                        many = self.infer(ranks, arch, '--save-layers', store=store)
                        self.close(self.rows(), self.rows('one.h5'))
                        self.close(self.rows(array='layer/1'), self.rows('one.h5', 'layer/1'))
                        same = self.rows(array='prediction') == self.rows('one.h5', 'prediction')
                        self.assertGreater(same.mean(), 0.999)
                        self.assertEqual(many['ranks'], ranks)
                        self.assertEqual([x['messages'] for x in many['layers']],
                                         [x['messages'] for x in one['layers']])
                        if store == 'g.h5':
                            self.assertAlmostEqual(many['test'], one['test'], delta=0.01)
                        self.nothing_stays(['e.h5'])
                        run('info', self.path('e.h5'), '--verify')

    def test_equal_bits(self):
        """At one number of ranks nothing else shows in the result."""
        ways = [('--chunk-bytes', '100K', '--threads', 3, '--io', 'pread', '--queue-depth', 4),
                ('--plan', 'partitioned', '--shards', 3, '--chunk-bytes', '60K'),
                ('--host-memory', '24M'),
                *(('--plan', 'tiered', '--evict', policy, '--hot-store', store, '--chunk-bytes',
                   chunk) for policy, store, chunk in (
                       ('belady', 'min', '1'), ('belady', '3K', '60K'), ('pending', '4K', '40K'),
                       ('lru', '3K', '1'), ('fifo', '5K', '60K'), ('random', 'min', '40K')))]
        evicted = 0
        for i, arch in enumerate(self.ARCHES):
            ranks = (3, 4, 2, 3)[i]
            self.infer(ranks, arch, store='hubs.h5', name='one.h5')
            want = self.rows('one.h5').tobytes()
            for k, way in enumerate(ways):
                if 2 < k and k % 2 != i % 2 or SANITIZED and k % 4 != i:
                    continue
                with self.subTest(arch=arch, ranks=ranks, way=way):
                    report = self.infer(ranks, arch, *way, store='hubs.h5')
                    self.assertEqual(self.rows().tobytes(), want)
                    evicted += sum(x['evictions'] for x in report['layers'])
        self.assertGreater(evicted, 1000)

    def test_next_uses_from_scratch(self):
        """Where in-lists do not fit memory ranks find next uses together: bits and samples stay."""
        store = 'dense.h5'
        run('generate', 'rmat', self.path(store), '--vertices', 40000, '--edges', 3000000,
            '--feat-dim', 20)
        cells = ('gcn', '22M', ()), ('gat', '25M', ('--fanout', 7))
        for arch, memory, fanout in cells[:1] if SANITIZED else cells:
            report = self.infer(2, arch, '--plan', 'tiered', '--hot-store', '600K', *fanout,
                                '--chunk-bytes', '40K', '--host-memory', memory, store=store)
            bits = self.rows()
            self.infer(2, arch, *fanout, store=store)
            self.assertEqual(self.rows().tobytes(), bits.tobytes())
            for x in report['layers']:
                self.assertGreater(x['evictions'], 0)
                if arch == 'gcn':  # four bytes an edge, beside rows and spill
                    self.assertGreater(x['written_bytes'] - x['cold_written_bytes'], 4 * 1500000)

    def test_a_long_in_list_is_in_the_budget(self):
        """Sorting it takes four times its own bytes: where that does not fit it stays on disk."""
        edges, folder = 1000000, self.path('star')
        os.mkdir(folder)
        self.addCleanup(shutil.rmtree, folder)
        rng = np.random.default_rng(5)
        ends = np.stack([rng.integers(2000, size=edges), np.zeros(edges, int)], 1)
        ends[::50, 1] = rng.integers(2000, size=edges // 50)
        np.save(os.path.join(folder, 'edges.npy'), ends)
        np.save(os.path.join(folder, 'feat.npy'), rng.random((2000, 20), np.float32))
        run('import', folder, self.path('star.h5'))
        self.infer(2, 'gcn', store='star.h5', name='one.h5')
        want = self.rows('one.h5').tobytes()
        for memory in ('18M',) if SANITIZED else ('18M', '22M', '28M', '60M'):
            with self.subTest(memory=memory):
                report = self.infer(2, 'gcn', '--plan', 'tiered', '--hot-store', '3K',
                                    '--host-memory', memory, store='star.h5')
                self.assertEqual(self.rows().tobytes(), want)
                self.assertGreater(report['layers'][0]['evictions'], 0)

    def test_sampled_edges(self):
        """Other edges would give other rows by far more than rounding."""
        for i, (store, arch) in enumerate(itertools.product(('hubs.h5', 'r.h5'),
                                                            ('sage', 'gin', 'gat'))):
            if SANITIZED and i % 4:
                continue
            words = ('--fanout', 3, '--seed', 5)
            self.infer(0, arch, *words, store=store, name='one.h5')
            for ranks, plan in ((2, ()), (7 - i, self.TIERED)):
                with self.subTest(store=store, arch=arch, ranks=ranks, plan=plan):
                    self.infer(ranks, arch, *words, *plan, store=store)
                    self.close(self.rows(), self.rows('one.h5'))

    def test_read_once(self):
        """All ranks together read what one does; each holds less."""
        if SANITIZED:
            self.skipTest('the memory of a sanitizer is not ours')
        run('generate', 'sbm', self.path('big.h5'), '--vertices', 150000, '--edge-factor', 8,
            '--feat-dim', 200)
        run('model', '--seeded', 'sage', '--dims', '200,16,4', '--out', self.path('big.st'))
        self.addCleanup(os.remove, self.path('big.h5'))
        words = ('--host-memory', '1G', '--threads', 1)
        tiered_one = self.infer(0, 'big', *words, '--plan', 'tiered', store='big.h5')
        one = self.infer(0, 'big', *words, store='big.h5', name='one.h5')
        ranks = 3
        many = self.infer(ranks, 'big', *words, store='big.h5')
        self.close(self.rows(), self.rows('one.h5'))
        self.assertLess(many['read_bytes'], 1.02 * one['read_bytes'])
        tiered = self.infer(ranks, 'big', *words, '--plan', 'tiered', store='big.h5')
        self.close(self.rows(), self.rows('one.h5'))
        self.assertLess(tiered['peak_host_bytes'], tiered_one['peak_host_bytes'])
        self.assertLess(tiered['read_bytes'], 1.02 * tiered_one['read_bytes'])
        plan = self.infer(ranks, 'big', *words, '--explain', store='big.h5')
        self.assertEqual(plan['ranks'], ranks)
        self.assertLess(abs(plan['predicted_read_bytes'] / many['read_bytes'] - 1), 0.02)

    def test_rows_travel_while_others_are_absorbed(self):
        """By spans: each round is on its way while the one before is absorbed, in every plan."""
        for plan in ((), ('--plan', 'partitioned', '--shards', 2), self.TIERED):
            with self.subTest(plan=plan):
                chunk = () if '--chunk-bytes' in plan else ('--chunk-bytes', '40K')
                report = self.infer(3, 'gcn', *plan, *chunk, '--trace', self.path('t.json'),
                                    store='hubs.h5')
                with open(self.path('t.json')) as f:
                    spans = [x for x in json.load(f) if x['ph'] == 'X']
                lane = {name: [(x['ts'], x['ts'] + x['dur']) for x in spans if x['name'] == name]
                        for name in ('exchange', 'absorb', 'peers')}
                within = [sum(begin <= a and b <= end for a, b in lane['absorb'])
                          for begin, end in lane['exchange']]
                self.assertGreater(len(within), 6)
                self.assertEqual(len(lane['peers']), len(within))
                passes = sum(x['shards'] for x in report['layers'])
                self.assertGreaterEqual(sum(n > 0 for n in within), len(within) - passes)
                for layer in report['layers']:
                    self.assertGreater(layer['exchanged_rows'], 0)
                    self.assertLess(0, layer['peer_wait_s'])
                    self.assertLess(layer['peer_wait_s'], layer['wall_s'])
        one = self.infer(0, 'gcn', store='hubs.h5')
        self.assertEqual([(x['exchanged_rows'], x['peer_wait_s']) for x in one['layers']],
                         [(0, 0)] * len(one['layers']))

    def test_empty_ranks(self):
        plans = itertools.cycle((('--plan', 'tiered', '--hot-store', 'min'),
                                 ('--plan', 'partitioned'), ('--plan', 'resident'),
                                 ('--plan', 'tiered', '--evict', 'lru')))
        arches = itertools.cycle(('sage', 'gat', 'gcn'))
        for vertices, edges in ((1, 0), (300, 900), (3, 5), (300, 0)):
            run('generate', 'rmat', self.path('few.h5'), '--vertices', vertices, '--edges', edges,
                '--feat-dim', 20)
            for _ in range(1 if SANITIZED else 2):
                arch, plan = next(arches), next(plans)
                with self.subTest(vertices=vertices, edges=edges, arch=arch, plan=plan):
                    self.infer(0, arch, store='few.h5', name='one.h5')
                    self.infer(4, arch, *plan, store='few.h5')
                    self.close(self.rows(), self.rows('one.h5'))

    def test_user_ids(self):
        """Ids of the user come along, in import order, from any rank's share."""
        with open(self.path('edges.txt'), 'w') as f:
            f.writelines(f'{i * 7 + 3} {(i * 31 % 2000) * 7 + 3}\n' for i in range(2000))
        np.save(self.path('feat.npy'), np.arange(2000 * 20, dtype=np.float32).reshape(2000, 20))
        run('import', self.path('edges.txt'), self.path('ids.h5'), '--remap', '--features',
            self.path('feat.npy'))
        run('reorder', self.path('ids.h5'), self.path('mixed.h5'), '--order', 'random')
        for store in ('ids.h5', 'mixed.h5'):
            self.infer(3, 'gin', store=store)
            self.assertEqual(self.rows(array='external_id').tolist(),
                             [i * 7 + 3 for i in range(2000)])

    def test_one_rank_fails(self):
        """Wherever it is: all end, one of them says which and why; a checkpoint may stay."""
        for rule, codes in (('alloc:fail', {71}), ('open:eio', {66, 73, 74}),
                            ('read:eio', {65, 74}), ('write:eio', {73, 74})):
            n, failures, passes = 1, 0, 0
            while n < 4000:
                rank = n % 3
                words = [*self.words('sage', 'r.h5'), *(self.TIERED if failures % 2 else
                                                        ('--plan', 'partitioned'))]
                p = finish(launch(3, *words, apart={rank: ('--faults', f'{rule}@{n}')}))
                with self.subTest(rule=rule, n=n, rank=rank):
                    self.assertIn(p.returncode, {0} | codes, p.stderr)
                    if p.returncode != 0:
                        failures += 1
                        self.assertEqual(len(said(p)), 1, p.stderr)
                        if rank > 0:
                            self.assertIn(f'gnnrun: rank {rank} on ', p.stderr)
                        self.assertFalse(os.path.exists(self.path('e.h5')))
                        self.nothing_stays(n for n in os.listdir(self.folder.name)
                                           if re.fullmatch(r'e\.h5\.rank\dof3\.gnnrun-scratch', n))
                        self.setUp()
                        self.assertLess(p.took, 30)
                    else:
                        self.setUp()
                        passes += 1
                if passes == 3:
                    break
                n += 1 + (2 * n if SANITIZED else n // (2 if rule == 'write:eio' else 1))
            self.assertGreater(failures, 0, rule)

    def test_a_result_is_there_for_all_ranks_or_for_none(self):
        """A rank that cannot tell, for want of memory, leaves no other waiting."""
        options = ('--chunk-bytes', '40K', '--resume')
        self.infer(3, 'gat', *options[:2], store='hubs.h5')
        self.assertEqual(self.infer(3, 'gat', *options, store='hubs.h5')['resumed'], 'finished')
        words = [*self.words('gat', 'hubs.h5'), *options]
        for n in range(20, 200, 80 if SANITIZED else 40):
            p = finish(launch(3, *words, apart={1: ('--faults', f'alloc:fail@{n}')}), timeout=60)
            self.assertIn(p.returncode, (0, 71), p.stderr)
            run('info', self.path('e.h5'), '--verify')

    def disturb(self, number, rank, delay, *options, ranks=3, arch='gat'):
        """Sends a signal to a rank of a slowed run."""
        words = [*self.words(arch, 'hubs.h5'), '--chunk-bytes', '40K', *options,
                 '--faults', 'read:slow%3=1']
        return disturb(self, launch(ranks, *words), ranks, number, rank, delay)

    def test_silent_rank(self):
        for rank, plan in ((0, ()),) if SANITIZED else ((0, ()), (2, self.TIERED[:4])):
            p = self.disturb(signal.SIGSTOP, rank, 0.3, '--peer-timeout', 2, *plan)
            self.assertEqual(p.returncode, 74, p.stderr)
            self.assertLess(p.took, 2 + 10)
            self.assertEqual(len(said(p)), 1, p.stderr)
            self.assertIn(f'gnnrun: rank {rank} on ', p.stderr)

    def test_stopped_by_a_signal(self):
        """All stop behind one round; --resume ends with the bits of a run that nobody disturbed."""
        draw = random.Random(9)
        stopped, whole = 0, {}
        cells = [('gat', ('--plan', 'resident'), 0), ('sage', self.TIERED, 1),
                 ('sage', ('--plan', 'partitioned', '--shards', 2), 2),
                 ('gat', (*self.TIERED, '--evict', 'pending'), 2)]
        for arch, plan, rank in cells[:2] if SANITIZED else cells:
            with self.subTest(arch=arch, plan=plan, rank=rank):
                self.setUp()
                if arch not in whole:
                    self.infer(3, arch, store='hubs.h5', name='one.h5')
                    whole[arch] = self.rows('one.h5').tobytes()
                p = self.disturb(signal.SIGUSR1, rank, draw.random() * .6, *plan, arch=arch)
                self.assertIn(p.returncode, (75, 0), p.stderr)
                stopped += p.returncode == 75
                if p.returncode == 75:
                    self.assertIn('stopped by a signal', p.stderr)
                    if 'resident' in plan:
                        self.others_refuse(2, arch, 'the resident plan, which seals no layer',
                                           *plan)
                report = self.infer(3, arch, '--resume', '--chunk-bytes', '40K', *plan,
                                    store='hubs.h5')
                self.assertEqual(report['resumed'], 'yes' if p.returncode == 75 else 'finished')
                self.assertEqual(self.rows().tobytes(), whole[arch])
                if p.returncode == 75:
                    self.nothing_stays(['e.h5'])
        self.assertGreater(stopped, 0 if SANITIZED else 1)

    # Options of a plan that seals layers, and where its second layer is at work; and the end.
    SEALS = {('--plan', 'partitioned', '--shards', 2):
             ('infer.layer_done@1', 'infer.shard_finished@3', 'infer.rows_copied@1'),
             (*TIERED, '--seal-after', 0):
             ('infer.layer_begun@2', 'infer.shard_finished@2', 'infer.rows_copied@1')}

    def killed(self, ranks, arch, point, *options, rank=0, name='e.h5', store='hubs.h5'):
        words = [*self.words(arch, store, name), *options]
        fault = ('--faults', f'crash:{point}')
        p = finish(launch(ranks, *words, apart={rank: fault})) if ranks > 1 else start(*words,
                                                                                       *fault)
        self.assertNotEqual(p.returncode, 0, point)
        self.assertFalse(os.path.exists(self.path(name)))

    def others_refuse(self, ranks, arch, text, *options):
        words = [*self.words(arch, 'hubs.h5'), '--resume', *options]
        there = sorted(os.listdir(self.folder.name))
        p = finish(launch(ranks, *words)) if ranks > 1 else start(*words)
        self.assertEqual(p.returncode, 78, p.stderr)
        self.assertIn(text, p.stderr)
        self.assertEqual(len(said(p)), 1, p.stderr)
        self.assertEqual(sorted(n for n in os.listdir(self.folder.name) if 'scratch' in n),
                         sorted(n for n in there if 'scratch' in n))

    def goes_on(self, ranks, arch, *options, store='hubs.h5', sealed=1):
        """From sealed layers, whose input is not read again, to what one rank makes."""
        report = self.infer(ranks, arch, '--resume', '--save-layers', *options, store=store)
        self.assertEqual(report['resumed'], 'yes')
        self.assertEqual([x['wall_s'] > 0 for x in report['layers']][:sealed], [False] * sealed)
        one = f'one.{arch}.{store}'
        if not os.path.exists(self.path(one)):
            self.infer(0, arch, '--save-layers', store=store, name=one)
        for array in 'embeddings', 'layer/1':
            self.close(self.rows(array=array), self.rows(one, array))
        self.assertEqual([x['messages'] for x in report['layers']],
                         [x['messages'] for x in self.infer(1, arch, store=store,
                                                            name='any.h5')['layers']])
        run('info', self.path('e.h5'), '--verify')
        self.nothing_stays(['e.h5'])

    def test_other_ranks_go_on_from_sealed_layers(self):
        arches = itertools.cycle(self.ARCHES)
        turns = itertools.cycle(((3, 2), (1, 4), (2, 1), (4, 3), (2, 3), (3, 1)))
        cells = [(plan, point) for plan, points in self.SEALS.items() for point in points]
        for plan, point in cells[::4] if SANITIZED else cells:
            arch, (before, now) = next(arches), next(turns)
            store = ('hubs.h5', 'r.h5')[arch in ('sage', 'gat')]
            with self.subTest(plan=plan, point=point, arch=arch, before=before, now=now):
                self.killed(before, arch, point, '--save-layers', *plan, rank=before - 1,
                            store=store)
                self.goes_on(now, arch, '--chunk-bytes', '60K', store=store)
                self.setUp()

    def test_other_ranks_that_are_killed_while_they_take_over(self):
        for i, plan in enumerate(self.SEALS):
            with self.subTest(plan=plan):
                words = ('--save-layers', *plan)
                self.killed(3, 'sage', 'infer.layer_done@1', *words)
                self.killed(2, 'sage', 'regroup.taken@1', *words, '--resume', rank=i)
                self.killed(2, 'sage', 'infer.manifest_written@1', *words, '--resume', rank=1 - i)
                self.goes_on(4 * i, 'sage')
                self.setUp()

    def test_what_other_ranks_cannot_go_on_from(self):
        plan = ('--plan', 'partitioned', '--shards', 2)
        places = [self.path(f'e.h5.disk{r}') for r in range(2)]
        for place in places:
            os.mkdir(place)
        words = [*self.words('gcn', 'hubs.h5'), *plan]
        disks = {r: ('--scratch', place) for r, place in enumerate(places)}
        p = finish(launch(2, *words, apart={**disks, 1: (*disks[1], '--faults',
                                                         'crash:infer.layer_done@1')}))
        self.assertNotEqual(p.returncode, 0)
        for ranks in 1, 3:
            self.others_refuse(ranks, 'gcn', 'is not to be seen from rank', '--scratch', places[1])
        p = finish(launch(2, *words, '--resume', apart=disks))
        self.assertEqual((p.returncode, json.loads(p.stdout)['resumed']), (0, 'yes'), p.stderr)
        self.setUp()
        self.killed(2, 'gcn', 'infer.manifest_written@1', *plan)
        self.others_refuse(3, 'gcn', 'before it had sealed a layer')
        self.others_refuse(1, 'sage', 'model has changed')
        self.others_refuse(1, 'gcn', '--plan has changed', '--plan', 'tiered')
        self.infer(3, 'gcn', store='hubs.h5')
        self.nothing_stays(['e.h5'])

    def test_damage_of_what_other_ranks_have_left_is_named(self):
        for plan, name in zip(self.SEALS, ('rows', 'runs')):
            with self.subTest(name=name):
                self.killed(2, 'sage', 'infer.layer_done@1', *plan)
                path = os.path.join(self.path('e.h5.rank1of2.gnnrun-scratch'),
                                    f'layer2-input.{name}')
                data = bytearray(read(path))
                data[8200] ^= 4
                with open(path, 'wb') as f:
                    f.write(data)
                for ranks in 1, 3:
                    words = [*self.words('sage', 'hubs.h5'), '--resume']
                    p = finish(launch(ranks, *words))
                    self.assertEqual(p.returncode, 65, p.stderr)
                    self.assertIn('layer2-input', p.stderr)
                self.setUp()

    def test_a_finished_run_is_one_for_any_number_of_ranks(self):
        self.infer(3, 'gcn')
        for ranks in 0, 2:
            self.assertEqual(self.infer(ranks, 'gcn', '--resume')['resumed'], 'finished')

    def test_other_options(self):
        words = self.words('gcn')
        for option, apart in (('--fanout', {1: ('--fanout', 3)}),
                              ('--chunk-bytes', {0: ('--chunk-bytes', '1M')}),
                              ('--model-set', {2: ('--model-set', 'activation=relu')})):
            p = finish(launch(3, *words, apart=apart))
            self.assertEqual(p.returncode, 78, p.stderr)
            self.assertEqual(len(said(p)), 1, p.stderr)
            self.assertIn(f'another {option} than rank 0', p.stderr)
            self.nothing_stays()
        p = finish(launch(3, *words, apart={1: ('--threads', 1, '--host-memory', '1G')}))
        self.assertEqual(p.returncode, 0, p.stderr)

    def test_other_files(self):
        """A store that one rank does not see, or sees as another."""
        for name, code, text in (('none.h5', 66, 'none.h5'), ('hubs.h5', 78, 'rank 1 ')):
            words, other = self.words('gcn'), self.words('gcn', name)
            command = [*MPIRUN, '-np', '1', PROGRAM, *words, ':', '-np', '1', PROGRAM, *other]
            p = finish(command)
            self.assertEqual(p.returncode, code, p.stderr)
            self.assertIn(text, p.stderr)
            self.assertEqual(len(said(p)), 1, p.stderr)
            self.nothing_stays()

    def test_ranks_on_too_few_cores_are_told(self):
        cores = len(os.sched_getaffinity(0))
        if cores < 2:
            self.skipTest('one core')
        for bind, told in (('core', True), ('none', False)):
            p = finish([*(w for w in MPIRUN if w not in ('--bind-to', 'none')), '--bind-to', bind,
                        '-np', '1', PROGRAM, *map(str, self.words('gcn'))])
            self.assertEqual(p.returncode, 0, p.stderr)
            self.assertEqual(f'of the {cores} cores' in p.stderr, told, p.stderr)
            self.assertEqual('--bind-to none' in p.stderr, told, p.stderr)

    def test_refused(self):
        for option, text in ((('--plan', 'tiered', '--shards', 2), '--shards 2'),
                             (('--plan', 'tiered', '--hot-store', '1'), '--hot-store 1 is below'),
                             (('--plan', 'tiered', '--host-memory', '1M'), 'memory'),
                             (('--host-memory', '1M'), 'memory')):
            p = finish(launch(2, *self.words('gcn'), *option))
            self.assertIn(p.returncode, (71, 78), p.stderr)
            self.assertIn(text, p.stderr)
            self.assertEqual(len(said(p)), 1, p.stderr)
            self.nothing_stays()
        p = finish(launch(2, 'info', self.path('g.h5')))
        self.assertEqual(p.returncode, 78, p.stderr)


if __name__ == '__main__':
    sys.argv[1:] = sys.argv[2:]
    unittest.main()
