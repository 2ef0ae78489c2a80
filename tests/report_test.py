#!/usr/bin/env python3
"""gnnrun report: what a page shows is what the lines of --metrics say, and nothing breaks it.

usage: report_test.py GNNRUN [Report.test_name ...]
"""
import json
import os
import re
import unittest
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

from program import SANITIZED, FolderCase, read, run, run_fails, start

X = '{http://www.w3.org/1999/xhtml}'


def line(event, time, run_id='r', **keys):
    return json.dumps({'schema': 'gnnrun-metrics-1', 'run_id': run_id, 'event': event,
                       'time_s': time, **keys}, separators=(',', ':')) + '\n'


def epoch(number, **keys):
    return line('epoch', number * 2., **{'epoch': number, 'loss': 1 / number, 'metric': 'f1',
                                         'train': None, 'valid': None, 'wall_s': 1.5, **keys})


class Tags(HTMLParser):
    """The names of all tags, as a browser sees them."""

    def __init__(self, text):
        super().__init__()
        self.tags = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)


class Page:
    def __init__(self, path):
        self.text = read(path).decode()
        self.body = ElementTree.fromstring(self.text).find(X + 'body')  # it is XML too
        self.tags = Tags(self.text).tags

    def figure(self, title):
        """The curves of a caption: {name: [dot texts]}, and the figure."""
        found = [f for f in self.body.iter(X + 'figure') if f.find(f'.//{X}b').text == title]
        if len(found) != 1:
            raise AssertionError(f'{len(found)} figures with the title {title}')
        curves = {}
        for key in found[0].iter(X + 'span'):
            curves[''.join(key.itertext()).strip()] = []
        for dot in found[0].iter(X + 'circle'):
            text = dot.find(X + 'title').text
            curves[next(n for n in curves if text.startswith(n + ' '))].append(text)
        return curves, found[0]

    def titles(self):
        return [f.find(f'.//{X}b').text for f in self.body.iter(X + 'figure')]

    def table(self, title):
        """Rows of {column: number or text} under a heading; equal names get a *."""
        inside = list(self.body)
        at = next(i for i, e in enumerate(inside) if e.tag == X + 'h3' and e.text == title)
        table = inside[at + 1].find(X + 'table')
        names = []
        for th in table.iter(X + 'th'):
            names.append(th.text + '*' * names.count(th.text))
        return [{n: float(td.get('title')) if td.get('title') else td.text
                 for n, td in zip(names, tr.iter(X + 'td'))}
                for tr in table.find(X + 'tbody').iter(X + 'tr')]

    def tile(self, name):
        dd = next(d.find(X + 'dd') for d in self.body.iter(X + 'div')
                  if d.find(X + 'dt') is not None and d.find(X + 'dt').text == name)
        return float(dd.get('title'))


class Report(FolderCase):
    def page(self, text, *args):
        """Writes the metrics, has them drawn; the page."""
        with open(self.path('m.jsonl'), 'wb') as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        run('report', self.path('m.jsonl'), '-o', self.path('m.html'), *args)
        return Page(self.path('m.html'))

    def refused(self, text, code, says, *args):
        with open(self.path('bad.jsonl'), 'wb') as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        run_fails(self, code, says, 'report', self.path('bad.jsonl'), *args)
        self.assertEqual([n for n in os.listdir(self.dir) if n.startswith('bad.')], ['bad.jsonl'])

    def test_runs(self):
        """Training, inference and reordering, each with its own events, in one file."""
        g, m, runs = self.path('g.h5'), self.path('m.st'), []
        run('generate', 'sbm', g, '--vertices', 1500, '--edge-factor', 12, '--feat-dim', 24,
            '--classes', 5)
        for name, command in (
                ('t', ('train', g, '--epochs', 5, '--hidden', 8, '--fanout', '4,4', '--out', m)),
                ('i', ('infer', g, '--model', m, '--out', self.path('e.h5'), '--plan', 'tiered',
                       '--hot-store', 'min')),
                ('o', ('reorder', g, self.path('o.h5'), '--iterations', 3))):
            run(*command, '--metrics', self.path(name + '.jsonl'))
            with open(self.path(name + '.jsonl')) as f:
                runs.append([json.loads(x) for x in f])
        with open(self.path('all.jsonl'), 'wb') as f:
            for name in 'tio':
                f.write(read(self.path(name + '.jsonl')))
        told = json.loads(run('report', self.path('all.jsonl'), '--json'))
        page = Page(self.path('all.html'))  # beside the metrics, when nothing is said
        self.assertEqual(told['out'], self.path('all.html'))
        self.assertEqual(told['written_bytes'], os.path.getsize(self.path('all.html')))
        self.assertEqual([r['command'] for r in told['runs']], ['train', 'infer', 'reorder'])
        self.assertEqual([h.text for h in page.body.iter(X + 'h2')], ['train', 'infer', 'reorder'])
        for lines, r in zip(runs, told['runs']):
            self.assertEqual((r['run_id'], r['lines'], r['ended'], r['exit_code']),
                             (lines[0]['run_id'], len(lines), True, 0))
            self.assertIn(lines[0]['run_id'], page.text)
        self.assertEqual(told['lines'], sum(map(len, runs)))

        epochs = [x for x in runs[0] if x['event'] == 'epoch']
        rows = page.table('Epochs')
        self.assertEqual(len(rows), 5)
        for row, e in zip(rows, epochs):
            for name, key in (('epoch', 'epoch'), ('loss', 'loss'), ('train', 'train'),
                              ('valid', 'valid'), ('time', 'wall_s'), ('sample', 'sample_s'),
                              ('inputs', 'input_vertices'), ('gathered', 'gathered_bytes')):
                self.assertEqual(row[name], e[key], name)
        best = max(epochs, key=lambda e: e['valid'])
        self.assertEqual((told['runs'][0]['best_valid'], told['runs'][0]['best_epoch']),
                         (best['valid'], best['epoch']))
        self.assertEqual(page.tile('best on valid'), best['valid'])
        self.assertEqual(page.tile('best after'), best['time_s'])
        for title in ('accuracy by epoch', 'accuracy against time'):
            self.assertEqual({k: len(v) for k, v in page.figure(title)[0].items()},
                             {'train': 5, 'valid': 5})
        self.assertEqual(len(page.figure('Loss by epoch')[0]['loss']), 5)
        self.assertIn('compute', page.figure('Parts of an epoch')[0])

        self.assertEqual(runs[1][0]['arguments'], [g])
        self.assertEqual(runs[1][0]['options'], {
            'model': m, 'out': self.path('e.h5'), 'plan': 'tiered', 'hot-store': 'min',
            'metrics': self.path('i.jsonl')})
        self.assertIn('--plan tiered --hot-store min', page.text)
        layers = [x for x in runs[1] if x['event'] == 'layer']
        rows = page.table('Layers')
        self.assertEqual(len(rows), len(layers))
        for row, one in zip(rows, layers):
            self.assertEqual((row['plan'], row['order']), ('tiered', one['message_order']))
            for name, key in (('layer', 'index'), ('messages', 'messages'), ('time', 'wall_s'),
                              ('predicted', 'predicted_s'), ('read', 'read_bytes')):
                self.assertEqual(row[name], one[key], name)
        result = next(x for x in runs[1] if x['event'] == 'result')
        self.assertEqual(page.table('Result')[0]['read'], result['read_bytes'])
        self.assertEqual(page.table('Result')[0]['test'], result['test'])

        orders = [x for x in runs[2] if x['event'] == 'order']
        self.assertEqual([row['span'] for row in page.table('Orders')],
                         [x['span'] for x in orders])
        self.assertEqual(page.tile('span before'), orders[0]['span'])
        self.assertEqual(page.tile('span after'), orders[-1]['span'])
        # The order before is none of taurus' iterations, nor is the last measurement.
        self.assertEqual(len(page.figure('Span by iteration')[0]['span']),
                         1 + max(x['iteration'] for x in orders))
        self.assertFalse(page.tags & {'script', 'link', 'img', 'iframe'})
        self.assertNotRegex(page.text.replace(X[1:-1], ''), r'https?:|url\(|@import')

    def test_usage(self):
        """Rates of a second; what is null throughout has no curve."""
        gpu = {'gpu_busy': None, 'gpu_memory_bytes': None}
        text = line('start', 0, command='infer', threads=2, host_memory_bytes=2 ** 31)
        for t in range(1, 41):
            text += line('usage', t, interval_s=1, cpu_cores=1.5, rss_bytes=t * 2 ** 20,
                         read_bytes_s=2e9, written_bytes_s=5e8, disk_read_bytes_s=None,
                         disk_written_bytes_s=None, **gpu)
        page = self.page(text)
        self.assertEqual(page.titles(), ['Disk', 'Processor', 'Memory'])
        curves, disk = page.figure('Disk')
        self.assertEqual({k: len(v) for k, v in curves.items()}, {'read': 40, 'written': 40})
        labels = [e.text for e in disk.iter(X + 'text')]
        self.assertEqual(labels, ['0.0', '0.5', '1.0', '1.5', '2.0', '0', '10', '20', '30', '40',
                                  'GB/s', 'time since the start, s'])
        self.assertIn('MiB', [e.text for e in page.figure('Memory')[1].iter(X + 'text')])
        self.assertEqual(page.tile('read'), 8e10)
        self.assertEqual(page.tile('resident, at most'), 40 * 2 ** 20)
        self.assertIn('2.00 GiB', page.text)
        self.assertIn('The run was cut off', page.text)
        gpu = {'gpu_busy': .5, 'gpu_memory_bytes': 2 ** 33}
        page = self.page(text + line('usage', 41, interval_s=1, **gpu) + line(
            'usage', 42, interval_s=1, **gpu) + line(
            'end', 42, exit_code=75, wall_s=42, peak_host_bytes=5))
        self.assertEqual(page.titles()[-2:], ['GPU', 'Memory of the GPU'])
        self.assertIn('exit 75', page.text)
        self.assertNotIn('cut off', page.text)

    def test_progress(self):
        text = ''.join(line('progress', 1 + t, phase='layer 1', unit='chunks', items=t,
                            items_total=9, done_bytes=t * 3e9, hot_rows=t, cold_rows=2 * t,
                            evictions=5 * t, wall_s=t) for t in range(1, 10))
        page = self.page(text)
        self.assertEqual(page.titles(), ['Work done', 'Rows in the stores', 'Evictions so far'])
        dots = page.figure('Work done')[0]['bytes of the phase']
        self.assertEqual(len(dots), 9)
        self.assertTrue(all('3.00 GB/s' in d for d in dots), dots)
        self.assertEqual(page.table('Phases'), [{
            'phase': 'layer 1', 'done': 9, 'of': 9, 'unit': 'chunks', 'bytes': 27e9, 'time': 9,
            'evictions': 45}])

    def test_many_lines(self):
        """Curves and tables stay short; the one peak among many values is still there."""
        n = 9000
        text = ''.join(epoch(i, loss=1.0 if i != 7001 else 900., valid=i / n)
                       for i in range(1, n + 1))
        page = self.page(text)
        self.assertLess(len(page.text), 300000)
        curves, figure = page.figure('Loss by epoch')
        self.assertEqual(curves, {'loss': []})
        band = next(p for p in figure.iter(X + 'path') if p.get('class') == 'band d0')
        ys = [float(p.split()[1]) for p in re.split('[MLZ]', band.get('d')) if p]
        self.assertLess(len(ys), 2 * 1025)
        self.assertLess(min(ys), 50)
        self.assertEqual(sum(y < 100 for y in ys), 1)
        rows = page.table('Epochs')
        self.assertLess(len(rows), 258)
        self.assertEqual((rows[0]['epoch'], rows[-1]['epoch']), (1, n))
        self.assertEqual(page.tile('best on valid'), 1)
        self.assertAlmostEqual(page.tile('90 % of the best after'), 2 * .9 * n, delta=40)

    def test_foreign_numbers(self):
        """Whatever stands in a number, axes end and the page is whole."""
        for values in ((0, 0), (5, 5), (-3, -3), (1e308, -1e308), (1e-320, 1e-310),
                       (1e15, 1e15 + 2), (-1e299, 1e299), (3, 'text'), ([1], {'a': 2}),
                       (None, True)):
            text = ''.join(epoch(i, loss=v, valid=v) for i, v in enumerate(values, 1))
            page = self.page(text + text.replace('"epoch":', '"epoch":1e29'))
            self.assertNotRegex(re.sub('<style>.*?</style>', '', page.text, flags=re.S),
                                r'(?i)[">MLV -](nan|inf)\b')
            self.assertLess(len(page.text), 30000)

    def test_foreign_text(self):
        evil = '<script>alert(1)</script>&"\'\x01\uffff'
        text = line('start', 0, command=evil, arguments=[evil], options={evil: evil, 'x': [evil]},
                    run_id=evil, **{evil: evil}) + epoch(1, metric=evil, valid=.5) + line(
            'progress', 1, phase=evil * 9, unit=evil) + line('layer', 1, plan=evil)
        page = self.page(text)
        self.assertFalse(page.tags & {'script'})
        self.assertIn('&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#39;', page.text)
        raw = line('layer', 1, plan='PLAN').encode().replace(b'PLAN', b'a\xff\xc0\xafb')
        self.assertEqual(self.page(raw).table('Layers')[0]['plan'], 'a\ufffd\ufffd\ufffdb')
        os.mkdir(self.path('<b>&'))
        with open(self.path('<b>&/r.jsonl'), 'w') as f:
            f.write(epoch(1))
        run('report', self.path('<b>&/r.jsonl'))
        self.assertIn('&lt;b&gt;&amp;/r.jsonl', Page(self.path('<b>&/r.html')).text)

    def test_cut(self):
        """Half a line at the end, and before a run that was appended."""
        whole = line('start', 0, command='train') + epoch(1) + epoch(2)
        for cut in (1, 9, 60, len(epoch(2)) - 2):
            page = self.page(whole[:-cut - 1])
            self.assertEqual(len(page.table('Epochs')), 1, cut)
            self.assertIn('1 line was cut off', page.text)
            appended = whole[:-cut - 1] + whole.replace('"r"', '"second"')
            told = json.loads(run('report', self.write('two.jsonl', appended), '--json'))
            self.assertEqual([(r['run_id'], r['epochs'], r['ended']) for r in told['runs']],
                             [('r', 1, False), ('second', 2, False)])
            self.assertEqual(told['cut_lines'], 1)
        self.assertNotIn('were cut', self.page(whole[:-1]).text)  # a newline alone is missing
        page = self.page(whole + line('weather', 3, rain=1) + line('epoch', 4, sun=[1, {}]))
        self.assertEqual(len(page.table('Epochs')), 3)  # what a newer version may say

    def write(self, name, text):
        with open(self.path(name), 'w') as f:
            f.write(text)
        return self.path(name)

    def test_refused(self):
        run_fails(self, 66, 'none.jsonl', 'report', self.path('none.jsonl'))
        for text in ('', '\n\n', '{"schema":"gn'):
            self.refused(text, 65, 'no event of a run')
        self.refused('vertices 5\n', 65, 'bad.jsonl:1: a line of --metrics')
        self.refused(epoch(1) + '{"a":1}\n', 65, 'bad.jsonl:2: a line of --metrics')
        self.refused(epoch(1) + '[]\n' + epoch(2), 65, 'bad.jsonl:2')
        self.refused(epoch(1) + epoch(2)[:40] + '\n' + epoch(3), 65, 'bad.jsonl:2')
        self.refused(epoch(1)[:-1] + ' {}\n', 65, 'bad.jsonl:1')
        self.refused(epoch(1) + '[' * 100000 + '\n', 65, 'bad.jsonl:2')
        self.refused(b'\x89HDF\r\n\x1a\n\0\0\0', 65, 'bad.jsonl:1')
        self.refused(epoch(1).replace('metrics-1', 'metrics-7'), 65, 'gnnrun-metrics-7')
        good = self.write('good.jsonl', epoch(1))
        run_fails(self, 73, 'good.jsonl', 'report', good, '-o', good)
        os.symlink(good, self.path('link.html'))
        run_fails(self, 73, 'link.html', 'report', good, '--out', self.path('link.html'))
        run_fails(self, 73, 'good.jsonl', 'report', good, '--metrics', good)
        run_fails(self, 73, 'none', 'report', good, '-o', self.path('none/p.html'))
        run_fails(self, 73, 'folder', 'report', good, '-o', self.dir)
        run_fails(self, 64, '--out wants a value', 'report', good, '-o')
        run_fails(self, 64, 'RUN.jsonl', 'report')
        run_fails(self, 64, '--out is an option of', 'doctor', '-o', 'x')
        self.assertEqual(read(good).decode(), epoch(1))

    def test_faults(self):
        """The n-th operation fails: its exit code, the old page as it was, no temporary."""
        text = line('start', 0, command='train', options={'a': 'b'}) + epoch(1, valid=.5) + line(
            'usage', 1, interval_s=1, cpu_cores=1) + line('progress', 2, phase='p', done_bytes=1)
        metrics, out = self.write('f.jsonl', text), self.write('f.html', 'old')
        for rule, code in (('alloc:fail', 71), ('write:enospc', 74), ('read:eio', 74),
                           ('fsync:eio', 74), ('rename:eio', 74), ('open:eacces', None)):
            n = failures = 0
            while True:
                n += 1 + n // (3 if SANITIZED else 12)
                p = start('report', metrics, '-o', out, '--json', '--faults', f'{rule}@{n}')
                if p.returncode == 0:
                    break
                failures += 1
                self.assertIn(p.returncode, (code,) if code else (66, 73), f'{rule}@{n} {p.stderr}')
                self.assertEqual((p.stderr.count('\n'), p.stdout), (1, ''), p.stderr)
                self.assertEqual([f for f in os.listdir(self.dir) if f.startswith('f.')
                                  and f not in ('f.jsonl', 'f.html')], [], f'{rule}@{n}')
                if 'is complete' not in p.stderr:  # the folder could not be synced
                    self.assertEqual(read(out), b'old', f'{rule}@{n} {p.stderr}')
            self.assertGreater(failures, 0, rule)
            self.write('f.html', 'old')
        for rule in ('read:short%1', 'read:eagain%2', 'write:short%2'):
            run('report', metrics, '-o', out, '--faults', rule)
            self.assertEqual(len(Page(out).table('Epochs')), 1)


if __name__ == '__main__':
    unittest.main(argv=['report_test.py', *__import__('sys').argv[2:]])
