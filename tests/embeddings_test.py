#!/usr/bin/env python3
"""gnnrun train --reuse embeddings: hot vertices' rows made a super-batch ahead, never too old.

usage: embeddings_test.py GNNRUN
"""
import json
import os
import shutil
import signal
import sys
import unittest

import program
from program import SHARED, TrainCase, read, run, run_fails, share, start

program.numpy_or_skip()

CORA = os.path.join(SHARED, 'data', 'cora')
SMALL = ('--hidden', 16, '--batch-size', 100, '--epochs', 3, '--log', 'warn')
LAYER = ('--orchestration', 'layer')
EMBED = (*LAYER, '--reuse', 'embeddings', '--hot-ratio', .2)
WAYS = (('gcn', 'none'), ('gcn', 'aggregate'), ('sage', 'none'), ('sage', 'aggregate'),
        ('gin', 'none'), ('gat', 'none'))


def total(report, key):
    return sum(e[key] for e in report['epochs'])


def stale(report):
    return max(e['max_staleness'] for e in report['epochs'])


class Embeddings(TrainCase):
    def train(self, *args, store=None):
        """The report of a training and its last model."""
        out = self.path('m.safetensors')
        shutil.rmtree(out + '.ckpt', ignore_errors=True)
        report = json.loads(run('train', store or self.store, '--out', out, '--json', *SMALL,
                                *args))
        return report, read(self.path('m.last.safetensors'))

    def test_without_hot_vertices_it_is_the_ordinary_training(self):
        for arch, backward in WAYS:
            for layers, fanout, extra in ((2, '4,6', ('--super-batch', 1000)),
                                          (3, '3,all,4', ('--hot-ratio', 0))):
                with self.subTest(arch=arch, layers=layers):
                    args = ('--arch', arch, '--layers', layers, '--fanout', fanout)
                    a, step = self.train(*args)
                    b, model = self.train(*args, *EMBED, '--hot-backward', backward, *extra)
                    self.assertEqual(stale(b), 0)
                    if arch == 'gcn':  # no bit differs but for the order of an output
                        self.assertEqual(len(step), len(model))
                    for x, y in zip(a['epochs'], b['epochs']):
                        self.assertAlmostEqual(x['loss'], y['loss'], delta=2e-4 * x['loss'])

    def test_up_to_five_layers(self):
        """Six steps an epoch: the first super-batch is the first epoch, and has no stale rows."""
        for arch, layers in (('gcn', 4), ('gcn', 5), ('sage', 5), ('gin', 5), ('gat', 5)):
            with self.subTest(arch=arch, layers=layers):
                args = ('--arch', arch, '--layers', layers, '--fanout', 2, '--epochs', 2)
                step, _ = self.train(*args)
                report, _ = self.train(*args, *EMBED, '--super-batch', 6)
                first, second = report['epochs']
                loss = step['epochs'][0]['loss']
                self.assertAlmostEqual(first['loss'], loss, delta=5e-4 * loss)
                self.assertEqual((first['max_staleness'], second['max_staleness']), (0, 11))
                self.assertGreater(second['reused_vertices'], 0)
                if arch == 'gat':
                    continue
                for way in ((*LAYER, '--reuse', 'aggregates'), ('--bottom', 'precomputed')):
                    report, _ = self.train(*args, *way)
                    self.assertEqual(stale(report), 0)
                    self.assertLess(report['epochs'][1]['loss'], 1.2 * loss)

    def test_each_net_of_each_depth_by_each_way(self):
        """Trained, or refused with a reason."""
        ways = ((), LAYER, (*LAYER, '--reuse', 'aggregates'), EMBED,
                (*EMBED, '--late', 'cold', '--super-batch', 2), ('--bottom', 'precomputed'),
                ('--reuse', 'auto'))
        for arch, layers in share((a, n) for a in ('gcn', 'sage', 'gin', 'gat')
                                  for n in range(2, 6)):
            for way in ways:
                with self.subTest(arch=arch, layers=layers, way=way):
                    args = ('--arch', arch, '--layers', layers, '--fanout', 2, '--hidden', 8,
                            '--epochs', 1, '--batch-size', 300, *way)
                    if arch == 'gat' and way in (LAYER, ways[2], ways[5]):
                        run_fails(self, 78, 'attention', 'train', self.store, '--out',
                                  self.path('n.safetensors'), *args)
                        continue
                    report, _ = self.train(*args)
                    self.assertTrue(0 < report['epochs'][0]['loss'] < 100)
                    self.assertLessEqual(stale(report), 3)

    def test_each_switch_moves_its_figure(self):
        args = ('--fanout', '4,6')
        layer, _ = self.train(*args, *LAYER)
        rows = total(layer, 'aggregated_vertices')
        seen = {}
        auto, model = self.train(*args, *EMBED, '--super-batch', 3)
        self.assertEqual(model, self.train(*args, *EMBED, '--super-batch', 3, '--hot-backward',
                                           'aggregate')[1])
        self.assertEqual(stale(auto), 5)
        for n, ratio, policy, backward in (
                (1, .3, 'presample', 'none'), (3, .3, 'presample', 'none'),
                (6, .3, 'presample', 'none'), (3, 1, 'presample', 'none'),
                (3, 0, 'presample', 'none'), (3, .3, 'degree', 'none'),
                (3, .3, 'presample', 'aggregate')):
            report, model = self.train(*args, *EMBED, '--super-batch', n, '--hot-ratio', ratio,
                                       '--hot-policy', policy, '--hot-backward', backward)
            seen[n, ratio, policy, backward] = (report, model)
            self.assertEqual(stale(report), 2 * n - 1 if ratio > 0 else 0)
            self.assertEqual(sum(map(sum, (e['staleness'] for e in report['epochs']))), rows)
            self.assertEqual(sum(sum(e['staleness'][1:]) for e in report['epochs']),
                             total(report, 'reused_vertices'))
            for e in report['epochs']:
                self.assertAlmostEqual(e['epsilon'], 2 * n * e['max_weight_change'], places=9)
                self.assertEqual(e['max_sample_age'], 0)
            self.assertEqual(total(report, 'cpu_embed_s') > 0, ratio > 0)
        self.assertEqual(len({model for _, model in seen.values()}), len(seen))
        made = {key: total(r, 'aggregated_vertices') for key, (r, _) in seen.items()}
        used = {key: total(r, 'reused_vertices') for key, (r, _) in seen.items()}
        few, many = (3, .3, 'presample', 'none'), (3, 1, 'presample', 'none')
        self.assertEqual(made[1, .3, 'presample', 'none'], used[1, .3, 'presample', 'none'])
        self.assertLess(made[few] / used[few], 1)
        self.assertLess(made[6, .3, 'presample', 'none'], made[few])
        self.assertLess(used[few], used[many])
        self.assertEqual(made[3, 0, 'presample', 'none'], 0)
        self.assertEqual(made[few], made[3, .3, 'presample', 'aggregate'])

    def test_few_vertices_are_hot_unless_more_are_asked_for(self):
        for reuse, ratio in (('embeddings', .02), ('aggregates', .2)):
            way = ('--fanout', 4, *LAYER, '--reuse', reuse)
            _, model = self.train(*way)
            self.assertEqual(self.train(*way, '--hot-ratio', 'auto')[1], model)
            self.assertEqual(self.train(*way, '--hot-ratio', ratio)[1], model)
            self.assertNotEqual(self.train(*way, '--hot-ratio', .1)[1], model)

    def test_a_window_makes_no_row_for_one_step_alone(self):
        args = ('--fanout', 4, *EMBED, '--super-batch', 3, '--hot-ratio', 1, '--epochs', 2)
        wide = ('--hot-policy', 'window')
        usual, every = self.train(*args)
        report, model = self.train(*args, *wide)
        made, used = (total(report, key) for key in ('aggregated_vertices', 'reused_vertices'))
        self.assertGreaterEqual(used, 2 * made)
        self.assertLessEqual(used, 3 * made)
        self.assertLess(used, total(usual, 'reused_vertices'))
        self.assertEqual(stale(report), 5)
        self.assertNotEqual(model, every)
        few, small = self.train(*args, *wide, '--hot-ratio', .1)
        # Of three super-batches behind the first.
        self.assertEqual(total(few, 'aggregated_vertices'), 3 * 150)
        self.assertEqual(self.train(*args, *wide, '--hot-ratio', .1, '--threads', 1,
                                    '--pipeline', 'off')[1], small)
        out = ('train', self.store, '--out', self.path('w.safetensors'), *SMALL, *args, *wide)
        p = start(*out, '--faults', 'crash:checkpoint@1')
        self.assertEqual(p.returncode, -signal.SIGKILL, p.stderr)
        run(*out, '--resume')
        self.assertEqual(read(self.path('w.last.safetensors')), model)

    def test_the_metrics_have_the_staleness_too(self):
        name = self.path('m.jsonl')
        report, _ = self.train('--fanout', 4, *EMBED, '--metrics', name)
        with open(name) as f:
            lines = [x for x in map(json.loads, f) if x['event'] == 'epoch']
        for x, y in zip(lines, report['epochs']):
            for key in ('staleness', 'max_staleness', 'max_weight_change', 'epsilon'):
                self.assertEqual(x[key], y[key])

    def test_bits_are_those_of_any_threads_and_pipeline(self):
        for arch, backward in WAYS:
            with self.subTest(arch=arch, backward=backward):
                args = ('--arch', arch, '--fanout', 4, *EMBED, '--hot-backward', backward)
                _, one = self.train(*args, '--threads', 1, '--pipeline', 'off')
                for threads, pipeline in ((5, 'on'), (3, 'off')):
                    _, other = self.train(*args, '--threads', threads, '--pipeline', pipeline)
                    self.assertEqual(one, other)

    def test_killed_within_a_super_batch_it_goes_on_with_equal_bits(self):
        """Six steps an epoch; checkpoints behind steps 6, 12 and where a signal comes."""
        for arch, backward, n in (('gcn', 'none', 5), ('sage', 'aggregate', 4), ('gin', 'none', 1),
                                  ('gat', 'none', 7)):
            args = ('--arch', arch, '--fanout', 4, *EMBED, '--super-batch', n, '--hot-backward',
                    backward, '--epochs', 4)
            _, whole = self.train(*args)
            out = ('train', self.store, '--out', self.path('k.safetensors'), *SMALL, *args)
            for i, fault in enumerate(('crash:step@4', 'crash:step@8', 'crash:checkpoint@2')):
                pipeline = ('on', 'off')[(i + n) % 2]
                with self.subTest(arch=arch, n=n, fault=fault, pipeline=pipeline):
                    shutil.rmtree(self.path('k.safetensors.ckpt'), ignore_errors=True)
                    p = start(*out, '--faults', fault)
                    self.assertEqual(p.returncode, -signal.SIGKILL, p.stderr)
                    run(*out, '--resume', '--pipeline', pipeline)
                    self.assertEqual(read(self.path('k.last.safetensors')), whole)

    def test_more_epochs_later_are_as_good_as_at_once(self):
        args = ('--fanout', 4, *EMBED, '--super-batch', 4)
        _, whole = self.train(*args, '--epochs', 4)
        out = ('train', self.store, '--out', self.path('e.safetensors'), *SMALL, *args)
        for epochs in (1, 3, 4):
            run(*out, '--epochs', epochs, '--resume')
        self.assertEqual(read(self.path('e.last.safetensors')), whole)
        for text, change in (('super-batch=4', ('--super-batch', 6)),
                             ('hot-backward=auto', ('--hot-backward', 'none')),
                             ('reuse=embeddings', ('--reuse', 'aggregates'))):
            run_fails(self, 78, text, *out, '--epochs', 4, '--resume', *change)

    def test_a_row_that_is_too_old_is_caught(self):
        """A version of the weights that is not published leaves one that is 2 n older."""
        out = ('--out', self.path('f.safetensors'))
        for pipeline in ('on', 'off'):
            for fault in ('reuse:stale@10', 'reuse:stale@12-14'):
                p = start('train', self.store, *out, *SMALL, '--fanout', 4, *EMBED,
                          '--pipeline', pipeline, '--faults', fault)
                self.assertNotEqual(p.returncode, 0)
                self.assertIn('staleness <= bound', p.stderr)
                self.assertFalse(os.path.exists(self.path('f.safetensors')))

    def test_features_past_the_memory_train_the_same_model(self):
        store = self.path('wide.h5')
        run('generate', 'sbm', store, '--vertices', 12000, '--edge-factor', 4, '--feat-dim', 1000,
            '--dtype', 'f16', '--train-count', 300)
        for arch in ('sage', 'gat'):
            args = ('--fanout', 2, '--batch-size', 50, *EMBED, '--hot-ratio', .01, '--arch', arch)
            _, inside = self.train(*args, store=store)
            _, outside = self.train(*args, '--host-memory', '36M', store=store)
            self.assertEqual(inside, outside)

    def test_an_error_of_the_thread_ends_the_run_with_its_reason(self):
        out = ('--out', self.path('r.safetensors'))
        for k in range(8, 60, 4):
            p = start('train', self.store, *out, *SMALL, '--fanout', 4, *EMBED, '--faults',
                      f'alloc:fail@{k}00')
            self.assertIn(p.returncode, (0, 71), p.stderr)
            if p.returncode != 0:
                self.assertIn('memory', p.stderr)

    def test_a_cpu_too_slow_for_its_share_is_waited_for(self):
        args = ('--fanout', 4, *EMBED, '--super-batch', 2, '--epochs', 2)
        usual, model = self.train(*args)
        for pipeline in ('on', 'off'):
            slow, same = self.train(*args, '--faults', 'embed:slow%1', '--pipeline', pipeline)
            self.assertEqual(same, model)
            self.assertEqual(stale(slow), stale(usual))
        self.assertGreater(total(slow, 'cpu_embed_s'), total(usual, 'cpu_embed_s') + .3)

    def test_no_memory_for_the_rows_that_are_kept(self):
        """Every vertex is hot: what is kept of them does not fit the budget."""
        store = self.path('hot.h5')
        run('generate', 'sbm', store, '--vertices', 12000, '--edge-factor', 4, '--feat-dim', 1000,
            '--dtype', 'f16', '--train-count', 300)
        for reuse in ('aggregates', 'embeddings'):
            text = run_fails(self, 71, '--host-memory', 'train', store, '--out',
                             self.path('hot.safetensors'), *SMALL, '--fanout', 2, *LAYER,
                             '--reuse', reuse, '--hot-ratio', 1, '--hot-policy', 'degree',
                             '--batch-size', 300, '--super-batch', 1, '--host-memory', '34M')
            self.assertIn('would suffice', text)
            self.assertFalse(os.path.exists(self.path('hot.safetensors')))

    HYBRID = ('--fanout', 4, *EMBED, '--epochs', 12, '--batch-size', 50, '--super-batch', 2)

    def replayed(self, *args):
        """The model that the log of the last training gives."""
        log = self.path('m.safetensors.hybrid')
        return self.train(*self.HYBRID, '--hybrid', 'replay', '--hybrid-log', log, *args)[1]

    def test_a_slow_cpu_leaves_hot_vertices_to_the_device(self):
        metrics, log = self.path('h.jsonl'), self.path('m.safetensors.hybrid')
        report, model = self.train(*self.HYBRID, '--hybrid', 'on', '--faults', 'embed:slow%1',
                                   '--metrics', metrics)
        left = [e['cpu_hot_vertices'] for e in report['epochs']]
        self.assertEqual(left, sorted(left, reverse=True))
        self.assertLessEqual(left[0], 300)
        self.assertGreater(left[0], 200)
        self.assertEqual(left[-1], 0)
        self.assertGreater(report['epochs'][0]['gpu_idle_s'], .2)
        self.assertLess(report['epochs'][-1]['gpu_idle_s'], .1)
        self.assertEqual(report['epochs'][-1]['reused_vertices'], 0)
        with open(metrics) as f:
            said = [x for x in map(json.loads, f) if x['event'] == 'hybrid']
        with open(log) as f:
            lines = [tuple(map(int, x.split())) for x in f.read().split('\n')[1:-1]]
        self.assertEqual(lines, [(x['from'], x['cpu_vertices']) for x in said])
        for x in said:
            self.assertGreater(x['idle_s'], .01 * x['wall_s'])
            self.assertEqual(x['from'], x['super_batch'] + 4)
        self.assertEqual(self.replayed(), model)
        self.assertEqual(self.replayed('--pipeline', 'off', '--threads', 1), model)
        self.assertNotEqual(self.train(*self.HYBRID)[1], model)

    def test_decisions_are_in_the_checkpoint(self):
        out = self.path('m.safetensors')
        args = ('train', self.store, '--out', out, *SMALL, *self.HYBRID, '--hybrid', 'on')
        shutil.rmtree(out + '.ckpt', ignore_errors=True)
        p = start(*args, '--faults', 'embed:slow%1,crash:checkpoint@1')
        self.assertEqual(p.returncode, -signal.SIGKILL, p.stderr)
        first = read(out + '.hybrid')
        self.assertGreater(first.count(b'\n'), 1)
        run(*args, '--resume', '--faults', 'embed:slow%1')
        model = read(self.path('m.last.safetensors'))
        self.assertTrue(read(out + '.hybrid').startswith(first))
        self.assertEqual(self.replayed(), model)
        run_fails(self, 78, 'hybrid=replay', *args[:-1], 'on', '--resume')

    def test_rows_of_a_slow_cpu_count_as_cold(self):
        """Slices come 50 ms late, here where the step would wait for them."""
        metrics, log = self.path('l.jsonl'), self.path('m.safetensors.late')
        args = (*self.HYBRID, '--epochs', 4)
        usual, model = self.train(*args)
        waited, same = self.train(*args, '--faults', 'embed:slow%1')
        self.assertEqual(same, model)
        self.assertEqual(total(waited, 'late_vertices'), 0)
        late, cold = self.train(*args, '--late', 'cold', '--faults', 'embed:slow%1', '--metrics',
                                metrics)
        self.assertNotEqual(cold, model)
        self.assertLess(total(late, 'gpu_idle_s'), total(waited, 'gpu_idle_s') / 2)
        self.assertGreater(total(late, 'late_vertices'), 0)
        self.assertEqual(total(late, 'late_vertices') + total(late, 'reused_vertices'),
                         total(usual, 'reused_vertices'))
        with open(metrics) as f:
            said = [x for x in map(json.loads, f) if x['event'] == 'late']
        with open(log) as f:
            self.assertEqual([tuple(map(int, x.split())) for x in f.read().split('\n')[1:-1]],
                             [(x['super_batch'], x['slices']) for x in said])
        self.assertTrue(all(x['slices'] < x['wanted'] == 2 for x in said))
        for way in ((), ('--pipeline', 'off', '--threads', 1), ('--faults', 'embed:slow%3')):
            report, again = self.train(*args, '--late', 'replay', '--late-log', log, *way)
            self.assertEqual(again, cold)
            self.assertEqual(total(report, 'late_vertices'), total(late, 'late_vertices'))
        # Without a pipeline rows are made where the trainer stands: nothing is late.
        self.assertEqual(self.train(*args, '--late', 'cold', '--pipeline', 'off')[1], model)
        with open(log) as f:
            self.assertEqual(f.read(), 'gnnrun-late 1 2\n')

    def test_what_was_late_is_in_the_checkpoint(self):
        out, log = self.path('m.safetensors'), self.path('m.safetensors.late')
        args = ('train', self.store, '--out', out, *SMALL, *self.HYBRID, '--epochs', 4,
                '--super-batch', 5, '--late', 'cold')
        for faults in ('crash:checkpoint@1', 'crash:step@14', 'signal:step@18'):
            with self.subTest(faults=faults):
                shutil.rmtree(out + '.ckpt', ignore_errors=True)
                p = start(*args, '--faults', 'embed:slow%1,' + faults)
                self.assertEqual(p.returncode, 75 if 'signal' in faults else -signal.SIGKILL,
                                 p.stderr)
                first = read(log)
                run(*args, '--resume', '--faults', 'embed:slow%4')
                self.assertTrue(read(log).startswith(first))
                model, kept = read(self.path('m.last.safetensors')), self.path('kept.late')
                shutil.copy(log, kept)
                self.assertEqual(self.train(*args[4 + len(SMALL):-2], '--late', 'replay',
                                            '--late-log', kept)[1], model)
        run_fails(self, 78, 'late=wait', *args[:-1], 'wait', '--resume')

    def test_logs_of_what_was_late_that_are_none(self):
        log = self.path('bad.late')
        args = ('train', self.store, '--out', self.path('r.safetensors'), *SMALL, *self.HYBRID,
                '--late', 'replay', '--late-log', log)
        run_fails(self, 66, 'bad.late', *args)
        for code, text, content in ((65, 'no log of --late', ''),
                                    (65, 'no log of --late', 'gnnrun-hybrid 1 300\n'),
                                    (78, 'other steps', 'gnnrun-late 1 3\n'),
                                    (65, 'line 2', 'gnnrun-late 1 2\n5\n'),
                                    (65, 'line 2', 'gnnrun-late 1 2\n0 1\n'),
                                    (65, 'line 2', 'gnnrun-late 1 2\n5 2\n'),
                                    (65, 'line 3', 'gnnrun-late 1 2\n5 1\n5 1\n')):
            with self.subTest(content=content):
                with open(log, 'w') as f:
                    f.write(content)
                run_fails(self, code, text, *args)

    def test_logs_that_are_none(self):
        out, log = ('--out', self.path('r.safetensors')), self.path('bad.hybrid')
        args = ('train', self.store, *out, *SMALL, *self.HYBRID, '--hybrid', 'replay',
                '--hybrid-log', log)
        run_fails(self, 66, 'bad.hybrid', *args)
        for code, text, content in ((65, 'no log', ''), (65, 'no log', 'x 1\n'),
                                    (78, 'other hot vertices', 'gnnrun-hybrid 1 299\n'),
                                    (65, 'line 2', 'gnnrun-hybrid 1 300\n5\n'),
                                    (65, 'line 2', 'gnnrun-hybrid 1 300\n3 200\n'),
                                    (65, 'line 2', 'gnnrun-hybrid 1 300\n5 300\n'),
                                    (65, 'line 3', 'gnnrun-hybrid 1 300\n5 200\n5 100\n')):
            with self.subTest(content=content):
                with open(log, 'w') as f:
                    f.write(content)
                run_fails(self, code, text, *args)

    def test_refusals(self):
        out = ('--out', self.path('r.safetensors'))
        for text, args in (
                ('--reuse is of', ('--reuse', 'embeddings')),
                ('--hot-backward is of', (*LAYER, '--hot-backward', 'none')),
                ('--hot-backward is of', (*LAYER, '--reuse', 'aggregates', '--hot-backward',
                                          'aggregate')),
                ('of gcn and sage', (*EMBED, '--arch', 'gin', '--hot-backward', 'aggregate')),
                ('of gcn and sage', (*EMBED, '--arch', 'gat', '--hot-backward', 'aggregate')),
                ('--hybrid is of', ('--hybrid', 'on')),
                ('--hybrid is of', (*LAYER, '--reuse', 'aggregates', '--hybrid', 'on')),
                ('--hybrid-log is of', (*EMBED, '--hybrid-log', 'x')),
                ('--late is of', ('--late', 'cold')),
                ('--late is of', (*LAYER, '--reuse', 'aggregates', '--late', 'cold')),
                ('--late-log is of', (*EMBED, '--late-log', 'x')),
                ('--hybrid learns', (*EMBED, '--hybrid', 'on', '--late', 'cold')),
                ('--layers 2', (*EMBED, '--layers', 1)),
                ('window is of', (*LAYER, '--reuse', 'aggregates', '--hot-policy', 'window')),
                ('window is of', (*EMBED, '--hybrid', 'on', '--hot-policy', 'window')),
                ('no two steps', (*EMBED, '--super-batch', 1, '--hot-policy', 'window')),
                ('leaves nothing', (*EMBED, '--bottom', 'precomputed')),
                ('--reuse embeddings', (*LAYER, '--arch', 'gat'))):
            with self.subTest(args=args):
                run_fails(self, 78, text, 'train', self.store, *out, *args)
        run_fails(self, 64, '--super-batch', 'train', self.store, *out, *EMBED, '--super-batch', 0)

    def test_a_super_batch_that_is_the_whole_training_is_said(self):
        p = start('train', self.store, '--out', self.path('w.safetensors'), *SMALL, *EMBED,
                  '--super-batch', 4294967296)
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertIn('nothing is reused', p.stderr)

    @unittest.skipUnless(os.path.isdir(CORA), 'the cora data are not here')
    def test_cora_is_as_accurate(self):
        store = self.path('cora.h5')
        run('import', CORA, store, '--normalize', 'row')
        for backward, least in (('none', .5), ('aggregate', .78)):
            report, _ = self.train('--arch', 'gcn', '--weight-decay', '5e-4,0', '--fanout', 10,
                                   '--batch-size', 32, '--epochs', 40, '--eval-every', 2, *EMBED,
                                   '--hot-backward', backward, store=store)
            self.assertGreater(report['test'], least)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
