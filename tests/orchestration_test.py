#!/usr/bin/env python3
"""gnnrun train --orchestration layer: the bottom layer on the CPU, aggregates that are reused.

usage: orchestration_test.py GNNRUN
"""
import json
import os
import shutil
import signal
import sys
import unittest

import program
from program import SHARED, TrainCase, read, run, run_fails, start

program.numpy_or_skip()

CORA = os.path.join(SHARED, 'data', 'cora')
ARCHS = ('gcn', 'sage', 'gin')
SMALL = ('--hidden', 16, '--batch-size', 100, '--epochs', 3, '--log', 'warn')
LAYER = ('--orchestration', 'layer')
REUSE = (*LAYER, '--reuse', 'aggregates')


def total(report, key):
    return sum(e[key] for e in report['epochs'])


class Orchestration(TrainCase):
    def train(self, *args, store=None):
        """The report of a training and its last model."""
        out = self.path('m.safetensors')
        shutil.rmtree(out + '.ckpt', ignore_errors=True)
        report = json.loads(run('train', store or self.store, '--out', out, '--json', *SMALL,
                                *args))
        return report, read(self.path('m.last.safetensors'))

    def test_the_layer_on_the_cpu_is_the_ordinary_training(self):
        for arch in ARCHS:
            for layers, fanout, sampler in ((1, '5', 'uniform'), (2, '4,6', 'uniform'),
                                            (3, '3,all,4', 'uniform'), (2, '4,6', 'labor')):
                with self.subTest(arch=arch, layers=layers, sampler=sampler):
                    args = ('--arch', arch, '--layers', layers, '--fanout', fanout, '--sampler',
                            sampler, '--dropout', 0)
                    a, _ = self.train(*args)
                    b, _ = self.train(*args, *LAYER)
                    self.assertEqual((a['orchestration'], b['orchestration']),
                                     ('step-cpu', 'layer'))
                    for x, y in zip(a['epochs'], b['epochs']):
                        self.assertAlmostEqual(x['loss'], y['loss'], delta=2e-4 * x['loss'])
                        self.assertEqual(x['input_vertices'], y['input_vertices'])

    def test_each_switch_moves_its_figure(self):
        step, _ = self.train('--fanout', '4,6')
        layer, _ = self.train('--fanout', '4,6', *LAYER)
        self.assertEqual(total(step, 'aggregated_vertices'), 0)
        self.assertEqual(total(step, 'cpu_embed_s'), 0)
        self.assertGreater(total(layer, 'aggregated_vertices'), 0)
        self.assertGreater(total(layer, 'cpu_embed_s'), 0)
        self.assertEqual(total(layer, 'reused_vertices'), 0)
        rows = total(layer, 'aggregated_vertices')
        seen = {}
        for n, ratio, policy in ((1, .3, 'presample'), (3, .3, 'presample'), (50, .3, 'presample'),
                                 (3, 1, 'presample'), (3, 0, 'presample'), (3, .3, 'degree')):
            report, model = self.train('--fanout', '4,6', *REUSE, '--super-batch', n,
                                       '--hot-ratio', ratio, '--hot-policy', policy)
            seen[n, ratio, policy] = (total(report, 'reused_vertices'), model)
            self.assertEqual(total(report, 'aggregated_vertices') +
                             total(report, 'reused_vertices'), rows)
            age = max(e['max_sample_age'] for e in report['epochs'])
            self.assertLess(age, n)
            self.assertEqual(age > 0, n > 1 and ratio > 0)
            self.assertEqual(max(e['max_staleness'] for e in report['epochs']), 0)
        reused = {key: value[0] for key, value in seen.items()}
        self.assertEqual(reused[1, .3, 'presample'], 0)
        self.assertEqual(reused[3, 0, 'presample'], 0)
        self.assertLess(0, reused[3, .3, 'presample'])
        self.assertLess(reused[3, .3, 'presample'], reused[50, .3, 'presample'])
        self.assertLess(reused[3, .3, 'presample'], reused[3, 1, 'presample'])
        self.assertEqual(len({value[1] for value in seen.values()}), len(seen) - 1)

    def test_bits_are_those_of_any_threads_and_pipeline(self):
        for arch in ARCHS:
            for extra in (LAYER, (*REUSE, '--super-batch', 5), (*REUSE, '--hot-policy', 'degree')):
                with self.subTest(arch=arch, extra=extra):
                    args = ('--arch', arch, '--fanout', 4, *extra)
                    _, one = self.train(*args, '--threads', 1, '--pipeline', 'off')
                    for threads, pipeline in ((5, 'on'), (8, 'on'), (3, 'off')):
                        _, other = self.train(*args, '--threads', threads, '--pipeline', pipeline)
                        self.assertEqual(one, other)

    def test_killed_within_a_super_batch_it_goes_on_with_equal_bits(self):
        args = ('--fanout', 4, *REUSE, '--super-batch', 5)
        _, whole = self.train(*args)
        for fault in ('crash:step@4', 'crash:step@8', 'crash:checkpoint@2'):
            with self.subTest(fault=fault):
                out = ('train', self.store, '--out', self.path('k.safetensors'), *SMALL, *args)
                shutil.rmtree(self.path('k.safetensors.ckpt'), ignore_errors=True)
                p = start(*out, '--faults', fault)
                self.assertEqual(p.returncode, -signal.SIGKILL, p.stderr)
                run(*out, '--resume')
                self.assertEqual(read(self.path('k.last.safetensors')), whole)
        for text, change in (('super-batch=5', ('--super-batch', 6)),
                             ('hot-ratio', ('--hot-ratio', '.3'))):
            run_fails(self, 78, text, *out, '--resume', *change)
        plain = ('train', self.store, '--out', self.path('k.safetensors'), *SMALL, '--fanout', 4)
        run_fails(self, 78, 'orchestration=layer', *plain, '--resume')

    def test_an_aggregate_that_is_too_old_is_caught(self):
        out = ('--out', self.path('f.safetensors'))
        for fault in ('reuse:stale@1', 'reuse:stale@400'):
            p = start('train', self.store, *out, *SMALL, '--fanout', 4, *REUSE, '--faults', fault)
            self.assertNotEqual(p.returncode, 0)
            self.assertIn('super_batch', p.stderr)
            self.assertFalse(os.path.exists(self.path('f.safetensors')))

    def test_features_past_the_memory_train_the_same_model(self):
        store = self.path('wide.h5')
        run('generate', 'sbm', store, '--vertices', 12000, '--edge-factor', 4, '--feat-dim', 1000,
            '--dtype', 'f16', '--train-count', 300)
        for extra in (LAYER, REUSE):
            args = ('--fanout', 2, '--batch-size', 50, *extra, '--hot-ratio', .01)[
                :None if extra is REUSE else -2]
            _, inside = self.train(*args, store=store)
            _, outside = self.train(*args, '--host-memory', '34M', store=store)
            self.assertEqual(inside, outside)

    def test_auto_takes_what_is_fastest(self):
        """Rows by steps, or aggregates of the layer's runs (4 steps, twice), come 50 ms later."""
        slow_rows, slow_layer = 'rows:slow%1', 'bottom:slow@1-8'
        out = ('--fanout', 4, '--reuse', 'auto')
        for faults, args, way in (
                (slow_rows + ',bottom:slow@9-16', (), LAYER),
                (slow_rows + ',' + slow_layer, (), REUSE),
                ('bottom:slow@1-16', (), ()), ('bottom:slow@1-16', ('--arch', 'gin'), ()),
                (slow_layer, LAYER, REUSE), ('bottom:slow@9-16', LAYER, LAYER)):
            with self.subTest(faults=faults, args=args):
                report, model = self.train(*out, *args, '--faults', faults)
                named, same = self.train(*args, '--fanout', 4, *way)
                tried = [(x['orchestration'], x['reuse']) for x in report['ways']]
                self.assertEqual(tried, [('step-cpu', 'off'), ('layer', 'off'),
                                         ('layer', 'aggregates')][1 if args == LAYER else 0:])
                self.assertEqual([(x['orchestration'], x['reuse']) for x in report['ways']
                                  if x['chosen']], [(named['orchestration'], named['reuse'])])
                self.assertTrue(all(x['step_s'] > 0 for x in report['ways']))
                self.assertEqual(named['ways'], [])
                self.assertEqual(model, same)
                for key in ('orchestration', 'reuse'):
                    self.assertEqual(report[key], named[key])
                self.assertEqual(report['epochs'][-1]['max_staleness'], 0)
        for args in (('--arch', 'gat'), ('--bottom', 'precomputed')):
            report, model = self.train(*out, *args)
            self.assertEqual(report['reuse'], 'off')
            self.assertEqual(self.train('--fanout', 4, *args)[1], model)

    def test_what_auto_took_is_said_and_kept(self):
        args = ('train', self.store, '--out', self.path('a.safetensors'), *SMALL, '--fanout', 4,
                '--reuse', 'auto', '--log', 'info')
        p = start(*args, '--faults', 'rows:slow%1,bottom:slow@1-8,crash:step@8')
        self.assertEqual(p.returncode, -signal.SIGKILL, p.stderr)
        for text in ('of the first 4 steps each took', 'ms --orchestration layer,',
                     'chosen --orchestration layer --reuse aggregates'):
            self.assertIn(text, p.stderr)
        p = start(*args, '--resume', '--faults', 'bottom:slow@1-16')
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertNotIn('steps each took', p.stderr)
        self.assertEqual(read(self.path('a.last.safetensors')),
                         self.train('--fanout', 4, *REUSE)[1])
        run_fails(self, 78, 'reuse=auto', *args, '--resume', '--reuse', 'off')

    def test_refusals(self):
        out = ('--out', self.path('r.safetensors'))
        for text, args in (('attention weights', (*LAYER, '--arch', 'gat')),
                           ('leaves nothing', (*LAYER, '--bottom', 'precomputed')),
                           ('--reuse is of', ('--reuse', 'aggregates')),
                           ('--reuse is of', ('--reuse', 'auto', '--orchestration', 'step-cpu')),
                           ('attention weights', (*LAYER, '--reuse', 'auto', '--arch', 'gat')),
                           ('--hybrid is of', ('--reuse', 'auto', '--hybrid', 'on')),
                           ('--super-batch is of', (*LAYER, '--super-batch', '2')),
                           ('--hot-ratio is of', (*LAYER, '--hot-ratio', '.1')),
                           ('--hot-policy is of', ('--hot-policy', 'degree')),
                           ('take a GPU', (*LAYER, '--backend', 'cpu', '--gather', 'staged'))):
            with self.subTest(args=args):
                run_fails(self, 78, text, 'train', self.store, *out, *args)
        run_fails(self, 64, '--hot-ratio', 'train', self.store, *out, *REUSE, '--hot-ratio', '2')

    @unittest.skipUnless(os.path.isdir(CORA), 'the cora data are not here')
    def test_cora_is_as_accurate(self):
        store = self.path('cora.h5')
        run('import', CORA, store, '--normalize', 'row')
        for extra in (LAYER, (*REUSE, '--super-batch', 8)):
            report, _ = self.train('--arch', 'gcn', '--weight-decay', '5e-4,0', '--fanout', 10,
                                   '--batch-size', 32, '--epochs', 40,
                                   '--eval-every', 2, *extra, store=store)
            self.assertGreater(report['test'], .79)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
