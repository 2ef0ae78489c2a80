#!/usr/bin/env python3
"""The handed reference cases (outputs of PyTorch Geometric), where they lie beside the checkout.

usage: cases_test.py GNNRUN [options of the cases' check script]

A norm over all vertices is refused by plans that never hold all of them: that alone may fail.
"""
import os
import re
import subprocess
import sys

from program import PROGRAM, SHARED, skip

REFUSED = re.compile(r'^FAIL .* exit 78: .*\n(?:(?!ok |FAIL ).*\n)*?'
                     r'.*gnnrun: .* is over all vertices', re.M)

check = os.path.join(SHARED, 'cases', 'check')
if not os.path.exists(check):
    skip(f'no reference cases at {os.path.normpath(check)}')
p = subprocess.run([sys.executable, check, PROGRAM, '--all', *sys.argv[2:]],
                   stdout=subprocess.PIPE, text=True)
print(p.stdout, end='')
end = re.search(r'^(\d+) passed, (\d+) failed', p.stdout, re.M)
refused = len(REFUSED.findall(p.stdout)) if '--' in sys.argv else 0
sys.exit(not end or int(end[1]) == 0 or int(end[2]) != refused)
