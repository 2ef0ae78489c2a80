#!/usr/bin/env python3
"""cmake --install into a DESTDIR: the program, its manual page and its completion work there.

usage: install_test.py GNNRUN CMAKE BUILD
"""
import os
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD = sys.argv[2:4]


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        subprocess.run([CMAKE, '--install', BUILD, '--prefix', '/usr'], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, 'DESTDIR': cls.folder.name})
        cls.usr = os.path.join(cls.folder.name, 'usr')
        cls.program = os.path.join(cls.usr, 'bin', 'gnnrun')

    def complete(self, *words):
        """What bash offers for the last word."""
        script = os.path.join(self.usr, 'share/bash-completion/completions/gnnrun')
        text = f'''. "{script}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gnnrun
                   printf '%s\\n' "${{COMPREPLY[@]}}"'''
        return subprocess.run(['bash', '-c', text, 'bash', self.program, *words], check=True,
                              capture_output=True, text=True).stdout.split()

    def test_the_program_runs(self):
        out = subprocess.run([self.program, '--version'], check=True, capture_output=True,
                             text=True).stdout
        self.assertRegex(out, r'^gnnrun \d+\.\d+\.\d+\n$')

    def test_the_manual_has_every_command_and_option(self):
        with open(os.path.join(self.usr, 'share/man/man1/gnnrun.1'), encoding='utf-8') as f:
            page = f.read().replace('\\-', '-')
        for words in '.SH GENERATE', '.SH INFER', '--edge-factor', '--chunk-bytes', 'Exit codes':
            self.assertIn(words, page)

    def test_completion_knows_commands_options_and_choices(self):
        self.assertEqual(self.complete('inf'), ['info', 'infer'])
        self.assertIn('generate', self.complete(''))
        self.assertNotIn('gnnrun', self.complete(''))
        self.assertEqual(self.complete('generate', '--edge'), ['--edges', '--edge-factor'])
        self.assertEqual(self.complete('infer', '--io', 'u'), ['uring'])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
